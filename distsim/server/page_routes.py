"""What the page needs besides the documented API: /api/v1/page (distsim/server/page)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Path, Query, Request

from distsim.errors import InputError
from distsim.server.context import Context, Here
from distsim.server.errors import ApiError
from distsim.server.limits import Turns
from distsim.server.page_export import FORMS, export_of
from distsim.server.page_fabric import drawing_of, network_of
from distsim.server.page_load import load_of
from distsim.server.page_plots import plot_data, plots
from distsim.server.page_rows import MOST_ROWS, Wanted, count_of, page_of, records_of
from distsim.server.page_runs import detail, listed
from distsim.server.paths import SIMULATION_ID, checked_id
from distsim.server.routes_common import API, base_of, errors

if TYPE_CHECKING:
    from distsim.results.run import Run

PREFIX = f"{API}/page"
router = APIRouter(prefix=PREFIX, tags=["page"])
NAME = r"^[A-Za-z0-9-]{1,64}$"
RunId = Annotated[str, Path(description="Simulation ID in `sim_xxx` format", max_length=64)]
Record = Annotated[str, Path(description="Name of a record, e.g. nd-stats", pattern=NAME)]
Where = Annotated[list[str], Query(description="Filters `COLUMN OPERATOR VALUE`, all of which hold; operators = != < "
                                               "<= > >= contains", max_length=20)]
LARGEST = 2**53 - 1
EMPTY = "the run has no files yet"


@router.get("/runs", summary="All runs with how far they have come", responses=errors())
def runs(here: Here) -> dict[str, Any]:
    """The newest first."""
    return {"runs": [listed(here, one) for one in sorted(here.simulations.all(), key=lambda one: -one.created)]}


@router.get("/runs/{run_id}", summary="One run: figures, progress, configuration", responses=errors(404))
def run(here: Here, run_id: RunId) -> dict[str, Any]:
    """Everything that the page's head and summary show."""
    return detail(here, here.simulations.get(checked_id(run_id, SIMULATION_ID, "simulation")))


@router.get("/runs/{run_id}/plots", summary="The plots that there are", responses=errors(404))
def list_plots(here: Here, run_id: RunId) -> dict[str, Any]:
    """Each with what it takes; whether the run has it is known when it is asked for."""
    _run_of(here, run_id)
    return {"plots": plots()}


@router.get("/runs/{run_id}/plots/{name}", summary="What a plot is drawn from", responses=errors(404))
def plot(here: Here, run_id: RunId, name: Annotated[str, Path(pattern=NAME)],
         node: Annotated[list[str], Query(max_length=64)] = [],  # noqa: B006 - FastAPI copies it
         flow: Annotated[list[str], Query(max_length=64)] = [],  # noqa: B006
         top: Annotated[int | None, Query(ge=1, le=1000)] = None) -> dict[str, Any]:
    """columns : name -> values; or missing : why the run has not this plot."""
    found = _run_of(here, run_id)
    if found is None:
        return {"plot": name, "missing": EMPTY}
    with _turn(here):
        return plot_data(found, name, node, flow, top)


@router.get("/runs/{run_id}/fabric", summary="The fabric: groups of nodes and links between them",
            responses=errors(404))
def fabric(here: Here, run_id: RunId) -> dict[str, Any]:
    """groups, edges, tiers, note; or missing : why it is not known."""
    found = _run_of(here, run_id)
    if found is None:
        return {"missing": EMPTY}
    with _turn(here):
        try:
            return drawing_of(network_of(found, configuration_of(here, run_id))).as_json()
        except InputError as error:
            return {"missing": error.message}


@router.get("/runs/{run_id}/fabric/load", summary="The load of the fabric's links over time", responses=errors(404))
def fabric_load(here: Here, run_id: RunId) -> dict[str, Any]:
    """By direction, link (as in the fabric's edges) and interval, in percent of the link's rate."""
    with _turn(here):
        found = here.run(run_id)
        network = network_of(found, configuration_of(here, run_id))
        return load_of(found, network, drawing_of(network))


@router.get("/runs/{run_id}/records", summary="The records of a run: columns and files", responses=errors(404))
def records(here: Here, run_id: RunId) -> dict[str, Any]:
    """In the order of their names."""
    found = _run_of(here, run_id)
    return {"records": records_of(found) if found is not None else []}


@router.get("/runs/{run_id}/records/{record}/rows", summary="Rows of a record", responses=errors(404))
def rows(here: Here, run_id: RunId, record: Record,
         where: Where = [],  # noqa: B006
         columns: Annotated[list[str], Query(max_length=200)] = [],  # noqa: B006
         order: Annotated[str, Query(max_length=100)] = "", descending: bool = False,
         offset: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
         limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50) -> dict[str, Any]:
    """A page of them, filtered and sorted."""
    with _turn(here):
        return page_of(here.run(run_id), record, Wanted(columns, where, order, descending, offset, limit))


@router.get("/runs/{run_id}/records/{record}/count", summary="How many rows a filter leaves", responses=errors(404))
def count(here: Here, run_id: RunId, record: Record, where: Where = []) -> dict[str, Any]:  # noqa: B006
    """All of them without a filter."""
    with _turn(here):
        return {"rows": count_of(here.run(run_id), record, where)}


@router.post("/runs/{run_id}/records/{record}/export", summary="A record as one file, its shards merged",
             responses=errors(404))
def export(here: Here, request: Request, run_id: RunId, record: Record,
           format: Annotated[str, Query(description=", ".join(FORMS), max_length=16)] = "parquet") -> dict[str, Any]:
    """A signed, expiring link to it."""
    found = here.run(run_id)
    with _turn(here):
        return export_of(here, run_id, found, record, format, base_of(request))


def _run_of(here: Context, run_id: str) -> Run | None:
    """The run, None while it has no files; 404 when there is none."""
    simulation = here.simulations.get(checked_id(run_id, SIMULATION_ID, "simulation"))
    return here.simulations.run(simulation.id) if simulation.entry is not None else None


_turns: WeakKeyDictionary[Context, Turns] = WeakKeyDictionary()


def _turn(here: Context) -> AbstractContextManager[None]:
    """A turn to read records: as many at once as the server computes figures."""
    if here not in _turns:
        _turns[here] = Turns(here.settings.most_computing, here.settings.patience_s, "reading records")
    return _turns[here].one()


def configuration_of(here: Context, run_id: str) -> dict[str, Any] | None:
    """The configuration of a run that has no run.json, where this server started it."""
    from distsim.server.store import document_of

    try:
        return document_of(here.jobs.configuration_text(run_id)) if here.jobs.get(run_id) is not None else None
    except (OSError, ApiError):
        return None

