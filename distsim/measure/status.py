"""What a measurement says, with the field names of the documented status."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why a measurement is complete, or why it is not measuring."""

    JOB_SUCCEEDED = "JobSucceeded"
    NO_DATA = "NoDataCollected"
    LOGS_UNAVAILABLE = "LogsUnavailable"
    JOB_FAILED = "JobFailed"
    FINAL_READ_PENDING = "FinalReadPending"


PENDING_MESSAGE = "Job succeeded; waiting to read its complete log"
NO_DATA_MESSAGE = "Job succeeded but no bandwidth data was parsed; check spec.logProfileRef"


@dataclass(frozen=True, slots=True)
class Result:
    """Averages of one message size: size_bytes, algbw and busbw in GB/s with two decimals, samples = rows averaged."""

    size_bytes: int
    algbw: str
    busbw: str
    samples: int

    def to_dict(self) -> dict[str, Any]:
        """The documented form."""
        return {"sizeBytes": self.size_bytes, "algBW": self.algbw, "busBW": self.busbw, "samples": self.samples}


@dataclass
class Status:
    """A complete measurement.

    results, transport : what was read.
    start, completion : times of the log's first and last time stamp; None if it has none.
    reason, message : of the condition Complete.
    wrong_rows, hints : ours, for the reader only.
    """

    reason: Reason
    message: str
    results: list[Result] = field(default_factory=list)
    transport: list[str] = field(default_factory=list)
    start: datetime | None = None
    completion: datetime | None = None
    wrong_rows: int = 0
    hints: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The documented form; `wrongRows` and `hints` are ours and stand there only when there is something to say."""
        shown: dict[str, Any] = {"results": [result.to_dict() for result in self.results],
                                 "transport": list(self.transport)}
        if self.start is not None:
            shown["startTime"] = spell_time(self.start)
        if self.completion is not None:
            shown["completionTime"] = spell_time(self.completion)
        shown["conditions"] = [self._condition("Measuring", "False"), self._condition("Complete", "True")]
        if self.wrong_rows:
            shown["wrongRows"] = self.wrong_rows
        if self.hints:
            shown["hints"] = list(self.hints)
        return shown

    def _condition(self, kind: str, status: str) -> dict[str, str]:
        at = {"lastTransitionTime": spell_time(self.completion)} if self.completion is not None else {}
        return {"type": kind, "status": status, **at, "reason": self.reason.value, "message": self.message}


def spell_time(time: datetime) -> str:
    """RFC 3339 in UTC to the second, as Kubernetes writes times."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
