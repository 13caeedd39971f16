"""Why a job stands where it stands: slices, racks, switches, the ring of its ranks, its policy's figures, refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol

from distsim.scheduler.explain.outcome import SCHEDULED, outcome, ranked
from distsim.scheduler.explain.ring import crossings
from distsim.scheduler.explain.wires import nics_of_chips
from distsim.scheduler.state import task_key

if TYPE_CHECKING:
    from distsim.scheduler.explain.wires import Wires
    from distsim.scheduler.state import NodeState, State
    from distsim.scheduler.types import Job, Task


class Paths(Protocol):
    """Which switches lie between NICs (distsim/workloadrun/touched.py has one)."""

    def between(self, nics: Sequence[int]) -> list[str]:
        """Component names of the switches on the shortest paths between any two of these hosts."""


def explained(job: Job, state: State, wires: Wires, refused: Mapping[str, Sequence[str]],
              paths: Paths | None = None) -> dict[str, Any]:
    """What --explain adds to a job's entry.

    slices : slice_id -> number of its nodes. racks, nodeCount : where it is. nicNames, rackOfRank : by rank.
    switches : on the paths between its NICs ([] without `paths`). crossings : see ring.py. shares : by rank what a
    soft-share task has of its chip. notes : figures of the policy. refused : reason -> nodes that it kept out.
    """
    tasks = ranked(job) if outcome(job) == SCHEDULED else []
    states = [state.nodes[task.node] for task in tasks if task.node is not None]
    nics = [nics_of_chips(node.node, task.held) for task, node in zip(tasks, states)]
    distinct = {node.name: node for node in states}
    hosts = [host for of_rank in nics for host in of_rank]
    return {
        "nodeCount": len(distinct), "rackOfRank": [node.node.rack for node in states],
        "racks": list(dict.fromkeys(node.node.rack for node in states if node.node.rack)),
        "slices": histogram(list(distinct.values())),
        "nicNames": [[wires.name(host) for host in of_rank] for of_rank in nics],
        "switches": paths.between(hosts) if paths is not None and hosts else [],
        "crossings": crossings([node.node for node in states], nics, wires),
        "shares": [share for task, node in zip(tasks, states) for share in _shares(task, node)],
        "notes": plain(job.notes),
        "refused": {reason: list(names) for reason, names in refused.items()},
    }


def histogram(nodes: Sequence[NodeState]) -> dict[str, int]:
    """slice_id -> number of nodes, ascending; nodes without a slice are left out."""
    slices = sorted(node.slice for node in nodes if node.slice >= 0)
    return {str(number): slices.count(number) for number in dict.fromkeys(slices)}


def plain(value: Any) -> Any:
    """A note as JSON and YAML can hold it: keys as text, tuples and sets as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(inner) for inner in value)
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _shares(task: Task, node: NodeState) -> list[dict[str, Any]]:
    return [{"pod": task.name, "node": node.name, "chip": chip, "aicoreQuota": share.aicore, "hbmQuotaMB": share.hbm_mb,
             "policy": share.policy}
            for chip, shares in sorted(node.shares.items()) for share in shares if share.task == task_key(task)]
