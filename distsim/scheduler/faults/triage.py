"""What is done about a fault that hits a running job, or about a pod or process of it that fails.

Source: cluster.md section 6; getTaskHealthState, isFaultJobCanRestarted and restartSingleFaultJob in
component/ascend-for-volcano/internal/rescheduling; CanRestartFaultProcess in clusterd.
"""

from __future__ import annotations

from collections.abc import Sequence

from distsim.scheduler.faults.care import (
    POD_FAILED_REASON,
    PROCESS_REASON,
    Care,
    Cause,
    Ward,
    Way,
    faulty_processes,
    gravest,
    processes_of,
    running,
)
from distsim.scheduler.faults.eviction import Eviction
from distsim.scheduler.faults.fault import (
    CARD_UNHEALTHY,
    NODE_UNHEALTHY,
    POD,
    RESTART_BUSINESS,
    RESTART_REQUEST,
    SUB_HEALTH,
    Fault,
)
from distsim.scheduler.faults.health import Trouble
from distsim.scheduler.faults.hot_reset import HANDLED
from distsim.scheduler.faults.hot_switch import HotSwitch
from distsim.scheduler.faults.in_reset import InReset
from distsim.scheduler.faults.job_policies import POD_EVICTED, POD_FAILED, RESTART_POD, RESTART_TASK, action_for
from distsim.scheduler.faults.levels import FREE_RESET
from distsim.scheduler.faults.processes import Processes
from distsim.scheduler.faults.scope import JOB, PROCESS, process_level
from distsim.scheduler.faults.scope import POD as POD_SCOPE
from distsim.scheduler.session.conformance import protected
from distsim.scheduler.types import Job, JobPhase, Task, TaskState

Hit = tuple[Task, Trouble]


