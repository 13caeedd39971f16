"""Taking pods off their nodes: at once or gracefully, in which scope, wider and wider while they stay pending.

Source: cluster.md section 6; deleteJobWithLabels, GraceDeleteJob, singlePodReschedulingUpgrade and
GetNeedForceDeleteDelayingNPUJobs in component/ascend-for-volcano/internal/rescheduling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from distsim.scheduler.faults.care import Care, Cause, Ward, Way
from distsim.scheduler.faults.job_policies import FINAL, JOB_UNKNOWN, RESTART_JOB, action_for
from distsim.scheduler.faults.scope import (
    JOB,
    JOB_SESSIONS,
    POD,
    PROCESS,
    SESSION_MS,
    STEP_SESSIONS,
    may_widen,
    scope_of,
    taken,
    widened,
)
from distsim.scheduler.session.counters import forget
from distsim.scheduler.session.gang import min_available, ready
from distsim.scheduler.types import JobPhase, Task, TaskState

BAD_SCORE = 64          # AffScore8 * AffScore8, reduceScoreForLastFaultNode in reschedule.go
# From the first pending session to each step: what a JobUnknown policy says, the wider group, the whole job.
_UNKNOWN_MS, _STEP_MS, _JOB_MS = SESSION_MS, STEP_SESSIONS * SESSION_MS, JOB_SESSIONS * SESSION_MS


class Eviction:
    """Evicts pods of jobs."""

    def __init__(self, ward: Ward):
        self.ward = ward

    def begin(self, care: Care, causes: Sequence[Cause], graceful: bool, scope: str = "") -> None:
        """Reschedule what these failed tasks make necessary.

        scope : at least that of the whole job, or "" as the job's settings say.
        """
        job = care.job
        care.causes |= {cause.task.name: cause for cause in causes}
        self.ward.retries.know(job)
        self.ward.reasons.add(job.uid, [cause.record() for cause in causes], self.ward.now_ms)
        self._lower(care, causes)
        if JOB in (scope, care.scope):
            care.scope = JOB
        else:
            care.scope = scope or scope_of(job, care.evicted())
        care.restart_all = care.scope == POD
        self.release(care, taken(job, care.scope, care.evicted()), graceful)

    def policy_scope(self, care: Care, event: str, task: Task | None = None,
                     exit_code: int | None = None) -> str | None:
        """What a policy of the job makes of an event: JOB for RestartJob, "" for nothing special; None if it (or
        maxRetry) has ended the job."""
        job = care.job
        action = action_for(job, event, task, exit_code)
        if action in FINAL:
            self.finish(care, FINAL[action], f"{action} upon {event}")
            return None
        if action != RESTART_JOB:
            return ""
        if self.ward.retries.restart(job):
            return JOB
        self.finish(care, JobPhase.FAILED, f"RestartJob upon {event} for the {job.max_retry}. time, maxRetry is "
                                           f"{job.max_retry}")
        return None

    def release(self, care: Care, tasks: Iterable[Task], graceful: bool) -> None:
        """Take tasks off their nodes: at once, or when they have ended gracefully."""
        for task in tasks:
            if task.state is TaskState.FAILED:
                self.ward.state.release(task)
            elif task.node is None or (task.name in care.releasing and graceful):
                continue
            elif graceful:
                task.state = TaskState.RELEASING
                care.releasing[task.name] = self._ends_ms(care, task)
                care.forced_ms = care.forced_ms or self.ward.now_ms + self._grace_ms
                self.ward.say("releasing", care.job, f"forced by {care.forced_ms} ms", task)
            else:
                self._off(care, task, "evicted", care.scope)

    def advance(self, care: Care) -> bool:
        """Let graceful ends end, note who is back, widen the scope; whether something has changed."""
        changed = self._ends(care)
        waiting = any(task.state is TaskState.PENDING for task in care.job.tasks)
        if care.causes and not care.releasing and care.pending_ms is None and waiting:
            care.pending_ms = self.ward.now_ms
            if all(task.node is None for task in care.job.tasks):
                care.job.phase = JobPhase.PENDING
        if care.releasing or care.pending_ms is None:
            return changed
        if ready(care.job) >= min_available(care.job):
            return self._back(care) or changed
        return self._widen(care) or changed

    def due_ms(self, care: Care) -> list[int]:
        """Times at which `advance` has something to do."""
        due = [time for time in care.releasing.values() if time is not None]
        if care.releasing and care.forced_ms is not None:
            due.append(care.forced_ms)
        if care.pending_ms is not None:
            due += [care.pending_ms + after for after in (_UNKNOWN_MS, _STEP_MS, _JOB_MS)]
        return due

    def finish(self, care: Care, phase: JobPhase, reason: str) -> None:
        """End a job: all its pods give back what they hold."""
        job = care.job
        end = TaskState.SUCCEEDED if phase is JobPhase.COMPLETED else TaskState.FAILED
        for task in job.tasks:
            self.ward.state.release(task, end)
        job.phase, job.reason = phase, reason
        forget(job)
        if care.stop is not None:
            care.stop.ended_ms = self.ward.now_ms
        self.close(care)
        self.ward.say(phase.value.lower(), job, reason)

    def close(self, care: Care) -> None:
        """Forget a reschedule: it is over, or the job is."""
        for name in care.bad:
            self.ward.state.nodes[name].bad_score -= BAD_SCORE
        care.bad.clear()
        care.causes.clear()
        care.releasing.clear()
        care.forced_ms = care.pending_ms = None
        care.scope, care.step, care.unknown, care.job.level_up = "", 0, False, 0

    @property
    def _grace_ms(self) -> int:
        return self.ward.state.settings.grace_over_time_s * 1000

    def _lost(self, node: str) -> bool:
        return any(one.effects.lost for one in self.ward.health.on(node))

    def _ends_ms(self, care: Care, task: Task) -> int | None:
        """When a pod has ended by itself; None where its node does not answer."""
        return None if self._lost(task.node or "") else self.ward.now_ms + care.options.graceful_ms

    def _off(self, care: Care, task: Task, kind: str, message: str) -> None:
        self.ward.say(kind, care.job, message, task)
        self.ward.state.release(task)
        care.releasing.pop(task.name, None)

    def _ends(self, care: Care) -> bool:
        changed = False
        for name, ends_ms in list(care.releasing.items()):
            task = care.task(name)
            lost = self._lost(task.node or "")
            if ends_ms is None and not lost:
                ends_ms = care.releasing[name] = self._ends_ms(care, task)
            if not lost and ends_ms is not None and self.ward.now_ms >= ends_ms:
                self._off(care, task, "released", "ended gracefully")
            elif care.forced_ms is not None and self.ward.now_ms >= care.forced_ms:
                self._off(care, task, "evicted", f"forced after {self._grace_ms // 1000} s")
            changed = changed or name not in care.releasing
        if not care.releasing:
            care.forced_ms = None
        return changed

    def _lower(self, care: Care, causes: Sequence[Cause]) -> None:
        """Nodes where tasks of the job have failed lose score until it runs again."""
        for cause in causes:
            if cause.way is Way.EVICTED and cause.node not in care.bad:
                care.bad.append(cause.node)
                self.ward.state.nodes[cause.node].bad_score += BAD_SCORE

    def _back(self, care: Care) -> bool:
        """Enough pods run again."""
        others = {name: cause for name, cause in care.causes.items() if cause.way is not Way.EVICTED}
        nodes = ", ".join(f"{task.name} on {task.node or 'no node yet'}" for task in care.evicted())
        self.ward.say("rescheduled", care.job, nodes)
        self.close(care)
        care.causes |= others
        return True

    def _widen(self, care: Care) -> bool:
        """The next step for pods that stay pending, if it is time."""
        job, waited = care.job, self.ward.now_ms - (care.pending_ms or 0)
        if care.scope in (POD, PROCESS) and not care.unknown and waited >= _UNKNOWN_MS:
            care.unknown = True
            scope = self.policy_scope(care, JOB_UNKNOWN)
            if scope is None or scope == JOB:
                return scope is None or self._whole(care, "RestartJob upon JobUnknown")
        if care.scope != POD or not may_widen(job):
            return False
        if care.step == 0 and waited >= _STEP_MS:
            care.step = 1
            failed = care.evicted()
            more = widened(job, failed, max((task.chips for task in failed), default=0))
            if more is not None:
                job.level_up += 1
                return self._wider(care, more, f"pending for {STEP_SESSIONS} sessions")
        if care.step == 1 and waited >= _JOB_MS:
            care.step = 2
            return self._whole(care, f"pending for {JOB_SESSIONS} sessions")
        return False

    def _whole(self, care: Care, why: str) -> bool:
        care.scope, care.job.level_up, care.restart_all = JOB, 0, False
        return self._wider(care, care.job.tasks, why)

    def _wider(self, care: Care, tasks: Sequence[Task], why: str) -> bool:
        if len(tasks) == len(care.job.tasks):
            care.scope = JOB
            if care.stop is not None:
                care.stop.why, care.stop.keeps = JOB, False
        self.ward.say("escalated", care.job, f"{why}: {len(tasks)} of {len(care.job.tasks)} pods")
        self.ward.reasons.add(care.job.uid, [cause.record() for cause in care.causes.values()], self.ward.now_ms)
        self.release(care, tasks, care.job.settings.fault_scheduling == "grace")
        if all(task.node is None for task in care.job.tasks):
            care.job.phase = JobPhase.PENDING
        return True
