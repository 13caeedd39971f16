"""What a goodput measurement says, with the field names of the documented status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..live import spell_ps
from ..status import RUNNING_MESSAGE, Condition, Conditions, Reason
from .profile import STEP
from .progress import Progress
from .times import SECOND_PS

SUCCEEDED_MESSAGE = "Referenced Job completed successfully"
FAILED_MESSAGE = "Referenced Job failed"
NO_DATA_MESSAGE = "Job succeeded but no goodput was computed; check spec.logProfileRef"
COMPLETED_MESSAGE = "Measurement completed"


@dataclass
class GoodputStatus(Conditions):
    """values : the fields below, as `to_dict` gives them; provisional until `complete`.

    start_ps, completion_ps : when the job began to run and reached its end; None if that is not known.
    hints : ours, for the reader only.
    """

    values: dict[str, Any] = field(default_factory=dict)
    start_ps: int | None = None
    completion_ps: int | None = None
    hints: list[str] = field(default_factory=list)

    def run(self, at_ps: int) -> None:
        """Measuring, since the job began to run."""
        self.start_ps = at_ps
        self.measuring = Condition("Measuring", True, Reason.JOB_RUNNING, RUNNING_MESSAGE, spell_ps(at_ps))

    def finish(self, reason: Reason, message: str, at_ps: int | None) -> None:
        """Complete, since the job ended."""
        self.completion_ps = at_ps
        self.end(reason, message, spell_ps(at_ps) if at_ps is not None else None, COMPLETED_MESSAGE)

    def to_dict(self) -> dict[str, Any]:
        """The documented form; `hints` are ours and stand there only when there is something to say."""
        times = {"startTime": self.start_ps, "completionTime": self.completion_ps}
        shown = {**self.values, **{name: spell_ps(time) for name, time in times.items() if time is not None}}
        shown["conditions"] = self.conditions()
        return {**shown, **({"hints": list(self.hints)} if self.hints else {})}


def values_of(progress: Progress, start_ps: int | None, now_ps: int | None) -> dict[str, Any]:
    """The fields that lines come to, up to an instant; t_w is counted from `start_ps`.

    Numbers with a fraction are texts with six decimals; fields of which nothing is known are left out, and without a
    step there is no `result`."""
    found: dict[str, Any] = {}
    training_s = (now_ps - start_ps) / SECOND_PS if start_ps is not None and now_ps is not None else 0.0
    if progress.steps:
        found |= {"result": _number(progress.goodput(training_s)), "currentStep": progress.current,
                  "highestStep": progress.highest}
    found |= {"trainingTimeSec": _number(training_s), "lostWorkTimeSec": _number(progress.lost_s),
              "rescheduleTimeSec": _number(progress.reschedule_s), "resumeTimeSec": _number(progress.resume_s),
              "checkpointSaveTimeSec": _number(progress.save_s)}
    counts = {"interruptionCount": progress.interruptions, "lastCheckpointStep": progress.checkpoint_step,
              "logInterval": progress.profile.log_interval}
    found |= {name: count for name, count in counts.items() if count}
    if progress.base is not None:
        found["warmupBaseStep"] = progress.base
    amounts = {"avgStepTimeSec": progress.step_s, "avgTFLOPSPerGPU": progress.tflops.value,
               "warmupTimeSec": progress.warmup_s, "nonWarmupTimeSec": progress.steady_s}
    found |= {name: _number(amount) for name, amount in amounts.items() if amount > 0}
    times = {"lastCheckpointTime": progress.checkpoint_ps, "lastStepTimestamp": progress.step_ps,
             "applicationStartTime": progress.start_ps,
             "applicationStopTime": now_ps if progress.last_ps is not None else None}
    found |= {name: spell_ps(time) for name, time in times.items() if time is not None}
    return found | _pending(progress)


def hints_of(progress: Progress) -> list[str]:
    """What a reader should know about values that are missing."""
    profile = progress.profile
    if not progress.steps and progress.passed_over:
        return [f"{progress.passed_over} steps were read, none of them a multiple of the log profile's logInterval "
                f"{profile.log_interval}; log more steps, or use a profile with a smaller logInterval"]
    if progress.steps and not progress.step_s:
        return [f"all steps that were read are warm-up (warmupSteps {profile.warmup_steps} of the log profile), so "
                "there is no avgStepTimeSec"]
    if not progress.steps and STEP not in profile.events:
        return [f"log profile {profile.name} has no expression for training steps"]
    return []


def _pending(progress: Progress) -> dict[str, Any]:
    pending = progress.pending
    if pending is None:
        return {}
    found: dict[str, Any] = {"tInterrupt": spell_ps(pending.at_ps), "tCh": _number(pending.lost_s),
                             "reason": pending.reason}
    if pending.checkpoint_ps is not None:
        found |= {"tCheckpoint": spell_ps(pending.checkpoint_ps), "checkpointStep": pending.checkpoint_step}
    return {"pendingInterruption": {**found, **({"lastStep": pending.last_step} if pending.last_step else {})}}


def _number(value: float) -> str:
    """Six decimals, as the original stores numbers (pkg/numstr)."""
    return f"{value:.6f}"