class Triage:
    """Decides, and sets the other parts to work."""

    def __init__(self, ward: Ward, eviction: Eviction, processes: Processes, resets: InReset, switches: HotSwitch):
        self.ward, self._eviction, self._processes = ward, eviction, processes
        self._resets, self._switches = resets, switches

    def hit(self, care: Care, hits: Sequence[Hit]) -> None:
        """Faults of nodes and chips under running tasks of a job. They are all that there are now."""
        settings = care.job.settings
        hard = [(task, trouble) for task, trouble in hits if trouble.reason != SUB_HEALTH]
        sub = [(task, trouble) for task, trouble in hits if trouble.reason == SUB_HEALTH]
        off = settings.fault_scheduling == "off"
        self._block(care, hard if off else [])
        if off:
            return
        new = [hit for hit in hard if self._is_new(care, hit) and not self._in_place(care, hit)]
        if new:
            self._hard(care, new)
        if sub and not care.over and settings.sub_healthy != "ignore" and not care.gave_up:
            self._sub_healthy(care, [(task, trouble) for task, trouble in sub
                                     if task.name not in care.causes and task.state is TaskState.RUNNING])

    def failed(self, care: Care, fault: Fault) -> None:
        """A pod or a process of a job fails."""
        task = struck(care.job, fault)
        if task is None:
            self.ward.say("fault", care.job, f"{fault.title()}: no pod of that rank runs, nothing happens")
            return
        self.ward.say("fault", care.job, fault.title(), task)
        settings = care.job.settings
        by_agent = settings.pod_rescheduling or process_level(care.job)
        retried = settings.fault_scheduling != "off" and bool(settings.fault_retry_times)
        if fault.target == POD or not by_agent or not retried:
            self._pod_fails(care, task, fault, retried)
        else:
            self._process_fails(care, task, fault)

    def ended(self, care: Care, tasks: list[Task]) -> None:
        """The agent of these pods has ended, so they fail: they are replaced."""
        causes = [care.causes.get(task.name) or self._of_agent(care, task) for task in tasks]
        for cause in causes:
            cause.way = Way.EVICTED
            self._resets.forget(care, cause.task.name)
        if not causes:
            return
        self._eviction.begin(care, causes, self._graceful(care))
        self._processes.halt(care, care.scope, keeps=care.scope == PROCESS)
        care.listed = True

    def _is_new(self, care: Care, hit: Hit) -> bool:
        """Whether nothing is done about a hit yet; a node that fails undoes what is done in place."""
        task, trouble = hit
        cause = care.causes.get(task.name)
        if trouble.reason == NODE_UNHEALTHY and task.name in care.hot:
            self._resets.forget(care, task.name)
            care.listed = True
        if cause is not None:
            return cause.way is not Way.EVICTED and trouble.reason == NODE_UNHEALTHY
        return task.name not in care.hot

    def _graceful(self, care: Care) -> bool:
        return care.job.settings.fault_scheduling == "grace"

    def _block(self, care: Care, hard: Sequence[Hit]) -> None:
        """fault-scheduling off: the job keeps its nodes and stands still while the fault is there."""
        before, care.blocked = care.blocked, ""
        if hard:
            task, trouble = hard[0]
            care.blocked = f"{trouble.reason} on {task.node} ({trouble.faults[0].title()}), fault-scheduling is off"
            self._processes.halt(care, "fault")
        if care.blocked != before:
            self.ward.say("blocked" if care.blocked else "unblocked", care.job, care.blocked or before)

    def _in_place(self, care: Care, hit: Hit) -> bool:
        """Deal with a chip's fault where the pod stays: a hot reset, a restart of processes, or nothing until the chip
        is free; whether it was one."""
        task, trouble = hit
        if trouble.reason != CARD_UNHEALTHY:
            return False
        policy = gravest(trouble.faults)
        if care.options.hot_reset and not care.job.settings.process_recover:
            if policy in HANDLED:
                self._resets.begin(care, task, trouble.faults, policy)
                self._processes.halt(care, "hotReset", self._resets.keeps(care))
            return policy in (*HANDLED, FREE_RESET)
        levels = {fault.level for fault in trouble.faults}
        if not self._restarts_in_place(care) or levels - {RESTART_REQUEST, RESTART_BUSINESS}:
            return False
        new = {(task.name, fault.index): None for fault in trouble.faults}
        if any(key not in care.in_place for key in new):
            care.in_place |= new
            self._gather(care, self._cause(care, task, trouble, Way.IN_PLACE))
        return True

    def _restarts_in_place(self, care: Care) -> bool:
        # Hot reset and process recovery exclude each other: both together leave whole-job rescheduling
        # (solutions_principles.md, "Graceful Fault Tolerance", constraints).
        return process_level(care.job) and care.options.in_place and not care.options.hot_reset

    def _gather(self, care: Care, cause: Cause) -> None:
        care.causes[cause.task.name] = cause
        self._processes.halt(care, "in-place" if cause.way is Way.IN_PLACE else "process", process_level(care.job))
        self._processes.gather(care)

    def _hard(self, care: Care, hits: Sequence[Hit]) -> None:
        scope = self._eviction.policy_scope(care, POD_EVICTED, hits[0][0])
        if scope is None:
            return
        self._reschedule(care, [self._cause(care, task, trouble) for task, trouble in hits], self._graceful(care),
                         scope or self._both(care))

    def _both(self, care: Care) -> str:
        """Whole job where hot reset and process recovery are on at once."""
        return JOB if care.options.hot_reset and care.job.settings.process_recover else ""

    def _reschedule(self, care: Care, causes: Sequence[Cause], graceful: bool, scope: str) -> None:
        self._eviction.begin(care, causes, graceful, scope)
        self._processes.halt(care, care.scope, keeps=care.scope == PROCESS)
        if care.scope in (POD_SCOPE, PROCESS):
            self._processes.gather(care)

    def _sub_healthy(self, care: Care, hits: Sequence[Hit]) -> None:
        strategy = care.job.settings.sub_healthy
        if not hits:
            return
        why = protected(care.job, self.ward.state.settings)
        if why:
            care.gave_up = True
            self.ward.say("ignored", care.job, f"sub-health: plugin conformance protects the job ({why})")
            return
        if strategy == "hotSwitch":
            self._switches.begin(care, hits)
            return
        scope = self._eviction.policy_scope(care, POD_EVICTED, hits[0][0])
        if scope is None:
            return
        graceful = strategy == "graceExit"
        if graceful and not process_level(care.job):
            self._processes.halt(care, scope or "job")
            care.reset.exit_gracefully(self.ward.now_ms)
            self._processes.read(care)
        self._reschedule(care, [self._cause(care, task, trouble) for task, trouble in hits], graceful, scope)

    def _cause(self, care: Care, task: Task, trouble: Trouble, way: Way = Way.EVICTED) -> Cause:
        mask = 0
        for fault in trouble.faults:
            mask |= fault.mask if fault.chips else task.held
        return Cause(task, trouble.reason, task.node or "", way, trouble.faults,
                     faulty_processes(care.job, task, mask & task.held), task.rank)

    def _of_pod(self, care: Care, task: Task) -> Cause:
        return Cause(task, POD_FAILED_REASON, task.node or "", ranks=faulty_processes(care.job, task, task.held),
                     rank=task.rank)

    def _of_agent(self, care: Care, task: Task) -> Cause:
        """A pod whose agent has ended: a hot reset has failed, or another pod of the node has."""
        cause = self._of_pod(care, task)
        if task.name in care.hot_faults:
            cause.reason, cause.faults = CARD_UNHEALTHY, care.hot_faults[task.name]
        return cause

    def _process_fails(self, care: Care, task: Task, fault: Fault) -> None:
        """The pod stays until its agent has read what to do."""
        if not self._retry(care, task, fault):
            return
        in_place = self._restarts_in_place(care)
        ranks = tuple(pair for pair in faulty_processes(care.job, task, task.held) if pair[0] == fault.rank)
        self._gather(care, Cause(task, PROCESS_REASON, task.node or "", Way.IN_PLACE if in_place else Way.BY_AGENT,
                                 ranks=ranks, rank=task.rank))

    def _pod_fails(self, care: Care, task: Task, fault: Fault, retried: bool) -> None:
        job, cause = care.job, self._of_pod(care, task)
        self.ward.state.release(task, TaskState.FAILED)
        action = action_for(job, POD_FAILED, task, fault.exit_code)
        scope = self._eviction.policy_scope(care, POD_FAILED, task, fault.exit_code)
        if scope is None or (retried and not self._retry(care, task, fault)):
            return
        if retried:
            self._reschedule(care, [cause], self._graceful(care), scope or self._both(care))
        elif scope == JOB:
            self._reschedule(care, [cause], False, JOB)
        elif action in (RESTART_TASK, RESTART_POD):
            self._reschedule(care, [cause], False, POD_SCOPE)
        else:
            off = "off" if job.settings.fault_scheduling == "off" else "on without fault-retry-times"
            self._eviction.finish(care, JobPhase.FAILED, f"{_text(task, fault)}; nothing restarts it: fault-scheduling "
                                                         f"is {off}, no policy is for {POD_FAILED}")

    def _retry(self, care: Care, task: Task, fault: Fault) -> bool:
        """Use a retry; the job has failed if none is left."""
        if self.ward.retries.take(care.job):
            return True
        times = care.job.settings.fault_retry_times
        self._eviction.finish(care, JobPhase.FAILED, f"{_text(task, fault)}; no retry is left of fault-retry-times "
                                                     f"{times}")
        return False


def struck(job: Job, fault: Fault) -> Task | None:
    """The running pod that a pod or process fault hits, None if there is none."""
    tasks = [task for task in running(job) if task.chips] if job.npu_tasks else running(job)
    if fault.target == POD or not job.npu_tasks:
        return next((task for task in tasks if task.rank == fault.rank), None)
    ranks = processes_of(job)
    return next((task for task in tasks if fault.rank in ranks[task.name]), None)


def _text(task: Task, fault: Fault) -> str:
    return f"pod {task.name} failed with exit code {fault.exit_code}"
