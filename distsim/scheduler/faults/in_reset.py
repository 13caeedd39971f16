"""Hot resets in progress: their steps, reset.json of type hotReset, and the faults that a reset ends."""

from __future__ import annotations

from distsim.scheduler.faults.care import Care, Ward, faulty_processes
from distsim.scheduler.faults.fault import CARD_UNHEALTHY, Fault
from distsim.scheduler.faults.hot_reset import HotReset
from distsim.scheduler.faults.levels import REQUEST
from distsim.scheduler.faults.reset_json import RECOVERED, RankFault
from distsim.scheduler.types import Task


class InReset:
    """Handles the hot resets of jobs. All chips of the pod are reset together, as those of a ring are."""

    def __init__(self, ward: Ward):
        self.ward = ward

    def begin(self, care: Care, task: Task, faults: tuple[Fault, ...], policy: str) -> None:
        """Begin with a task's chips."""
        care.hot[task.name] = HotReset(policy, self.ward.times, self.ward.now_ms)
        care.hot_faults[task.name] = faults
        self.ward.say("hot-reset", care.job, f"policy {policy}", task)
        self._write(care)

    def keeps(self, care: Care) -> bool:
        """Whether all that is done so far re-executes the request only."""
        return all(hot.policy == REQUEST for hot in care.hot.values())

    def forget(self, care: Care, name: str) -> None:
        """A pod is replaced after all."""
        care.hot.pop(name, None)
        care.hot_faults.pop(name, None)

    def advance(self, care: Care) -> bool:
        """Go on with all of a job; whether something has changed. One that has failed stays until its agent ends."""
        changed = False
        for name, hot in list(care.hot.items()):
            faults = care.hot_faults[name]
            faulty = any(fault.index in self.ward.health.active for fault in faults)
            if not hot.advance(self.ward.now_ms, faulty, all(fault.cured for fault in faults)):
                continue
            changed = True
            self.ward.say("hot-reset", care.job, f"policy {hot.policy}, {hot.status}", care.task(name))
            if care.stop is not None and hot.policy != REQUEST:
                care.stop.keeps = False
            if hot.status == RECOVERED:
                self._cure(hot, faults)
            self._write(care)
            if hot.status == RECOVERED:
                self.forget(care, name)
                care.listed = care.listed or not care.hot
        return changed

    def due_ms(self, care: Care) -> list[int]:
        """Times at which `advance` has something to do."""
        return [hot.due_ms for hot in care.hot.values() if hot.due_ms is not None]

    def _cure(self, hot: HotReset, faults: tuple[Fault, ...]) -> None:
        if not hot.cleans:
            return
        for fault in faults:
            if fault.fault_type == CARD_UNHEALTHY:
                self.ward.health.end(fault, self.ward.now_ms)

    def _write(self, care: Care) -> None:
        entries = []
        for name, hot in care.hot.items():
            task = care.task(name)
            codes = tuple(dict.fromkeys(code for fault in care.hot_faults[name] for code in fault.codes))
            entries += [RankFault(rank, chip, hot.policy, hot.initial, codes, hot.status)
                        for rank, chip in faulty_processes(care.job, task, task.held)]
        care.reset.hot_reset(sorted(entries, key=lambda entry: entry.rank), self.ward.now_ms)
