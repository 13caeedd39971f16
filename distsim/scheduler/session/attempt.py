"""One job's try to get nodes: all its waiting pods on trial, kept if the gang is whole, else taken back."""

from __future__ import annotations

from collections.abc import Sequence

from distsim.scheduler.session import counters
from distsim.scheduler.session.booking import Booking
from distsim.scheduler.session.chipped import in_rank_order, place_chipped
from distsim.scheduler.session.gang import best_effort, min_available, pending, ready
from distsim.scheduler.session.light import could_stand, place_light
from distsim.scheduler.session.round import Round
from distsim.scheduler.session.words import counted
from distsim.scheduler.types import PREDICATE_FAILED, Job, JobPhase, Refusal, Task, TaskState

_SHOWN = 8
_COUNTED = (TaskState.PENDING, TaskState.RUNNING, TaskState.SUCCEEDED)


def place(round_: Round, job: Job) -> Refusal | None:
    """Put the waiting pods of a job on nodes, best-effort ones aside, and let it run; or leave all as it was and say
    why."""
    tasks = [task for task in pending(job) if not best_effort(task)]
    booking = Booking(round_.state, job)
    least = min_available(job) if round_.state.settings.has("gang") else 1
    refusal = _book(round_, job, tasks, booking, least - ready(job))
    if booking.bound and ready(job) + _follow(round_, job) >= least:
        _run(round_, job, booking)
        return None
    refusal = refusal or _left_behind(round_, job)
    booking.undo()
    return refusal


def run_pods(round_: Round, job: Job, tasks: Sequence[Task]) -> Refusal | None:
    """The same for best-effort pods (action backfill)."""
    booking = Booking(round_.state, job)
    refusal = place_light(round_, job, tasks, booking)
    if booking.bound and (ready(job) >= min_available(job) or not round_.state.settings.has("gang")):
        _run(round_, job, booking)
        return None
    booking.undo()
    return refusal


def _book(round_: Round, job: Job, tasks: Sequence[Task], booking: Booking, least: int) -> Refusal | None:
    chipped, light = [task for task in tasks if task.chips], [task for task in tasks if not task.chips]
    if chipped:
        others = len(pending(job)) - len(chipped)
        refusal = place_chipped(round_, job, in_rank_order(job, chipped), booking, least - others)
        if refusal is not None and len(booking.bound) + others < least:
            return refusal
        return place_light(round_, job, light, booking) or refusal
    return place_light(round_, job, light, booking)


def _follow(round_: Round, job: Job) -> int:
    """How many waiting best-effort pods of a job the action backfill will find nodes for: they count as ready (volcano:
    a gang is whole with its pending best-effort pods)."""
    if "backfill" not in round_.state.settings.actions:
        return 0
    return could_stand(round_, job, [task for task in pending(job) if best_effort(task)])


def _left_behind(round_: Round, job: Job) -> Refusal:
    """Why a gang is not whole although each pod that allocate places has found a node."""
    pods = [task for task in pending(job) if best_effort(task)]
    text = f"{ready(job)} of minAvailable {min_available(job)} pods of job {job.name} find a node"
    if not pods:
        ended = [f"{task.name} is {task.state.value}" for task in job.tasks if task.state not in _COUNTED]
        return Refusal(PREDICATE_FAILED, f"{text}; {', '.join(ended[:_SHOWN])}")
    if "backfill" not in round_.state.settings.actions:
        return Refusal(PREDICATE_FAILED, f"{text}; {len(pods)} ask for nothing, and no action backfill runs")
    _, refused = round_.filters.usable(job, pods[0])
    return Refusal(PREDICATE_FAILED, f"{text}; {pods[0].name}, which asks for nothing, does not",
                   nodes={reason: tuple(names) for reason, names in refused.items()})


def _run(round_: Round, job: Job, booking: Booking) -> None:
    _rank(job, booking.bound)
    if booking.notes:
        job.notes = dict(booking.notes)
    job.phase = JobPhase.RUNNING
    counters.forget(job)
    round_.tries.moved()
    nodes = list(dict.fromkeys(task.node or "" for task in booking.bound))
    named = ", ".join(nodes[:_SHOWN]) + (", ..." if len(nodes) > _SHOWN else "")
    only = booking.bound[0] if len(booking.bound) == 1 else None
    round_.happen("scheduled", job, f"{counted(len(booking.bound), 'pod')} on {counted(len(nodes), 'node')}: {named}",
                  only.name if only else "", nodes[0] if only else "")


def _rank(job: Job, bound: Sequence[Task]) -> None:
    """Ranks for pods that got a node: their own if nobody has it, else those that are free in the order of the
    placement; of the pods with chips, or of all where none has."""
    ranked = job.npu_tasks or job.tasks
    placed = {task.name for task in bound}
    used = {task.rank for task in ranked if task.node is not None and task.name not in placed}
    waiting = []
    for task in bound:
        if job.npu_tasks and not task.chips:
            continue
        if 0 <= task.rank < len(ranked) and task.rank not in used:
            used.add(task.rank)
        else:
            waiting.append(task)
    for task, rank in zip(waiting, (rank for rank in range(len(ranked)) if rank not in used), strict=False):
        task.rank = rank
