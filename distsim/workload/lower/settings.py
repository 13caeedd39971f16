"""How a graph is lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from distsim.workload.collectives.schedule import Options
from distsim.workload.scale_up import ScaleUp


@dataclass(frozen=True)
class Settings:
    """What `lower` is told beside the graph.

    algorithms : name of the algorithm by number of the collective; one that is missing gets the first of
    collectives.ALGORITHMS_OF. options : how data is cut. serialization : collectives (and sends) of a group run in the
    order in which a rank issued them, where the graph says it (ProcessGroupSerialization). synchronization : a barrier
    of its group before each collective (CommCollectiveSynchronization). shared_compute : compute nodes that run at once
    share the NPU (TraceFamily other than collected). launch_ps : between a rank's being ready for a collective and its
    first transfer. log_messages : transfers write PERF rows. log_ops : which operations write OPLOG rows: "collectives"
    for where ranks enter and leave them, "all" for nodes and transfers too. strict_sizes : a receive of another size
    than its send is an error instead of a warning.
    """

    algorithms: Mapping[int, str] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    serialization: bool = True
    synchronization: bool = False
    shared_compute: bool = True
    scale_up: ScaleUp | None = None
    launch_ps: int = 0
    log_messages: bool = True
    log_ops: Literal["none", "collectives", "all"] = "none"
    strict_sizes: bool = False
