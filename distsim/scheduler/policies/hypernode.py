"""Policy hypernode: volcano's networkTopology, for a job and for the partitions of its tasks (the parts are in hyper/).

hard with a highest tier: the lowest tier of which one HyperNode holds the whole job, no higher than that; of the tier
the HyperNode with the fewest free chips. soft, or hard without a highest tier: the same, and if no HyperNode holds the
job, few of them. volcano-sh/volcano, docs/design/Network Topology Aware Scheduling.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distsim.scheduler.policies import Request
from distsim.scheduler.policies.hyper.asks import Asks, Wrong, asks_of, invalid, refused
from distsim.scheduler.policies.hyper.fewer import smaller
from distsim.scheduler.policies.hyper.lumps import partition_of
from distsim.scheduler.policies.hyper.place import Search, search_for
from distsim.scheduler.policies.hyper.tiers import Tiers
from distsim.scheduler.policies.hyper.words import why_not
from distsim.scheduler.types import ORDER_FAILED, PREDICATE_FAILED, Job, Placement, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import State


class HyperNodePolicy:
    """See `NodePolicy`."""

    name = "hypernode"

    def validate(self, job: Job, state: State) -> Refusal | None:
        """networkTopology and partitionPolicy against the tiers of the cluster and the tasks (hyper/asks.py)."""
        return invalid(job, state)

    def place(self, request: Request) -> Placement | Refusal:
        """All pods of the job, or those that lost their nodes beside those that run.

        Notes: hypernode (the lowest one that holds all pods of the job), tier (its own), members (pods of the job by
        innermost HyperNode, in rank order) and, for a job with partitions, partitions (names of the nodes of each)."""
        try:
            asks = asks_of(request.job, Tiers(request.state.cluster))
        except Wrong as error:
            return refused(request.job, error)
        search = search_for(request, asks)
        return _placement(search) if search.run() else _refusal(search)

    def fewer(self, request: Request, least: int) -> tuple[Sequence[Task], Placement] | None:
        """The most pods of a request (in its order, at least `least`, partitions as wholes and at least minPartitions
        of each task) that can be placed, and where; for a gang whose minAvailable is below its pods (volcano,
        docs/user-guide/how_to_use_network_topology_aware_scheduling.md, section 3.3.1). None if there are none."""
        try:
            asks = asks_of(request.job, Tiers(request.state.cluster))
        except Wrong:
            return None
        tries = smaller(request.job, request.tasks, asks, least)
        low, high, best = 0, len(tries) - 1, None
        while low <= high:
            # The least number first: if that fails, no other is needed.
            at = high if best is None else (low + high) // 2
            found = self.place(replace(request, tasks=tries[at], planned={}))
            if isinstance(found, Placement):
                best, high = (tries[at], found), at - 1
            elif best is None:
                return None
            else:
                low = at + 1
        return best


def _placement(search: Search) -> Placement:
    seats = {seat.task.name: seat for seat in search.room.seats}
    order = [seats[task.name] for task in search.request.tasks]
    return Placement(tuple(seat.node.name for seat in order), tuple(seat.mask for seat in order), _notes(search))


def _notes(search: Search) -> dict[str, Any]:
    """Of all pods of the job, those that keep their nodes included."""
    job = search.request.job
    found = {seat.task.name: seat.node.name for seat in search.room.seats}
    where = {task.index: found.get(task.name) or task.node for task in job.npu_tasks}
    names = {index: node for index, node in where.items() if node is not None}
    members: dict[str, int] = {}
    for node in names.values():
        home = search.home[node].name
        members[home] = members.get(home, 0) + 1
    holder = search.common(search.request.state.nodes[node] for node in names.values())
    notes: dict[str, Any] = {"hypernode": holder.name, "tier": holder.tier, "members": members}
    if search.asks.partitions:
        notes["partitions"] = _partitions(job, search.asks, names)
    return notes


def _partitions(job: Job, asks: Asks, names: dict[int, str]) -> list[list[str]]:
    groups: dict[tuple[str, int], list[str]] = {}
    for index, key in partition_of(job, asks).items():
        if index in names:
            groups.setdefault(key, []).append(names[index])
    return list(groups.values())


def _refusal(search: Search) -> Refusal:
    request = search.request
    job, pods = request.job, len(request.tasks)
    nodes = {reason: tuple(names) for reason, names in request.refused.items()}
    text = f"hypernode finds no nodes for {pods} pod{'' if pods == 1 else 's'} of job {job.name}: {why_not(search)}"
    search.room.measure(search.root, request.tasks[0])
    return Refusal(ORDER_FAILED if search.root.slots >= pods else PREDICATE_FAILED, text, nodes=nodes)


POLICY = HyperNodePolicy()
