"""The scheduler: takes jobs in, runs one session after another, lets jobs end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from distsim.errors import InputError
from distsim.scheduler.predicates import Filters
from distsim.scheduler.session import counters
from distsim.scheduler.session.allocate import allocate
from distsim.scheduler.session.backfill import backfill
from distsim.scheduler.session.conditions import message_of, write_all
from distsim.scheduler.session.enqueue import enqueue
from distsim.scheduler.session.round import Round
from distsim.scheduler.session.tries import Tries
from distsim.scheduler.session.validate import invalid
from distsim.scheduler.types import Condition, Happening, Job, JobPhase, Refusal, TaskState

if TYPE_CHECKING:
    from distsim.scheduler.state import State

ACTIONS: dict[str, Callable[[Round], None]] = {"enqueue": enqueue, "allocate": allocate, "backfill": backfill}


class Scheduler:
    """Schedules the jobs of a state. What it keeps of its own only saves work: what the labels of the nodes mean, which
    jobs have been validated, which tries were in vain."""

    def __init__(self, state: State):
        self.state = state
        self._filters = Filters(state)
        self._tries = Tries()
        self._valid: set[str] = set()

    def submit(self, job: Job, now_ms: int) -> None:
        """Take a job in; the next session looks at it. InputError if there is one of its namespace and name."""
        before = self.state.jobs.get(job.uid)
        if before is not None:
            place = f", from {before.file}" + (f":{before.line}" if before.line else "") if before.file else ""
            raise InputError(f"job {job.uid} is there already{place}; a name is taken once in a namespace",
                             file=job.file or None, line=job.line)
        self._valid.discard(job.uid)
        self._tries.forget(job)
        job.created_ms = now_ms
        self.state.jobs[job.uid] = job

    def session(self, now_ms: int) -> list[Happening]:
        """One round at a time of the virtual clock: the actions of the settings in their order, then the conditions of
        every job that still lacks pods. What was done, in order."""
        self.state.now_ms = now_ms
        round_ = Round(self.state, self._filters, self._tries)
        self._tries.open(self.state)
        for job in self.state.jobs.values():
            self._open(round_, job)
        for name in self.state.settings.actions:
            ACTIONS[name](round_)
        self._give_up(round_)
        write_all(round_)
        self._tries.close(self.state)
        return round_.happenings

    def finish(self, job: Job, phase: JobPhase, reason: str, now_ms: int) -> Happening:
        """Let a job end as Completed or Failed: its pods give all back."""
        self.state.now_ms = now_ms
        end = TaskState.SUCCEEDED if phase is JobPhase.COMPLETED else TaskState.FAILED
        for task in job.tasks:
            self.state.release(task, end)
        job.phase, job.reason = phase, reason
        counters.forget(job)
        if phase is JobPhase.COMPLETED:
            job.conditions = {}
        return Happening(now_ms, phase.value.lower(), job.uid, message=reason)

    def _open(self, round_: Round, job: Job) -> None:
        """Validate a job that is new; one that a fault has taken off all its nodes is Pending again (as volcano's
        PodGroup without pods is)."""
        if job.phase is JobPhase.PENDING and job.uid not in self._valid:
            refusal = invalid(job, self.state)
            if refusal is not None:
                self._refuse(round_, job, refusal)
            else:
                self._valid.add(job.uid)
        elif job.phase is JobPhase.RUNNING and all(task.state is TaskState.PENDING for task in job.tasks):
            job.phase = JobPhase.PENDING

    def _give_up(self, round_: Round) -> None:
        """Let jobs fail for which a policy says that waiting cannot help."""
        for uid, refusals in round_.refusals.items():
            job = self.state.jobs[uid]
            final = next((refusal for refusal in refusals if refusal.final), None)
            if final is not None and job.phase in (JobPhase.PENDING, JobPhase.INQUEUE):
                self._refuse(round_, job, final)

    def _refuse(self, round_: Round, job: Job, refusal: Refusal) -> None:
        text = message_of(refusal)
        job.conditions = {refusal.condition: Condition(refusal.condition, text, round_.state.now_ms)}
        round_.happenings.append(self.finish(job, JobPhase.FAILED, f"{refusal.condition}: {text}", round_.state.now_ms))
