"""The ConfigMap mindx-dl/job-reschedule-reason: why jobs have been rescheduled, newest first.

Source: seed 001, Tables 4 to 6; updateRescheduleReason in reschedule.go and writeRescheduleReasonsToCMString in
cache.go of component/ascend-for-volcano/internal/rescheduling.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from distsim.scheduler.faults.clock import log_time, rfc3339

KEY = "recent-reschedule-records"
MOST_RECORDS = 10              # a job
MOST_TASKS = 10                # a record
MOST_BYTES = 950 * 1024        # of the JSON; 972,800


@dataclass(frozen=True)
class TaskReason:
    """A task that made a reschedule necessary. rank : of its pod."""

    reason: str
    pod: str
    node: str
    rank: int

    def document(self) -> dict[str, str]:
        """As the ConfigMap has it."""
        return {"RescheduleReason": self.reason, "PodName": self.pod, "NodeName": self.node,
                "NodeRankIndex": str(self.rank) if self.rank >= 0 else ""}


@dataclass
class _History:
    total: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)


class Reasons:
    """The records. start_s : the cluster's start, seconds since 1970."""

    def __init__(self, start_s: int = 0):
        self.start_s = start_s
        self._jobs: dict[str, _History] = {}

    def add(self, job: str, tasks: Sequence[TaskReason], now_ms: int) -> None:
        """Record a reschedule of a job (its uid) that these tasks have caused."""
        history = self._jobs.setdefault(job, _History())
        record = {"LogFileFormatTime": log_time(now_ms, self.start_s),
                  "RescheduleTimeStamp": rfc3339(now_ms, self.start_s),
                  "ReasonOfTask": [task.document() for task in tasks[:MOST_TASKS]]}
        history.total += 1
        history.records = [record, *history.records][:MOST_RECORDS]

    def document(self) -> dict[str, Any]:
        """{"recent-reschedule-records": {job: ...}}, trimmed; what has been trimmed is gone.

        While the JSON is larger than MOST_BYTES the oldest record of every job with more than one goes, at most ten
        times; the newest of a job always stays.
        """
        for _ in range(MOST_RECORDS):
            if _size(self._plain()) <= MOST_BYTES:
                break
            for history in self._jobs.values():
                if len(history.records) > 1:
                    history.records.pop()
        return {KEY: self._plain()}

    def _plain(self) -> dict[str, Any]:
        return {uid: {"JobID": uid, "TotalRescheduleTimes": history.total, "RescheduleRecords": list(history.records)}
                for uid, history in sorted(self._jobs.items())}


def _size(data: dict[str, Any]) -> int:
    """Bytes of the JSON that the ConfigMap would hold."""
    return len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())
