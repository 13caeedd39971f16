"""What a job's measurements come to: thresholds, conditions of Job, Workflow and WorkloadRun, failed nodes.

Source of conditions, reasons and texts: NVIDIA/cluster-readiness-engine (Job, Workflow and WorkloadRun controllers) and
its ADR-021 for a value that is missing. Times are RFC 3339, simulated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distsim.errors import InputError
from distsim.measure.threshold import ALG, BUS, Threshold
from distsim.measure.units import parse_duration_s

PASSED, FAILED = "PASSED", "FAILED"
VIOLATED, VIOLATION, NOT_FOUND, MET = "ThresholdViolated", "ThresholdViolation", "MeasurementNotFound", "ThresholdsMet"
TIMED_OUT, TIMED_OUT_MESSAGE = "JobTimedOut", "Job exceeded timeoutPerJob"
DEFAULT_TIMEOUT = "5m"                                # of a measurement
WORKLOAD_FAILED = "WorkloadFailed"
JOB_VALIDATION, RUN_VALIDATION = "JobValidationFailed", "WorkflowValidationFailed"
VALIDATION_MESSAGE = "One or more Jobs failed performance threshold validation"


@dataclass(frozen=True)
class Judgement:
    """Whether the thresholds of a job hold. evaluations : one entry for each key, sorted."""

    failed: bool
    reason: str
    message: str
    evaluations: list[dict[str, Any]] = field(default_factory=list)


def measured_values(bandwidth: Mapping[str, Any] | None, goodput: Mapping[str, Any] | None) -> dict[str, float]:
    """Measured values by threshold key, of the status (plain data) of a job's measurements; final ones only."""
    found: dict[str, float] = {}
    if bandwidth and bandwidth.get("results") and complete_reason(bandwidth) == "JobSucceeded":
        found[BUS] = max(float(row["busBW"]) for row in bandwidth["results"])
        found[ALG] = max(float(row["algBW"]) for row in bandwidth["results"])
    if goodput:
        from distsim.measure.goodput.values import measured_values as of_goodput

        found |= of_goodput(goodput)
    return found


def complete_reason(status: Mapping[str, Any]) -> str:
    """Reason of the condition Complete, empty as long as it is not set."""
    return next((str(one["reason"]) for one in status.get("conditions") or () if one["type"] == "Complete"), "")


def asked_of(job: Mapping[str, Any]) -> tuple[list[Threshold], str]:
    """The thresholds of a Job's spec by key in order, and its measurementTimeout; an override may have set either.

    InputError for an unknown key, an expression that is none, or a timeout that is no duration.
    """
    found = []
    for key, expression in sorted((job.get("thresholds") or {}).items()):
        try:
            found.append(Threshold(f"{key}={expression}"))
        except InputError as error:
            raise InputError(error.message, where=f"spec.jobTemplate.spec.thresholds.{key}") from None
    timeout = job.get("measurementTimeout") or DEFAULT_TIMEOUT
    try:
        return found, spelled(parse_duration_s(str(timeout)))
    except ValueError as error:
        raise InputError(str(error), where="spec.jobTemplate.spec.measurementTimeout") from None


def spelled(seconds: float) -> str:
    """A duration of at least a second as Go prints it: 300 is 5m0s."""
    minutes, left = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{left:.9f}".rstrip("0").rstrip(".") + "s"
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}" if minutes else text


