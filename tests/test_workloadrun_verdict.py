"""Thresholds, conditions, and what they make of a run."""

from __future__ import annotations

import pytest

from distsim.workloadrun.report import exit_code
from distsim.workloadrun.verdict import (
    asked_of,
    condition,
    job_status,
    measured_values,
    run_conditions,
    workflow_conditions,
)
from distsim.workloadrun.verdict import (
    judge as judge_job,
)

AT = "1970-01-01T00:00:01Z"


def judge(thresholds, values):
    """The verdict on a job with these thresholds."""
    return judge_job(*asked_of({"thresholds": thresholds}), values)


def status(reason, *rows):
    results = [{"sizeBytes": size, "algBW": alg, "busBW": bus, "samples": 1} for size, alg, bus in rows]
    return {"results": results, "conditions": [condition("Complete", True, reason, "", AT)]}


def test_values_are_the_greatest_of_all_sizes_each_by_itself():
    found = measured_values(status("JobSucceeded", (8, "7.00", "9.50"), (16, "6.00", "11.25")), None)
    assert found == {"busBandwidthGBps": 11.25, "algBandwidthGBps": 7.0}


@pytest.mark.parametrize("reason", ["JobFailed", "LogsUnavailable", "NoDataCollected"])
def test_results_that_are_not_final_are_no_values(reason):
    assert measured_values(status(reason, (8, "7.00", "9.50")), None) == {}
    assert measured_values(status("JobSucceeded"), None) == {}


def test_the_documented_text_of_a_violation():
    found = judge({"busBandwidthGBps": "value >= 45"}, {"busBandwidthGBps": 40.78})
    assert (found.failed, found.reason, found.message) == (
        True, "ThresholdViolated", 'Threshold "busBandwidthGBps" violated: measured 40.7800, expression: value >= 45')
    assert found.evaluations == [{"key": "busBandwidthGBps", "expression": "value >= 45", "measured": 40.78,
                                  "passed": False}]


def test_of_several_violations_the_first_by_key_is_told():
    found = judge({"busBandwidthGBps": "value > 2", "algBandwidthGBps": "value > 3"},
                  {"busBandwidthGBps": 1.0, "algBandwidthGBps": 1.0})
    assert found.message == 'Threshold "algBandwidthGBps" violated: measured 1.0000, expression: value > 3'


def test_a_value_that_is_missing_fails_before_anything_is_compared():
    found = judge({"busBandwidthGBps": "value > 2", "goodputRatio": "value > 0.5"}, {"busBandwidthGBps": 1.0})
    assert (found.reason, found.message) == (
        "MeasurementNotFound", "Measurement data not available within 5m0s for keys: [goodputRatio]")


def test_thresholds_that_hold():
    found = judge({"busBandwidthGBps": "value >= 40.78"}, {"busBandwidthGBps": 40.78})
    assert (found.failed, found.reason) == (False, "ThresholdsMet")
    assert judge({}, {"busBandwidthGBps": 1.0}) is None


def kinds(conditions):
    return {one["type"]: (one["status"], one["reason"]) for one in conditions}


def test_a_violated_threshold_leaves_the_job_succeeded_and_its_nodes_failed():
    judged = judge({"busBandwidthGBps": "value > 2"}, {"busBandwidthGBps": 1.0})
    found = job_status(["a", "b"], succeeded=True, reason="WorkloadCompleted", message="", start=AT, end=AT,
                       judgement=judged)
    assert kinds(found["conditions"])["Succeeded"] == ("True", "WorkloadCompleted")
    assert kinds(found["conditions"])["ValidationFailed"] == ("True", "ThresholdViolated")
    assert found["failedNodes"] == [{"name": name, "reason": "ThresholdViolation", "message": judged.message}
                                    for name in ("a", "b")]


def test_a_job_that_passes_says_so_and_one_without_thresholds_says_nothing():
    judged = judge({"busBandwidthGBps": "value > 2"}, {"busBandwidthGBps": 3.0})
    passed = job_status(["a"], succeeded=True, reason="R", message="", start=AT, end=AT, judgement=judged)
    assert kinds(passed["conditions"])["ValidationFailed"] == ("False", "ThresholdsMet") and "failedNodes" not in passed
    none = job_status(["a"], succeeded=True, reason="R", message="", start=AT, end=AT, judgement=None)
    assert "ValidationFailed" not in kinds(none["conditions"])


def test_conditions_of_the_run():
    well = run_conditions(workflow_conditions(0, 2, False, AT), AT)
    assert kinds(well) == {"InProgress": ("False", "Superseded"), "Succeeded": ("True", "WorkflowSucceeded"),
                           "Failed": ("False", "Superseded")}
    missed = run_conditions(workflow_conditions(3, 2, True, AT), AT)
    assert kinds(missed)["Failed"] == ("True", "WorkflowValidationFailed")
    assert kinds(missed)["ValidationFailed"] == ("True", "ThresholdViolation")
    assert next(one["message"] for one in missed if one["type"] == "Failed") == "3 groups failed across 2 iterations"
    broken = run_conditions(workflow_conditions(1, 1, False, AT), AT)
    assert kinds(broken)["Failed"] == ("True", "WorkflowFailed") and "ValidationFailed" not in kinds(broken)


def test_exit_codes():
    missed = {"phase": "Failed", "jobs": [{"conditions": [condition("ValidationFailed", True, "", "", AT)]}]}
    assert exit_code({"phase": "Succeeded", "jobs": []}) == 0
    assert exit_code(missed) == 4
    assert exit_code({"phase": "Failed", "jobs": [{"conditions": [condition("Failed", True, "", "", AT)]}]}) == 3
