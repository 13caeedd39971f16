"""What a measurement says, with the field names of the documented status."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why a measurement is complete, or why it is or is not measuring."""

    JOB_RUNNING = "JobRunning"
    LOG_PROFILE_NOT_FOUND = "LogProfileNotFound"
    FINAL_READ_PENDING = "FinalReadPending"
    JOB_SUCCEEDED = "JobSucceeded"
    NO_DATA = "NoDataCollected"
    LOGS_UNAVAILABLE = "LogsUnavailable"
    JOB_FAILED = "JobFailed"


RUNNING_MESSAGE = "Referenced Job is running, measurement in progress"
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


@dataclass(frozen=True)
class Condition:
    """One condition: its kind (Measuring or Complete), whether it holds, why, and since when (RFC 3339, or None)."""

    kind: str
    holds: bool
    reason: Reason
    message: str
    since: str | None = None

    def to_dict(self) -> dict[str, str]:
        """The documented form."""
        at = {"lastTransitionTime": self.since} if self.since is not None else {}
        return {"type": self.kind, "status": str(self.holds), **at, "reason": self.reason.value,
                "message": self.message}


@dataclass(kw_only=True)
class Conditions:
    """The two conditions of a measurement, None as long as they are not set."""

    measuring: Condition | None = None
    complete: Condition | None = None

    @property
    def reason(self) -> Reason | None:
        """Of the condition Complete, or of Measuring as long as it is not complete; None before the job started."""
        said = self.complete or self.measuring
        return said.reason if said is not None else None

    @property
    def message(self) -> str:
        """What goes with `reason`."""
        said = self.complete or self.measuring
        return said.message if said is not None else "the job has not started"

    def end(self, reason: Reason, message: str, at: str | None, measuring: str | None = None) -> None:
        """Set Measuring to false and Complete to true. Measuring keeps its time if it was false already.

        at : RFC 3339, None if it is not known. measuring : what Measuring says, `message` if not given.
        """
        since = self.measuring.since if self.measuring is not None and not self.measuring.holds else at
        self.measuring = Condition("Measuring", False, reason, message if measuring is None else measuring, since)
        self.complete = Condition("Complete", True, reason, message, at)

    def conditions(self) -> list[dict[str, str]]:
        """Those that are set, in the documented form."""
        return [condition.to_dict() for condition in (self.measuring, self.complete) if condition]


@dataclass
class Status(Conditions):
    """What a measurement says.

    results, transport : what was read; provisional unless `complete` with reason JobSucceeded or NoDataCollected.
    start, completion : when the job began to run and reached its end, RFC 3339; None if that is not known.
    wrong_rows, hints : ours, for the reader only.
    """

    results: list[Result] = field(default_factory=list)
    transport: list[str] = field(default_factory=list)
    start: str | None = None
    completion: str | None = None
    wrong_rows: int = 0
    hints: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The documented form; `wrongRows` and `hints` are ours and stand there only when there is something to say."""
        shown: dict[str, Any] = {"results": [result.to_dict() for result in self.results],
                                 "transport": list(self.transport)}
        if self.start is not None:
            shown["startTime"] = self.start
        if self.completion is not None:
            shown["completionTime"] = self.completion
        shown["conditions"] = self.conditions()
        if self.wrong_rows:
            shown["wrongRows"] = self.wrong_rows
        if self.hints:
            shown["hints"] = list(self.hints)
        return shown


def spell_time(time: datetime) -> str:
    """RFC 3339 in UTC to the second, as Kubernetes writes times."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
