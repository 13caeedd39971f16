"""What the chakra records are made from: a workload of ranks, what became of its operations, and facts of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from distsim.records.writer import Clock
from distsim.workload.types import Workload

Ideal = Callable[[int, str, int, int, int], float]


@dataclass(frozen=True)
class ChakraRun:
    """A run of a workload of ranks at its end (or where it was stopped), on rank 0.

    simulation, directory : name of the simulation, and where its files go. prefix : what the trace files of the ranks
    share; names the annotated traces.
    workload : with graph, labels, instances and placement.
    perf : state.tables.PERF rows of the transfers that were acknowledged; oplog : state.tables.OPLOG rows; `op` of both
    is a row of workload.ops. In any order.
    start_ps : when the ranks started; end_ps : when the run stopped, or when nothing was left. Absolute.
    interval_ps : BeaconReportInterval, > 0.
    owner : i4[hosts], process that each host ran in; names : component name of each host; rate_bps : i8[hosts], rate of
    its link. A host's number is its server id and the node id of its NIC.
    algorithms : names that INSTANCES.algorithm numbers; ideal_time_ps : (collective, algorithm, members, size_bytes,
    rate_bps) -> ps, as distsim.workload.collectives.ideal_time_ps.
    use_max_start : UseMaxAsCommCollectiveStartTime. profiling_ps : ProfilingInterval, 0: ProfilingEnabled is off.
    annotate : write the annotated traces.
    scale_up_group, scale_up_subgroup : i4[ranks] of the mapping file, -1: none; None when it has no scale-up groups.
    control : bool[graph.deps], those that the trace lists in ctrlDeps; None: all are dataDeps.
    computation : bool[graph.nodes], the COMP_NODEs; None: nodes of the kinds COMP and FIXED.
    wall_ps, wall_us : i8[k] and f8[k], ascending: simulation times at which the wall clock was read, and the wall time
    since the run started. Without any, `r` of the annotated traces stays empty.
    max_rows : MaxRecordRows, 0: no limit. clock : wall-clock time for `time_utc`, seconds since the epoch.
    """

    simulation: str
    directory: str
    prefix: str
    workload: Workload
    perf: np.ndarray
    oplog: np.ndarray
    start_ps: int
    end_ps: int
    interval_ps: int
    owner: np.ndarray
    names: Sequence[str]
    rate_bps: np.ndarray
    algorithms: Sequence[str]
    ideal_time_ps: Ideal
    use_max_start: bool = True
    profiling_ps: int = 0
    annotate: bool = True
    scale_up_group: np.ndarray | None = None
    scale_up_subgroup: np.ndarray | None = None
    control: np.ndarray | None = None
    computation: np.ndarray | None = None
    wall_ps: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    wall_us: np.ndarray = field(default_factory=lambda: np.zeros(0))
    max_rows: int = 0
    clock: Clock = time.time


@dataclass(frozen=True)
class Graphed:
    """The parts of a workload that one made from a graph has: its placement and labels are not None."""

    run: ChakraRun
    ranks: int
    nodes: np.ndarray
    ops: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    instances: np.ndarray
    placement: np.ndarray


def graphed(run: ChakraRun) -> Graphed:
    """The tables of a run's workload. ValueError when it was not made from a graph."""
    workload = run.workload
    if workload.graph is None or workload.labels is None or workload.instances is None or workload.placement is None:
        raise ValueError("the chakra records need a workload that was made from a graph")
    return Graphed(run, workload.graph.ranks, workload.graph.nodes, workload.ops, workload.edges, workload.labels,
                   workload.instances, workload.placement)


def app_name(rank: int) -> str:
    """Application name of a rank (scala-computing/docs, models/chakra-workload/records)."""
    return f"ChakraApp-{rank}"


def annotated_name(run: ChakraRun, rank: int) -> str:
    """Path of a rank's annotated trace inside the output directory."""
    return f"post_annotated/{run.prefix}.{rank}.json"
