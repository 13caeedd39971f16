"""The cluster's clock: sessions of a second, faults, jobs that step on between them; it skips what changes nothing.

At every instant, in this order: jobs are brought up to it, those at their end are finished, faults end and begin, jobs
are handed in, the recovery acts, a session places pods if one is due, the recovery acts again, and processes stop and
start as these have decided. Then the next instant is looked for: a fault, something due in the recovery, a job handed
in, a job at its end, or the next whole second while a session may still change something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distsim.scheduler.faults import Fault, Recovery
from distsim.scheduler.session import Scheduler
from distsim.scheduler.types import Happening, Job, JobPhase, TaskState

from .ledger import PS_PER_MS
from .links import Links, groups
from .progress import Standing, StepTime
from .steptimes import Member, StepTimes
from .track import FINAL, Track, count_of

if TYPE_CHECKING:
    from distsim.scheduler.state import State

    from .work import Work

SESSION_MS = 1000
# Sessions that change nothing before they are skipped: the recovery widens its scope after 12.
QUIET_SESSIONS = 15
# A job that may be dequeued changes something by itself after this time (Inqueue strictly longer than 300,000 ms).
DEQUEUE_MS = 300_000
FAR_PS = 10**24


@dataclass(frozen=True)
class _Timer:
    """Step times of a job beside the jobs of its group, see `Timer`."""

    times: StepTimes
    job: str
    group: tuple[Member, ...]

    def at(self, begin_ps: int) -> tuple[StepTime, int | None]:
        return self.times.at(self.job, self.group, begin_ps)

    def across(self, begin_ps: int) -> StepTime:
        return self.times.across(self.job, self.group, begin_ps)


@dataclass
class Clock:
    """A run. jobs : in the order in which they are handed in, each at its `created_ms`. works : what each does.
    until_ms : when it is cut off, None: it goes on until nothing changes any more.

    tracks : the jobs handed in so far. timeline : all that has happened. now_ms : the time.
    """

    state: State
    jobs: Sequence[Job]
    works: dict[str, Work]
    times: StepTimes
    links: Links
    faults: Sequence[Fault] = ()
    until_ms: int | None = None
    tracks: dict[str, Track] = field(default_factory=dict)
    timeline: list[Happening] = field(default_factory=list)
    now_ms: int = 0
    sessions: int = 0

    def __post_init__(self) -> None:
        self.scheduler, self.recovery = Scheduler(self.state), Recovery(self.state)
        self._waiting = sorted(self.jobs, key=lambda job: job.created_ms)
        self._ahead = sorted(_instants(self.faults), key=lambda one: one[:3])
        self._quiet = self._jumps = self._runs = 0
        self._jump_ms: int | None = None
        self._before: Any = None
        self._session_ms: int | None = None
        self._together: Any = None

    # ---- the loop ----------------------------------------------------------------------------------------------------
    def run(self) -> None:
        """Run to the end."""
        while True:
            self._instant()
            next_ms = None if self._over else self._next_ms()
            if next_ms is None or (self.until_ms is not None and next_ms > self.until_ms):
                break
            self.now_ms = next_ms
        if self.until_ms is not None and not self._over:
            self.now_ms = self.until_ms
            self._advance()
            self._complete()
        self._close()

    @property
    def _over(self) -> bool:
        """Whether every job has ended."""
        return not self._waiting and all(job.phase in FINAL for job in self.state.jobs.values())

    def _instant(self) -> None:
        now_ms = self.now_ms
        self._advance()
        self._complete()
        self._happen_faults()
        while self._waiting and self._waiting[0].created_ms <= now_ms:
            job = self._waiting.pop(0)
            self.scheduler.submit(job, now_ms)
            if job.uid in self.works:
                self.tracks[job.uid] = Track.of(job, self.works[job.uid], now_ms)
            self._disturbed()
        self._recover()
        if self._session_ms is not None and self._session_ms <= now_ms:
            self.timeline += self.scheduler.session(now_ms)
            self.sessions += 1
            self._settle()
            self._recover()
        self._follow()

    def _recover(self) -> None:
        """Let the recovery act. What it does (a pod forced off its node, a wider scope) a session may act on."""
        while happened := self.recovery.tick(self.now_ms):       # a hot switch makes way for that of another pod
            self.timeline += happened
            self._disturbed()

    def _advance(self) -> None:
        for track in self.tracks.values():
            track.progress.advance(self.now_ms * PS_PER_MS)

    def _complete(self) -> None:
        """Finish jobs that have done all steps; close those that something else has ended."""
        for track in self.tracks.values():
            if track.end_ms is not None:
                continue
            if track.progress.standing is Standing.OVER:
                reason = f"{count_of(track.progress.plan.steps, 'step')} done"
                self.timeline.append(self.scheduler.finish(track.job, JobPhase.COMPLETED, reason, self.now_ms))
            elif track.job.phase in FINAL:
                track.progress.close(self.now_ms * PS_PER_MS, track.job.phase is JobPhase.FAILED, track.kept)
            else:
                continue
            track.end_ms, track.member = self.now_ms, None
            self._disturbed()

    def _happen_faults(self) -> None:
        while self._ahead and self._ahead[0][0] <= self.now_ms:
            _, begins, _, fault = self._ahead.pop(0)
            (self.recovery.begin if begins else self.recovery.end)(fault, self.now_ms)
            self._disturbed()

    def _follow(self) -> None:
        """Stop and start processes, then find out which jobs share links now."""
        for track in self.tracks.values():
            if track.end_ms is not None:
                continue
            said = track.follow(self.state, self.recovery, self.now_ms)
            if said is not None:
                self.timeline.append(Happening(self.now_ms, said[0], track.job.uid, message=said[1]))
                self._disturbed()
        self._complete()
        running = [(track, track.member) for track in self.tracks.values()
                   if track.running and track.member is not None]
        together = tuple(member for _, member in running)
        if together == self._together:
            return
        self._together = together
        members = {member.job: member for member in together}
        for uids in groups({uid: self.links.between(member.hosts) for uid, member in members.items()}):
            group = tuple(members[uid] for uid in uids)
            for uid in uids:
                self.times.begins(members[uid])
                self.tracks[uid].progress.timer = _Timer(self.times, uid, group)

    # ---- what comes next ---------------------------------------------------------------------------------------------
    def _next_ms(self) -> int | None:
        """The next instant at which something may change; None when there is none."""
        self._session_ms = self._next_session_ms()
        found = [self._session_ms, self.recovery.next_ms(), self._ahead[0][0] if self._ahead else None,
                 self._waiting[0].created_ms if self._waiting else None]
        # The recovery may name the present: what is due then is done by its next call.
        next_ms = min((max(time, self.now_ms + 1) for time in found if time is not None), default=None)
        until = [time for time in (next_ms, self.until_ms) if time is not None]
        horizon_ps = min(until) * PS_PER_MS if until else FAR_PS
        ends = self._ends(horizon_ps)
        if ends:
            end_ms = max(-(-min(ends) // PS_PER_MS), self.now_ms + 1)
            next_ms = end_ms if next_ms is None else min(next_ms, end_ms)
        return next_ms

    def _ends(self, horizon_ps: int) -> list[int]:
        """When jobs are at their end, if nothing else happens until the horizon."""
        found = []
        for track in self.tracks.values():
            if track.running:
                ahead = track.progress.foreseen(horizon_ps)
                track.stands = ahead.stalled
                if ahead.standing is Standing.OVER:
                    found.append(ahead.now_ps)
        return found

    def _next_session_ms(self) -> int | None:
        """When a session may change something: each second as long as the last ones did; then after so long that a job
        is dequeued, for each that may be, unless that brings one onto the cluster."""
        jobs = self.state.jobs.values()
        if not any(self._wants(job) for job in jobs):
            return None
        following = (self.now_ms // SESSION_MS + 1) * SESSION_MS
        if self._quiet < QUIET_SESSIONS:
            return following
        leaving = sum(job.settings.enable_dequeue and job.phase is JobPhase.INQUEUE for job in jobs)
        if self._jump_ms is None and self._jumps < leaving:
            self._jump_ms = following + DEQUEUE_MS
        return self._jump_ms

    def _wants(self, job: Job) -> bool:
        """Whether a job has something to get from a session: a node for a pod, or its full size."""
        if job.phase in FINAL:
            return False
        return (job.phase is not JobPhase.RUNNING or job.full is not None
                or any(task.state is TaskState.PENDING for task in job.tasks))

    def _settle(self) -> None:
        """Note whether a session has changed anything."""
        standing = [(job.phase, job.level_up, [(task.state, task.node, task.rank) for task in job.tasks])
                    for job in self.state.jobs.values()]
        runs = sum(job.phase is JobPhase.RUNNING for job in self.state.jobs.values())
        self._quiet = self._quiet + 1 if standing == self._before else 0
        if self._jump_ms is not None and self._jump_ms <= self.now_ms:
            self._jump_ms, self._jumps = None, self._jumps + 1
        if runs > self._runs:
            self._jumps = 0
        self._before, self._runs = standing, runs

    def _disturbed(self) -> None:
        """Something has happened that a session may act on."""
        self._quiet = self._jumps = 0
        self._jump_ms = None

    def _close(self) -> None:
        """The run is over: what still goes on is cut off."""
        for track in self.tracks.values():
            if track.end_ms is None:
                track.progress.close(self.now_ms * PS_PER_MS, kept=track.kept)
            self.timeline += track.standstills()
        self.timeline.sort(key=lambda one: one.time_ms)


def _instants(faults: Sequence[Fault]) -> list[tuple[int, bool, int, Fault]]:
    """(time, whether it begins, number, fault): of one time, ends come before beginnings."""
    found = [(fault.begin_ms, True, fault.index, fault) for fault in faults]
    return found + [(fault.end_ms, False, fault.index, fault) for fault in faults if fault.end_ms is not None]
