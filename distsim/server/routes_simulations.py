"""Simulations: list, start, look at, end, delete, logs."""

from __future__ import annotations

import json
import math
import os
from typing import Annotated, Any

from fastapi import APIRouter, Query

from distsim.config.parameters import LONGEST_S
from distsim.errors import InputError
from distsim.records.files import record_files, run_json_files, side_files
from distsim.records.mark import NAME as MARK
from distsim.server import models_simulations as models
from distsim.server.checks import folders_of
from distsim.server.context import Context, Here
from distsim.server.errors import ApiError
from distsim.server.ids import WORKSPACE, is_workspace, iso, maybe_iso, seconds_of
from distsim.server.input_files import Refused
from distsim.server.joblog import LEVELS
from distsim.server.jobs import Order
from distsim.server.paging import cursor_of, page, read_cursor
from distsim.server.paths import CONFIGURATION_ID, SIMULATION_ID, check_run, checked_id
from distsim.server.routes_common import API, After, Before, Limit, Next, Search, Workspace, errors
from distsim.server.simulations import STATUSES, Simulation, duration_text, last_time_s, parameters_of
from distsim.server.store import VALIDATED, text_of

router = APIRouter(prefix=f"{API}/simulations", tags=["Simulations"])
SORTS = {"created": "created", "created_at": "created", "createdAt": "created", "name": "name", "status": "status"}
LEVEL_NAMES = {**{level: level for level in LEVELS}, "warning": "warn"}
RUN_KEYS = ("status", "counts", "flows", "fct_us", "simulated_s", "hops_per_s", "wall", "warnings", "ranks", "versions",
            "collectives", "error")
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@router.get("", response_model=models.SimulationList, response_model_exclude_none=True, responses=errors())
def list_simulations(
        here: Here, limit: Limit = 100, after: Next = None, workspace: Workspace = None,
        status: Annotated[str | None, Query(description=f"Comma-separated: {', '.join(STATUSES)}.")] = None,
        search: Search = None, created_after: After = None, created_before: Before = None,
        sort: Annotated[str, Query(description="field:direction with field created, name or status and direction asc "
                                               "or desc.")] = "created:desc") -> Any:
    """Simulations, the newest first by default; also those that `distsim run` made in the directory."""
    field, descending = _sort(sort)
    wanted = {one.strip() for one in (status or "").split(",")} & set(STATUSES)
    begin = seconds_of(created_after, "createdAfter") if created_after else -math.inf
    end = seconds_of(created_before, "createdBefore") if created_before else math.inf
    found = [simulation for simulation in (here.simulations.all() if is_workspace(workspace) else [])
             if (not wanted or simulation.status in wanted) and begin <= simulation.created < end
             and (not search or search.casefold() in simulation.name.casefold())]
    items, pagination = page(found, limit, after, "simulations", lambda one: [getattr(one, field), one.id],
                             f"{field}:{descending}", descending)
    return {"simulations": [summary_of(here, one) for one in items], "pagination": pagination}


@router.post("", response_model=models.SimulationDetails, response_model_exclude_none=True, status_code=201,
             responses=errors(404, 415, 422, 429))
def start_simulation(here: Here, asked: models.SimulationStart) -> Any:
    """Starts a simulation of a configuration that has been validated. It goes on when the server ends."""
    is_workspace(asked.workspaceId)
    if asked.checkpointing is not None and asked.checkpointing.enabled:
        raise ApiError(400, "checkpointing: this simulator writes no checkpoints; send enabled: false")
    if asked.ranks > here.settings.most_ranks:
        raise ApiError(400, f"ranks: at most {here.settings.most_ranks} on this server")
    stored = here.configurations.get(checked_id(asked.configurationId, CONFIGURATION_ID, "configuration"),
                                     asked.configurationVersion)
    if stored.status != VALIDATED:
        raise ApiError(422, f"the configuration is {stored.status}, not validated; validate it first")
    try:
        data = folders_of(here.settings).resolve(stored.data) | {"simulation": asked.name}
    except Refused as error:
        raise ApiError(400, f"{'.'.join(map(str, error.place))}: {error.message}") from None
    if asked.seed is not None:
        data["seed"] = asked.seed
    if asked.duration is not None:
        data["SimulationParameters"] = {**(data.get("SimulationParameters") or {}), "RunTime": _seconds(asked.duration)}
    job = here.jobs.start(Order(asked.name, text_of(data), stored.id, stored.version, asked.ranks, asked.duration or "",
                                ("--yes",) if asked.yes else ()))
    here.simulations.forget()
    return details_of(here, here.simulations.get(job.id))