def judge(thresholds: Sequence[Threshold], timeout: str, values: Mapping[str, float]) -> Judgement | None:
    """The verdict on a job that succeeded; None without thresholds. thresholds, timeout : see `asked_of`.

    Keys are taken in order; what is missing after the measurement's timeout fails before anything is compared, and of
    several violations the first is told.
    """
    if not thresholds:
        return None
    evaluations: list[dict[str, Any]] = []
    violations = []
    for rule in thresholds:
        key = rule.key
        entry: dict[str, Any] = {"key": key, "expression": rule.expression, "measured": values.get(key)}
        entry["passed"] = False
        if key in values:
            entry["passed"] = rule.holds(values[key])
            if not entry["passed"]:
                violations.append(f'Threshold "{key}" violated: measured {values[key]:.4f}, expression: '
                                  f"{rule.expression}")
        evaluations.append(entry)
    missing = [rule.key for rule in thresholds if rule.key not in values]
    if missing:
        return Judgement(True, NOT_FOUND, f"Measurement data not available within {timeout} for keys: "
                                          f"[{' '.join(missing)}]", evaluations)
    if violations:
        return Judgement(True, VIOLATED, violations[0], evaluations)
    return Judgement(False, MET, "All performance thresholds satisfied", evaluations)


def job_status(nodes: Sequence[str], *, succeeded: bool, reason: str, message: str, start: str, end: str,
               judgement: Judgement | None) -> dict[str, Any]:
    """The status of a Job: exclusive conditions, ValidationFailed beside them, and the nodes that failed."""
    kind = "Succeeded" if succeeded else "Failed"
    conditions = exclusive(kind, reason, message, end)
    why, text = (WORKLOAD_FAILED, message) if not succeeded else ("", "")
    if judgement is not None:
        conditions.append(condition("ValidationFailed", judgement.failed, judgement.reason, judgement.message, end))
        if judgement.failed:
            why, text = VIOLATION, judgement.message
    found: dict[str, Any] = {"conditions": conditions, "workloadStartTime": start, "completionTime": end}
    if why:
        found["failedNodes"] = [{"name": node, "reason": why, "message": text} for node in nodes]
    return found


def workflow_conditions(failed: int, iterations: int, validation: bool, at: str,
                        diagnosis: tuple[bool, str] | None = None) -> list[dict[str, Any]]:
    """Conditions of the Workflow. failed : groups that failed in all iterations; validation : whether thresholds were
    among the reasons; diagnosis : (whether it found faults, what it said) of a diagnosing Workflow."""
    if diagnosis is not None:
        kind, reason = ("Failed", "IterationsFailed") if diagnosis[0] else ("Succeeded", "JobCompleted")
        return exclusive(kind, reason, diagnosis[1], at)
    if not failed:
        return exclusive("Succeeded", "JobCompleted", f"All {iterations} iterations completed successfully", at)
    found = exclusive("Failed", JOB_VALIDATION if validation else "IterationsFailed",
                      f"{failed} groups failed across {iterations} iterations", at)
    return found + ([condition("ValidationFailed", True, JOB_VALIDATION, VALIDATION_MESSAGE, at)] if validation else [])


def run_conditions(workflow: Iterable[Mapping[str, Any]], at: str) -> list[dict[str, Any]]:
    """Conditions of the WorkloadRun: what its Workflow says, with reasons of its own."""
    holds = {one["type"]: one for one in workflow if one["status"] == "True"}
    if "Succeeded" in holds:
        return exclusive("Succeeded", "WorkflowSucceeded", "Workflow completed successfully", at)
    failed = holds["Failed"]
    reason = RUN_VALIDATION if failed["reason"] == JOB_VALIDATION else "WorkflowFailed"
    found = exclusive("Failed", reason, failed["message"], at)
    if "ValidationFailed" in holds:
        found.append(condition("ValidationFailed", True, VIOLATION, holds["ValidationFailed"]["message"], at))
    return found


def exclusive(kind: str, reason: str, message: str, at: str) -> list[dict[str, Any]]:
    """InProgress, Succeeded and Failed, of which one holds."""
    return [condition(one, one == kind, reason if one == kind else "Superseded", message if one == kind else "", at)
            for one in ("InProgress", "Succeeded", "Failed")]


def condition(kind: str, holds: bool, reason: str, message: str, at: str) -> dict[str, Any]:
    """One condition as plain data."""
    return {"type": kind, "status": str(holds), "lastTransitionTime": at, "reason": reason, "message": message}
