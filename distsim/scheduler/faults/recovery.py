"""The recovery from faults: what faults make of nodes and jobs, as the clock goes on (README.md)."""

from __future__ import annotations

from typing import Any

from distsim.scheduler.faults.care import Care, Stop, Ward
from distsim.scheduler.faults.documents import configmaps, fault_devices
from distsim.scheduler.faults.eviction import Eviction
from distsim.scheduler.faults.fault import JOB_TARGETS, Fault
from distsim.scheduler.faults.health import Health
from distsim.scheduler.faults.hot_reset import Times
from distsim.scheduler.faults.hot_switch import HotSwitch
from distsim.scheduler.faults.in_reset import InReset
from distsim.scheduler.faults.options import options_of
from distsim.scheduler.faults.processes import Processes
from distsim.scheduler.faults.reasons import Reasons
from distsim.scheduler.faults.reset_json import ResetConfig
from distsim.scheduler.faults.retry import Retries
from distsim.scheduler.faults.triage import Hit, Triage
from distsim.scheduler.session.gang import min_available, ready
from distsim.scheduler.state import State
from distsim.scheduler.types import Happening, Job, JobPhase, Task

_MOST_STEPS = 50        # of a job in one tick; each is a change, and they end


class Recovery:
    """Acts on faults. Call `begin` and `end` when a fault begins and ends, `tick` before and after every session and
    whenever `next_ms` says so. It changes nodes, tasks and jobs of the state; the session places what it takes off.

    times : of the steps that take time. start_s : the cluster's start, seconds since 1970.
    """

    def __init__(self, state: State, times: Times | None = None, start_s: int = 0):
        self.ward = Ward(state, Health(state), Retries(), Reasons(start_s), times or Times(), start_s)
        self._cares: dict[str, Care] = {}
        self._queue: list[Fault] = []
        self._eviction = Eviction(self.ward)
        self._processes = Processes(self.ward, self._agent_ended)
        self._resets = InReset(self.ward)
        self._switches = HotSwitch(self.ward, self._processes)
        self._triage = Triage(self.ward, self._eviction, self._processes, self._resets, self._switches)

    def begin(self, fault: Fault, now_ms: int) -> None:
        """A fault begins: nodes and chips are barred at once, jobs are dealt with by the next `tick`."""
        self._at(now_ms)
        if fault.target in JOB_TARGETS:
            self._queue.append(fault)
            return
        self.ward.health.begin(fault, now_ms)
        for name in fault.nodes or ("",):
            self.ward.say("fault", None, fault.title(), node=name)

    def end(self, fault: Fault, now_ms: int) -> None:
        """A fault ends: what it took is given back. Nothing if a hot reset has ended it before."""
        self._at(now_ms)
        if self.ward.health.end(fault, now_ms):
            for name in fault.nodes or ("",):
                self.ward.say("recovered", None, fault.title(), node=name)

    def tick(self, now_ms: int) -> list[Happening]:
        """Do all that is due. What has happened since the last call, in order."""
        self._at(now_ms)
        self.ward.health.refresh(now_ms)
        queue, self._queue = self._queue, []
        for fault in queue:
            self._fails(fault)
        self._hits()
        for care in list(self._cares.values()):
            self._advance(care)
        found, self.ward.happenings = self.ward.happenings, []
        return found

    def next_ms(self) -> int | None:
        """When something is due by itself, None: never. Begin and end of faults and sessions are not counted."""
        if self._queue:
            return self.ward.now_ms
        due = [self.ward.health.next_ms(self.ward.now_ms)]
        for care in self._cares.values():
            if not care.over:
                due += [care.flush_ms, *self._eviction.due_ms(care), *self._resets.due_ms(care),
                        *self._switches.due_ms(care)]
        return min((time for time in due if time is not None and time > self.ward.now_ms), default=None)

    def trains(self, job: Job) -> bool:
        """Whether the processes of a job run: enough pods have nodes, and no fault has them stopped."""
        care = self._cares.get(job.uid)
        return (job.phase is JobPhase.RUNNING and ready(job) >= min_available(job)
                and (care is None or care.stop is None))

    def stops(self, job: Job) -> list[Stop]:
        """The times in which a job did not train because of faults, in order; the last may still be in progress."""
        care = self._cares.get(job.uid)
        return list(care.stops) if care is not None else []

    def stuck(self, job: Job) -> str:
        """Why a job stands still and nothing will be done about it before a fault ends, "" if that is not so."""
        care = self._cares.get(job.uid)
        return care.blocked if care is not None else ""

    def reset_json(self, job: Job) -> dict[str, Any]:
        """The data of the ConfigMap reset-config-<job-name>: {"reset.json": {RankList, ...}, "restartType": ...}."""
        care = self._cares.get(job.uid)
        return (care.reset if care is not None else ResetConfig(self.ward.start_s)).document()

    def reschedule_reasons(self) -> dict[str, Any]:
        """The data of the ConfigMap mindx-dl/job-reschedule-reason, trimmed to its size (reasons.py)."""
        return self.ward.reasons.document()

    def remain_retry_times(self) -> dict[str, dict[str, object]]:
        """remain-retry-times of the ConfigMap volcano-system/vcjob-fault-npu-cm: job uid -> UUID, Times."""
        return self.ward.retries.document()

    def fault_device_list(self, node: str) -> dict[str, Any]:
        """What is known of the faults of a node, as that ConfigMap has it: FaultDeviceList, UnhealthyNPU, ..."""
        return fault_devices(self.ward, node)

    def configmaps(self) -> list[dict[str, Any]]:
        """All ConfigMaps as manifests: the two above and one reset-config a job that faults have touched."""
        return configmaps(self.ward, self._cares.values())

    def _at(self, now_ms: int) -> None:
        assert now_ms >= self.ward.now_ms, f"the clock is at {self.ward.now_ms} ms and does not go back to {now_ms} ms"
        self.ward.now_ms = self.ward.state.now_ms = now_ms

    def _care(self, job: Job) -> Care:
        if job.uid not in self._cares:
            care = self._cares[job.uid] = Care(job, options_of(job), ResetConfig(self.ward.start_s))
            self._processes.enter(care)
        return self._cares[job.uid]

    def _fails(self, fault: Fault) -> None:
        job = next((job for job in self.ward.state.jobs.values() if fault.job in (job.uid, job.name)), None)
        if job is None or (job.uid in self._cares and self._cares[job.uid].over):
            self.ward.say("fault", job, f"{fault.title()}: no such job runs, nothing happens")
            return
        self._triage.failed(self._care(job), fault)

    def _hits(self) -> None:
        """Deal with the faults under running tasks, job by job."""
        found: dict[str, list[Hit]] = {uid: [] for uid, care in self._cares.items() if care.blocked}
        for task in self.ward.health.tasks():
            trouble = self.ward.health.trouble(task, self.ward.now_ms)
            job = self.ward.state.jobs.get(task.job)
            if trouble is not None and job is not None and any(task is one for one in job.tasks):
                found.setdefault(job.uid, []).append((task, trouble))
        for uid, hits in found.items():
            care = self._care(self.ward.state.jobs[uid])
            if not care.over:
                self._triage.hit(care, hits)

    def _advance(self, care: Care) -> None:
        for _ in range(_MOST_STEPS):
            changed = self._switches.advance(care)
            if care.over:
                self._let_go(care)
                return
            if not any((changed, self._resets.advance(care), self._eviction.advance(care),
                        self._processes.advance(care))):
                return
        raise AssertionError(f"{care.job.uid}: recovery does not come to rest")

    def _let_go(self, care: Care) -> None:
        """A job that has ended needs nothing more."""
        if care.stop is not None:
            care.stop.ended_ms = self.ward.now_ms
        self._eviction.close(care)
        care.hot.clear()
        care.blocked, care.flush_ms = "", None

    def _agent_ended(self, care: Care, tasks: list[Task]) -> None:
        self._triage.ended(care, tasks)