@router.get("/{sim_id}", response_model=models.SimulationDetails, response_model_exclude_none=True,
            responses=errors(404))
def get_simulation(here: Here, sim_id: str) -> Any:
    """One simulation: status, times, how far it has come."""
    return details_of(here, here.simulations.get(checked_id(sim_id, SIMULATION_ID, "simulation")))


@router.delete("/{sim_id}", response_model=models.Deleted, responses=errors(404, 409))
def delete_simulation(here: Here, sim_id: str) -> Any:
    """Removes the records, logs and computed figures of a simulation that has ended; other files that stand in its
    directory are left alone."""
    simulation = here.simulations.get(checked_id(sim_id, SIMULATION_ID, "simulation"))
    if simulation.live:
        raise ApiError(409, "the simulation is running; terminate it first")
    if simulation.directory.is_dir():
        check_run(simulation.directory, here.settings.runs_dir)
        _remove_files(simulation, here)
    here.computed.remove(simulation.id)
    here.jobs.forget(simulation.id)
    here.simulations.forget()
    return {"id": simulation.id, "status": "deleted", "message": "the simulation and its files are removed"}


@router.post("/{sim_id}/terminate", response_model=models.SimulationDetails, response_model_exclude_none=True,
             responses=errors(404, 409, 501))
def terminate_simulation(here: Here, sim_id: str) -> Any:
    """Ends a simulation soon, with complete rows of what it has done."""
    simulation = here.simulations.get(checked_id(sim_id, SIMULATION_ID, "simulation"))
    if not simulation.live:
        raise ApiError(409, f"the simulation is {simulation.status}, not running")
    if simulation.job is None:
        raise ApiError(501, "this simulation was not started by the server; end it where it was started")
    here.jobs.terminate(simulation.id)
    return details_of(here, here.simulations.get(simulation.id))


@router.get("/{sim_id}/logs", response_model=models.Logs, responses=errors(404))
def get_logs(here: Here, sim_id: str, limit: Limit = 100, after: Next = None,
             level: Annotated[str | None, Query(pattern="^(debug|info|warn|warning|error)$",
                                                description="Lines of this level and above.")] = None,
             component: Annotated[str | None, Query(max_length=100, description="distsim, progress or run.")] = None
             ) -> Any:
    """What a simulation printed; of one that the server did not start, the warnings and the error of run.json."""
    simulation = here.simulations.get(checked_id(sim_id, SIMULATION_ID, "simulation"))
    given = read_cursor(after, "logs", begin=int)
    least = LEVELS.index(LEVEL_NAMES[level or "debug"])
    found: list[dict[str, Any]] = []
    last = 0
    for line in _lines(here, simulation, max(0, given.get("begin", 0))):
        if LEVELS.index(line["level"]) < least or (component and line["component"] != component.lower()):
            continue
        if len(found) == limit:
            return {"logs": found, "pagination": {"count": limit, "hasMore": True,
                                                  "nextCursor": cursor_of({"of": "logs", "begin": last})}}
        last = line.pop("end")
        found.append(line)
    return {"logs": found, "pagination": {"count": len(found), "hasMore": False}}


def summary_of(here: Context, simulation: Simulation) -> dict[str, Any]:
    """A simulation as it stands in a list."""
    job, entry = simulation.job, simulation.entry
    reached = here.jobs.log(job.id).reached() if job is not None and simulation.live else None
    flows = entry.flows if entry is not None else {}
    done, total = (reached.flows_done, reached.flows_total) if reached else (flows.get("finished"), flows.get("total"))
    return {"id": simulation.id, "workspaceId": WORKSPACE, "name": simulation.name, "status": simulation.status,
            "configurationId": job.configuration_id if job else None,
            "configurationVersion": job.configuration_version if job else None,
            "createdAt": iso(simulation.created), "runStatus": simulation.run_status or None,
            "path": simulation.path, "progress": done / total if total and done is not None else None}


