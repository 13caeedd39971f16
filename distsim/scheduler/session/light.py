"""Pods without chips: node by node by the score of the plugins nodeorder and binpack (scores.py)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.chips.any import AnyChips
from distsim.scheduler.predicates import HOST_TAKEN
from distsim.scheduler.scores import score
from distsim.scheduler.session.booking import Booking
from distsim.scheduler.session.offer import by_shape
from distsim.scheduler.session.round import Round
from distsim.scheduler.types import PREDICATE_FAILED, Job, Placement, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


def place_light(round_: Round, job: Job, tasks: Sequence[Task], booking: Booking) -> Refusal | None:
    """Put as many of these tasks on nodes as find one; why the first that does not, finds none."""
    refusals = [_place_alike(round_, job, group, booking) for group in by_shape(tasks)]
    return next((refusal for refusal in refusals if refusal is not None), None)


def could_stand(round_: Round, job: Job, tasks: Sequence[Task]) -> int:
    """How many of these best-effort tasks would find a node now; they take nothing, so other pods do not matter."""
    found = 0
    for group in by_shape(tasks):
        nodes, _ = round_.filters.usable(job, group[0])
        found += min(len(nodes), len(group)) if group[0].spread else len(group) * bool(nodes)
    return found


def _place_alike(round_: Round, job: Job, tasks: Sequence[Task], booking: Booking) -> Refusal | None:
    settings = round_.state.settings
    nodes, refused = round_.filters.usable(job, tasks[0])
    heap = [(-score(node, tasks[0], settings), node.index) for node in nodes]
    heapq.heapify(heap)
    by_index = {node.index: node for node in nodes}
    for number, task in enumerate(tasks):
        if not heap:
            full = _full(by_index, task, settings.has("predicates"))
            return Refusal(PREDICATE_FAILED, f"{number} of {len(tasks)} pods without chips of job {job.name} find a "
                                             f"node, {task.name} does not",
                           nodes={key: tuple(names) for key, names in (full | refused).items()})
        node = by_index[heapq.heappop(heap)[1]]
        booking.bind([task], Placement((node.name,), (0,)), AnyChips())
        if not task.spread and (not settings.has("predicates") or _fits(node, task)):
            heapq.heappush(heap, (-score(node, task, settings), node.index))
    return None


def _fits(node: NodeState, task: Task) -> bool:
    return all(node.free.get(name, amount) >= amount for name, amount in task.request.items())


def _full(nodes: dict[int, NodeState], task: Task, checked: bool) -> dict[str, list[str]]:
    """Why the nodes that were good for the first pods are not for one more."""
    reasons: dict[str, list[str]] = {}
    for node in nodes.values():
        if checked and not _fits(node, task):
            name, amount = next((name, amount) for name, amount in task.request.items() if node.free[name] < amount)
            reasons.setdefault(f"{name}: {node.free[name]} free, {amount} requested", []).append(node.name)
        else:
            reasons.setdefault(HOST_TAKEN, []).append(node.name)
    return reasons
