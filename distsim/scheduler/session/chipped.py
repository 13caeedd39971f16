"""Pods with chips: by the policy that the job asks for, all of them or, where it can, as many as find a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distsim.scheduler.chips import ChipRule, rule_of
from distsim.scheduler.chips.any import AnyChips
from distsim.scheduler.policies import NodePolicy, Request, partial, policy, policy_name
from distsim.scheduler.session.booking import Booking
from distsim.scheduler.session.conformance import protected
from distsim.scheduler.session.offer import by_shape, request_for
from distsim.scheduler.session.room import answers, overdrawn
from distsim.scheduler.session.round import Round
from distsim.scheduler.types import ORDER_FAILED, Job, Placement, Refusal, Task, TaskState

if TYPE_CHECKING:
    from distsim.scheduler.state import State

PLAIN = ("binpack", "spread", "random")


def chosen_policy(job: Job, state: State) -> str:
    """Name of the policy that places a job: the one that the user forces if the job is valid under it, else the one
    that the job asks for (policies.policy_name)."""
    name = policy_name(job, state)
    if state.settings.policy and policy(name).validate(job, state) is not None:
        return policy_name(job, replace(state, settings=replace(state.settings, policy="")))
    return name


def chosen_rule(job: Job, state: State) -> ChipRule:
    """The rule for the chips of a job: any chips without plugin volcano-npu, and for jobs that skip it."""
    if not state.settings.has("volcano-npu") or job.settings.skip_ascend:
        return AnyChips()
    return rule_of(job)


def place_chipped(round_: Round, job: Job, tasks: Sequence[Task], booking: Booking, least: int) -> Refusal | None:
    """Put these tasks on nodes: all of them, or where the policy can tell them apart the most that find nodes, if those
    are at least `least`.

    Returns why the first that finds no node finds none; what could be placed is booked all the same.
    """
    name = chosen_policy(job, round_.state)
    rule = chosen_rule(job, round_.state)
    booking.notes["policy"] = name
    if name not in PLAIN:
        return _place(round_, job, tasks, booking, policy(name), rule, least)
    # What suits one shape of pod is nothing to another.
    refusals = [_place(round_, job, group, booking, policy(name), rule, least - (len(tasks) - len(group)))
                for group in by_shape(tasks)]
    return next((refusal for refusal in refusals if refusal is not None), None)


def _place(round_: Round, job: Job, tasks: Sequence[Task], booking: Booking, by: NodePolicy, rule: ChipRule,
           least: int) -> Refusal | None:
    """One request, and further ones for the pods that its placement moves."""
    todo, moved = list(tasks), frozenset[str]()
    while todo:
        request = request_for(round_, job, todo, answers(rule, job, todo, round_.state))
        found = _ask(request, by)
        if isinstance(found, Refusal):
            part = None if moved else _part(request, by, max(1, least))
            if part is not None:
                booking.bind(*part, rule)
            return found
        why = protected(job, round_.state.settings) if found.moves else ""
        if why:
            return Refusal(ORDER_FAILED, f"job {job.name} would have to move {', '.join(found.moves)}, which plugin "
                                         f"conformance protects ({why})")
        booking.bind(todo, found, rule)
        assert moved.isdisjoint(found.moves), f"{by.name} moves {', '.join(found.moves)} again"
        moved |= frozenset(found.moves)
        todo = in_rank_order(job, [task for task in job.tasks if task.name in found.moves
                                   and task.state is TaskState.PENDING])
    return None


def _part(request: Request, by: NodePolicy, least: int) -> tuple[Sequence[Task], Placement] | None:
    """The most tasks of a request that a policy can place, at least `least`, fewer than all."""
    partly = partial(by)
    if partly is None or least >= len(request.tasks):
        return None
    found = partly.fewer(request, least)
    return None if found is None or overdrawn(request.state, request.job, *found) is not None else found


def _ask(request: Request, by: NodePolicy) -> Placement | Refusal:
    found = by.place(request)
    if isinstance(found, Placement):
        return overdrawn(request.state, request.job, request.tasks, found) or found
    if not found.nodes:
        found = replace(found, nodes={reason: tuple(names) for reason, names in request.refused.items()})
    return found


def in_rank_order(job: Job, tasks: Sequence[Task]) -> list[Task]:
    """The order in which a policy gets tasks: that of the job; of the ranks that they had while others still run."""
    if any(task.node is not None for task in job.npu_tasks):
        return sorted(tasks, key=lambda task: (task.rank < 0, task.rank, task.index))
    return sorted(tasks, key=lambda task: task.index)