def details_of(here: Context, simulation: Simulation) -> dict[str, Any]:
    """A simulation with all that is known of it."""
    job, entry = simulation.job, simulation.entry
    info: dict[str, Any] = {}
    records: list[str] = []
    simulated, events, rate = entry.simulated_s if entry else None, None, None
    if entry is not None:
        try:
            check_run(simulation.directory, here.settings.runs_dir)
            run = entry.open()
            info, records = run.info, run.records()
            simulated = simulated if simulated is not None else last_time_s(run)
        except InputError:
            pass
    reached = here.jobs.log(job.id).reached() if job is not None and simulation.live else None
    if reached is not None:
        simulated, rate = max(simulated or 0.0, reached.simulated_s), reached.events_per_s
    elif info:
        events, rate = (info.get("counts") or {}).get("hops"), info.get("hops_per_s")
    return {**summary_of(here, simulation), "startedAt": iso(simulation.created),
            "completedAt": maybe_iso(simulation.ended), "failureReason": simulation.reason or None,
            "metrics": {"simulatedTime": duration_text(simulated) if simulated is not None else None,
                        "eventsProcessed": events,
                        "throughput": f"{rate / 1e6:.2f} million events/s" if rate else None},
            "duration": run_time_of(simulation), "ranks": job.ranks if job else entry.ranks if entry else None,
            "seed": entry.seed if entry else None,
            "configurationSha256": (entry.configuration_sha256 if entry else None) or None,
            "flows": (entry.flows if entry else None) or None, "records": records,
            "run": {key: info[key] for key in RUN_KEYS if key in info} or None}


def run_time_of(simulation: Simulation) -> str | None:
    """How long it is simulated at most, as it was asked for or as its configuration says."""
    if simulation.job is not None and simulation.job.duration:
        return simulation.job.duration
    seconds = (parameters_of(simulation).get("SimulationParameters") or {}).get("RunTime")
    return duration_text(seconds) if isinstance(seconds, (int, float)) else None


def _sort(text: str) -> tuple[str, bool]:
    """Attribute of a Simulation to sort by, and whether the greatest come first."""
    name, _, direction = text.partition(":")
    if name not in SORTS or direction not in ("asc", "desc"):
        raise ApiError(400, "sort: give one field:direction, with field created, name or status and direction asc or "
                            "desc")
    return SORTS[name], direction == "desc"


def _seconds(text: str) -> float:
    """Seconds of a duration that the model has matched."""
    number = text.rstrip("".join(set("".join(UNITS))))
    seconds = float(repr(float(number) * UNITS[text[len(number):]]))
    if not 0 < seconds <= LONGEST_S:
        raise ApiError(400, f"duration: more than 0 and at most {LONGEST_S:g} s")
    return seconds


def _lines(here: Context, simulation: Simulation, begin: int) -> Any:
    """Entries of a log with `end`, where the next page begins."""
    if simulation.job is not None:
        for line in here.jobs.log(simulation.id).lines(begin):
            yield {"timestamp": iso(line.time), "level": line.level, "component": line.component,
                   "message": line.message, "end": line.end}
        return
    entry = simulation.entry
    if entry is None:
        return
    check_run(simulation.directory, here.settings.runs_dir)
    found = []
    for path in run_json_files(simulation.directory):
        with open(path) as file:
            info = json.load(file)
        found += [("warn", text) for text in info.get("warnings") or []]
        found += [("error", info["error"])] if info.get("error") else []
        found += [("info", f"the run ended: {info.get('status')}")]
    for at, (level, text) in enumerate(found[begin:], begin + 1):
        yield {"timestamp": iso(entry.ended), "level": level, "component": "distsim", "message": str(text), "end": at}


def _remove_files(simulation: Simulation, here: Context) -> None:
    """Removes a run's own files, and the directory when nothing else is in it. run.json goes last, so that a run whose
    removal was cut off is still one."""
    directory = simulation.directory
    try:
        for path in [*side_files(directory), *(file.path for file in record_files(directory)),
                     *run_json_files(directory), os.path.join(directory, MARK)]:
            if os.path.lexists(path):
                os.unlink(path)
        for folder in (directory / ".cache", directory / "post_annotated", directory):
            if folder.is_dir() and not folder.is_symlink() and folder != here.settings.runs_dir \
                    and not any(folder.iterdir()):
                folder.rmdir()
    except OSError as error:
        raise ApiError(500, f"{os.path.basename(str(error.filename))} cannot be removed: {error.strerror}") from None
