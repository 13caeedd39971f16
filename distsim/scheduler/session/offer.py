"""What a policy is asked: the pods, and the nodes that pass the ordinary filters and have chips for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.chips import ChipRule, sharing
from distsim.scheduler.policies import Request
from distsim.scheduler.session.round import Round
from distsim.scheduler.types import Job, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


def request_for(round_: Round, job: Job, tasks: Sequence[Task], rule: ChipRule) -> Request:
    """The request for tasks with chips. Where they differ in shape, a node is offered that suits each of them."""
    shapes = [group[0] for group in by_shape(tasks)]
    request = Request(round_.state, job, tasks, [], rule, uniform=len({task.chips for task in shapes}) == 1)
    filters = [round_.filters.reasons(job, task) for task in shapes]
    found = _first_of(filters) if len(filters) > 1 else filters[0]
    chips = _no_share if sharing(rule) is not None else _Patterns(request, shapes).refused
    nodes: list[NodeState] = []
    for node, reason in zip(round_.state.nodes.values(), found):
        if reason is None:
            reason = chips(request, node)
        if reason is None:
            nodes.append(node)
        else:
            request.refused.setdefault(reason, []).append(node.name)
    request.nodes = nodes
    return request


def by_shape(tasks: Sequence[Task]) -> list[list[Task]]:
    """Tasks grouped by what they ask of a node, the groups and their members in order."""
    groups: list[list[Task]] = []
    for task in tasks:
        group = next((group for group in groups if _same_shape(group[0], task)), None)
        if group is None:
            groups.append([task])
        else:
            group.append(task)
    return groups


def _same_shape(first: Task, second: Task) -> bool:
    return (first.chips == second.chips and first.request == second.request and first.spread == second.spread
            and first.node_selector == second.node_selector and first.affinity == second.affinity
            and first.tolerations == second.tolerations)


def _first_of(filters: Sequence[Sequence[str | None]]) -> list[str | None]:
    """By node the first reason that any shape is given."""
    return [next((reason for reason in reasons if reason is not None), None) for reasons in zip(*filters)]


class _Patterns:
    """Why nodes have no chips for some of the shapes, found once for each pattern of chips that they have and that are
    idle: on a large cluster there are few."""

    def __init__(self, request: Request, shapes: Sequence[Task]):
        self._shapes, self._several = shapes, request.job.several
        self._most = max(task.chips for task in shapes)
        self._known: dict[tuple[int, int], str | None] = {}

    def refused(self, request: Request, node: NodeState) -> str | None:
        """The reason, None if there are chips for each."""
        key = node.all_chips, node.idle(self._several)
        if key not in self._known:
            self._known[key] = self._why(request, node, key[1].bit_count())
        return self._known[key]

    def _why(self, request: Request, node: NodeState, idle: int) -> str | None:
        if idle < self._most:
            return f"{idle} of {node.chips} chips free, {self._most} requested"
        found = (request.chips_on(node, task) for task in self._shapes)
        return next((answer for answer in found if isinstance(answer, str)), None)


def _no_share(request: Request, node: NodeState) -> str | None:
    found = request.chips_on(node, request.tasks[0])
    return found if isinstance(found, str) else None
