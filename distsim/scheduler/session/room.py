"""How a session asks a rule for chips: each pattern of free chips once, and no more pods on a node than its cpu and
memory do for.

A rule that gives whole chips looks at nothing of a node but the chips that it has and those that are idle
(chips/README.md), so nodes with the same pattern get the same answer. Policies count chips only; how many pods of a
placement a node has got so far shows in the chips that are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.chips import ChipRule, sharing
from distsim.scheduler.types import PREDICATE_FAILED, Job, Placement, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, Share, State

Choice = tuple[int, int] | str


class Answers:
    """See `ChipRule` and `SharingRule`: the rule's answers for one job. several : whether pods of the job may stand on
    one node, so that resources besides chips have to be counted."""

    def __init__(self, rule: ChipRule, job: Job, several: bool):
        self.name, self.shares = rule.name, sharing(rule) is not None
        self._rule, self._job, self._several = rule, job, several
        self._known: dict[tuple[int, int, int], Choice] = {}

    def validate(self, job: Job) -> Refusal | None:
        """As the rule's."""
        return self._rule.validate(job)

    def share_of(self, job: Job, task: Task) -> Share:
        """As the rule's."""
        shared = sharing(self._rule)
        assert shared is not None
        return shared.share_of(job, task)

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> Choice:
        """As the rule's, unless pods that have got chips here leave too little of another resource."""
        if self._several:
            given = node.idle(job.several) & ~idle
            if given and (why := _too_little(node, task, job, given.bit_count() // task.chips)):
                return why
        key = node.all_chips, idle, task.chips
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._rule.choose(node, idle, task, job)
        return found

    def choose_beside(self, node: NodeState, idle: int, task: Task, job: Job, planned: Sequence[int]) -> Choice:
        """The same for a rule that gives parts of chips, which looks at who shares them."""
        shared = sharing(self._rule)
        assert shared is not None
        given = len(planned) if self._several else 0
        return _too_little(node, task, job, given) or shared.choose_beside(node, idle, task, job, planned)


def answers(rule: ChipRule, job: Job, tasks: Sequence[Task], state: State) -> Answers:
    """The rule for the tasks of a placement. Pods that ask for chips alone may always stand beside each other, and
    without plugin predicates all may."""
    asked = any(name != job.resource for task in tasks for name in task.request)
    return Answers(rule, job, len(tasks) > 1 and asked and state.settings.has("predicates"))


def overdrawn(state: State, job: Job, tasks: Sequence[Task], placement: Placement) -> Refusal | None:
    """Why a placement cannot be: pods of different requests on one node ask for more than is left there."""
    wanted: dict[str, dict[str, int]] = {}
    if not state.settings.has("predicates"):
        return None
    for task, node in zip(tasks, placement.nodes, strict=True):
        for name, amount in task.request.items():
            if name != job.resource:
                here = wanted.setdefault(node, {})
                here[name] = here.get(name, 0) + amount
    for node, of_node in wanted.items():
        for name, amount in of_node.items():
            left = state.nodes[node].free.get(name)
            if left is not None and amount > left:
                reason = f"{name}: {left} free, {amount} requested by several pods"
                return Refusal(PREDICATE_FAILED, f"pods of job {job.name} do not fit beside each other",
                               nodes={reason: (node,)})
    return None


def _too_little(node: NodeState, task: Task, job: Job, given: int) -> str:
    """What would be short on a node with one more pod of a job than the `given` that a placement has put there."""
    for name, amount in task.request.items() if given else ():
        left = node.free.get(name)
        if name != job.resource and left is not None and left < (given + 1) * amount:
            return f"{name}: {left} free, {given + 1} pods request {amount} each"
    return ""
