"""What a complete goodput measurement has measured, by the keys of thresholds, and the verdict on a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..threshold import Threshold, Verdict

# Key of a threshold -> field of the status. Facts: NVIDIA/cluster-readiness-engine, pkg/controller,
# job_threshold_helpers.go: frozen values above 0 only.
FIELDS = {"goodputRatio": "result", "avgTFLOPsPerGPU": "avgTFLOPSPerGPU", "avgStepTimeSec": "avgStepTimeSec"}


def measured_values(status: Mapping[str, Any]) -> dict[str, float]:
    """Measured values of a status (plain data) by the key of a threshold; empty as long as it is provisional, and for a
    job that failed, which is not judged."""
    complete = _complete(status)
    if complete.get("status") != "True" or complete.get("reason") == "JobFailed":
        return {}
    found = {key: float(status.get(name) or 0) for key, name in FIELDS.items()}
    return {key: value for key, value in found.items() if value > 0}


def judge(threshold: Threshold, status: Mapping[str, Any]) -> Verdict:
    """The verdict on a status (plain data), in the words of `Threshold.judge`; what is not measured fails."""
    key, expression = threshold.key, threshold.expression
    value, complete = measured_values(status).get(key), _complete(status)
    if value is None:
        why = ("a goodput measurement does not measure it" if key not in FIELDS
               else f"{complete['reason']}: {complete['message']}" if complete else "the measurement is not complete")
        return Verdict(key, expression, None, False, f'Threshold "{key}" not evaluated, so it fails: {why}')
    passed = threshold.holds(value)
    violated = f'Threshold "{key}" violated: measured {value:.4f}, expression: {expression}'
    return Verdict(key, expression, value, passed, "" if passed else violated)


def _complete(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((one for one in status.get("conditions", ()) if one.get("type") == "Complete"), {})
