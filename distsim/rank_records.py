"""The records of a workload of ranks (Chakra and what is replayed like it), written once by rank 0 at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .config.parameters import seconds_to_ps
from .records.chakra.run import ChakraRun
from .records.chakra.write import write_chakra_records
from .state import tables as t
from .workload.collectives import ALGORITHMS, ideal_time_ps
from .workload.types import Workload

if TYPE_CHECKING:
    from .session import Session


def wanted(workload: Workload | None) -> bool:
    """Whether a run of this workload writes them: it was made from a graph, and all of its operations are logged."""
    return workload is not None and workload.graph is not None and workload.settings is not None \
        and workload.settings.log_ops == "all" and workload.following is None


def write_rank_records(session: Session, perf: np.ndarray, oplog: np.ndarray, end_ps: int) -> list[dict[str, Any]]:
    """Write them; returns what run.json says of the files.

    perf, oplog : PERF and OPLOG rows of all ranks. end_ps : when nothing was left, or the run stopped, absolute.
    """
    model, config = session.model, session.config
    spec, workload = config.workload, model.workload
    assert workload is not None
    scale_up = workload.settings.scale_up
    chakra = chakra_part(spec)
    wall = session.wall_times or [(model.start_ps, 0.0)]        # a run may end before the clock is read
    return write_chakra_records(ChakraRun(
        simulation=config.simulation, directory=str(session.output), prefix=prefix_of(spec), workload=workload,
        perf=in_order(session, perf), oplog=in_order(session, oplog), start_ps=model.start_ps, end_ps=end_ps,
        interval_ps=config.beacon_interval_ps, owner=session.owner[:model.fabric.hosts],
        names=model.fabric.names[:model.fabric.hosts],
        rate_bps=model.fabric.links["rate_bps"][model.routes.up_link[:model.fabric.hosts]],
        algorithms=ALGORITHMS, ideal_time_ps=ideal_time_ps,
        use_max_start=getattr(chakra, "UseMaxAsCommCollectiveStartTime", True),
        profiling_ps=profiling_ps(chakra), annotate=config.parameters.EnableAnnotatedTraces,
        scale_up_group=ids_of(scale_up), scale_up_subgroup=None if scale_up is None else scale_up.subgroup,
        control=workload.graph.control, computation=workload.graph.computation,
        wall_ps=np.array([at for at, _ in wall], "i8"), wall_us=np.array([us for _, us in wall]),
        max_rows=config.parameters.MaxRecordRows))


def prefix_of(spec: Any) -> str:
    """What the annotated traces are named after: the traceset, or the kind of workload."""
    return os.path.basename(str(spec.file)) if spec.file else str(spec.kind)


def chakra_part(spec: Any) -> Any:
    """The section that says what is recorded: of several workloads the first of kind chakra."""
    return next((part for part in getattr(spec, "parts", ()) if part.kind == "chakra"), spec)


def profiling_ps(spec: Any) -> int:
    """ProfilingInterval in picoseconds, 0 when profiling is off."""
    if not getattr(spec, "ProfilingEnabled", False):
        return 0
    return max(1, seconds_to_ps(spec.ProfilingInterval))


def ids_of(scale_up: Any) -> np.ndarray | None:
    """Number of each rank's scale-up group in the user's file, -1: none. i4[ranks]."""
    if scale_up is None:
        return None
    numbers = np.array([*scale_up.ids, -1], "i8")
    return np.asarray(numbers[scale_up.group])


def in_order(session: Session, rows: np.ndarray) -> np.ndarray:
    """The rows with the workload's row in the place of the global operation id."""
    rows = rows.copy()
    messages = session.model.messages
    rows["op"] = messages.order[rows["op"] - messages.first_op]
    return rows


def collective_times(session: Session, oplog: np.ndarray) -> list[dict[str, Any]]:
    """What each collective took, from the last rank's entry to the last rank's end, by entry. Empty when not logged.

    Each: collective, group, size_bytes, members, begin_us, end_us (after the workload's start), time_us.
    """
    from .workload.graph import COLLECTIVES
    from .workload.types import ROLE_BEGIN, ROLE_END

    workload = session.model.workload
    if workload is None or workload.labels is None or workload.instances is None or not len(workload.instances):
        return []
    rows = in_order(session, oplog[oplog["what"] == t.O_DONE])
    labels = workload.labels[rows["op"]]
    count = len(workload.instances)
    begin, end = np.full(count, -1, "i8"), np.full(count, -1, "i8")
    entered, left = labels["role"] == ROLE_BEGIN, labels["role"] == ROLE_END
    np.maximum.at(begin, labels["instance"][entered], rows["time_ps"][entered])
    np.maximum.at(end, labels["instance"][left], rows["time_ps"][left])
    ended = np.bincount(labels["instance"][left], minlength=count)
    start_ps = session.model.start_ps
    found = []
    whole = np.flatnonzero(ended >= workload.instances["group_size"])
    for k in whole[np.argsort(begin[whole], kind="stable")]:
        one = workload.instances[k]
        found.append({"collective": COLLECTIVES[one["collective"]],
                      "group": workload.graph.groups[one["group"]].name, "members": int(one["group_size"]),
                      "algorithm": ALGORITHMS[one["algorithm"]], "size_bytes": int(one["size_bytes"]),
                      "begin_us": int(begin[k] - start_ps) / 1e6, "end_us": int(end[k] - start_ps) / 1e6,
                      "time_us": int(end[k] - begin[k]) / 1e6})
    return found
