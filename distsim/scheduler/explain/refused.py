"""Which nodes a job could not have and why: of a waiting job now, of a scheduled one just before it was placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distsim.scheduler.explain.outcome import FAILED, outcome
from distsim.scheduler.policies import policy
from distsim.scheduler.predicates import Filters
from distsim.scheduler.session.chipped import chosen_policy, chosen_rule
from distsim.scheduler.session.offer import request_for
from distsim.scheduler.session.round import Round
from distsim.scheduler.session.tries import Tries
from distsim.scheduler.state import task_key
from distsim.scheduler.types import Refusal

if TYPE_CHECKING:
    from distsim.scheduler.policies import Request
    from distsim.scheduler.state import State
    from distsim.scheduler.types import Happening, Job

Refused = dict[str, tuple[str, ...]]


def refusals(state: State, happenings: Sequence[Happening]) -> dict[str, Refused]:
    """Job uid -> reason -> names of the nodes, in cluster order. Failed jobs are left out.

    happenings : all since the cluster was empty; they tell in which order jobs were placed. The placements are taken
    back one by one, the last first, on a copy of the state, so that each job meets the cluster that it met.
    """
    copy = _copy(state)
    filters = Filters(copy)
    found = {uid: _of_waiting(copy, job, filters) for uid, job in copy.jobs.items()
             if not job.placed and outcome(job) != FAILED}
    turn = {one.job: index for index, one in enumerate(happenings) if one.kind == "scheduled"}
    placed = [uid for uid, job in copy.jobs.items() if job.placed]
    for uid in sorted(placed, key=lambda uid: turn.get(uid, -1), reverse=True):
        job = copy.jobs[uid]
        for task in job.tasks:
            copy.release(task)
        found[uid] = _not_offered(copy, job, filters)[1]
    return {uid: found[uid] for uid in state.jobs if uid in found}


def _not_offered(state: State, job: Job, filters: Filters) -> tuple[Request | None, Refused]:
    """What its policy is asked for a job whose pods all wait (None for one without chips), and the nodes left out."""
    if not job.npu_tasks:
        return None, _tuples(filters.usable(job, job.tasks[0])[1]) if job.tasks else {}
    request = request_for(Round(state, filters, Tries()), job, job.npu_tasks, chosen_rule(job, state))
    return request, _tuples(request.refused)


def _of_waiting(state: State, job: Job, filters: Filters) -> Refused:
    """The nodes left out, and those that the policy does not take."""
    request, found = _not_offered(state, job, filters)
    if request is None:
        return found
    answer = policy(chosen_policy(job, state)).place(request)
    return found | (_tuples(answer.nodes) if isinstance(answer, Refusal) else {})


def _tuples(refused: Mapping[str, Sequence[str]]) -> Refused:
    return {reason: tuple(names) for reason, names in refused.items()}


def _copy(state: State) -> State:
    """A state whose pods can be released without a trace on the original."""
    jobs = {uid: replace(job, tasks=[replace(task) for task in job.tasks]) for uid, job in state.jobs.items()}
    tasks = {task_key(task): task for job in jobs.values() for task in job.tasks}
    nodes = {name: replace(node, free=dict(node.free), shares={chip: list(held) for chip, held in node.shares.items()},
                           tasks={key: tasks.get(key, task) for key, task in node.tasks.items()})
             for name, node in state.nodes.items()}
    return replace(state, nodes=nodes, jobs=jobs)
