"""reset.json of the ConfigMap reset-config-<job-name>: what the management processes in a job's containers read.

Source: seed 001, Table 3; setNewTaskInfo of component/clusterd (podReschedule), GetTaskResetInfo in
component/ascend-device-plugin/pkg/device/ascendtolerance.go (hotReset). UpdateTime and RetryTime are upstream's. What
the fields make the processes do stands in agent.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from distsim.scheduler.faults.clock import unix_s
from distsim.scheduler.faults.fault import DISCONNECTED, HEARTBEAT
from distsim.scheduler.types import Job

UNRECOVERED, RECOVERED, FAILED = "unrecovered", "recovered", "failed"
POD_RESCHEDULE, HOT_RESET = "podReschedule", "hotReset"


@dataclass
class RankFault:
    """An entry of RankList: a process whose chip, or who itself, has failed.

    rank : RankId. logic : number of the chip on its node. codes : fault codes as in the fault script.
    """

    rank: int
    logic: int
    policy: str
    initial: str
    codes: tuple[str, ...] = ()
    status: str = UNRECOVERED

    def document(self) -> dict[str, Any]:
        """As RankList has it. The codes Disconnected and heartbeatTimeOut have no number."""
        numbers = [code for code in self.codes if code not in (DISCONNECTED, HEARTBEAT)]
        return {"RankId": self.rank, "LogicId": self.logic, "Status": self.status, "Policy": self.policy,
                "InitialPolicy": self.initial, "ErrorCode": [int(code, 16) for code in numbers],
                "ErrorCodeHex": ",".join(code.upper().removeprefix("0X") for code in numbers)}


@dataclass
class ResetConfig:
    """reset.json of a job, and how it changes.

    graceful_exit : 1 ends all training processes. flushing : faults are still being gathered, no process starts.
    restart_fault : only the faulty processes of a node in RankList start again. restart_type : why it was written.
    version : counts the writings, by which a reader knows a new one. start_s : the cluster's start, seconds since 1970.
    """

    start_s: int = 0
    entries: list[RankFault] = field(default_factory=list)
    graceful_exit: int = 0
    flushing: bool = False
    restart_fault: bool = False
    restart_type: str = POD_RESCHEDULE
    update_s: int = 0
    retry: int = 0
    version: int = 0

    def flush(self, now_ms: int) -> None:
        """A fault has been seen, more may follow (notifyFaultFlushing)."""
        self._write(now_ms, entries=[], flushing=True, restart_fault=False, restart_type=POD_RESCHEDULE)

    def report(self, entries: Iterable[RankFault], now_ms: int, restart_fault: bool = False) -> None:
        """The ranks that have failed (fault)."""
        self._write(now_ms, entries=list(entries), flushing=False, restart_fault=restart_fault,
                    restart_type=POD_RESCHEDULE)

    def hot_reset(self, entries: Iterable[RankFault], now_ms: int) -> None:
        """What the device plugin does to chips in place."""
        self._write(now_ms, entries=list(entries), flushing=False, restart_fault=False, restart_type=HOT_RESET)

    def recover(self, ranks: Iterable[int], now_ms: int) -> None:
        """These processes are well again, before the list is cleared."""
        names = set(ranks)
        for entry in self.entries:
            if entry.rank in names:
                entry.status = RECOVERED
        self._write(now_ms)

    def clear(self, now_ms: int, restart_all: bool = False) -> None:
        """Nothing is wrong any more (clear). restart_all : all processes start again (restartAllProcess)."""
        self._write(now_ms, entries=[], flushing=False, restart_fault=False, graceful_exit=0,
                    retry=self.retry + int(restart_all))

    def exit_gracefully(self, now_ms: int) -> None:
        """All training processes are to save a checkpoint and end."""
        self._write(now_ms, graceful_exit=1)

    def document(self) -> dict[str, Any]:
        """Both keys of the ConfigMap's data."""
        fields = {"RankList": [entry.document() for entry in self.entries], "UpdateTime": self.update_s,
                  "RetryTime": self.retry, "FaultFlushing": self.flushing, "GracefulExit": self.graceful_exit,
                  "RestartFaultProcess": self.restart_fault}
        return {"reset.json": fields, "restartType": self.restart_type}

    def _write(self, now_ms: int, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self, name, value)
        self.update_s = unix_s(now_ms, self.start_s)
        self.version += 1


def config_name(job: Job) -> str:
    """Name of the ConfigMap of a job."""
    return f"reset-config-{job.name}"
