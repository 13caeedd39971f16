"""Thresholds: CEL over the greatest bandwidth, final results only, everything else fails."""

from __future__ import annotations

import pytest

from distsim.errors import InputError
from distsim.measure import Reason, Threshold
from distsim.measure.status import Result, Status

RESULTS = [Result(8, "60.00", "1.00", 1), Result(16, "30.00", "45.00", 1), Result(32, "31.00", "44.99", 1)]


def status(reason: Reason, message: str) -> Status:
    found = Status(list(RESULTS))
    found.end(reason, message, None)
    return found


SUCCEEDED = status(Reason.JOB_SUCCEEDED, "Job succeeded")


@pytest.mark.parametrize(("text", "passed"), [
    ("busBandwidthGBps=value >= 45", True),          # 45.00, at 16 bytes
    ("busBandwidthGBps=value > 45.0", False),
    ("busBandwidthGBps = value >= 45 && value < 45.1", True),
    ("algBandwidthGBps=value == 60.0", True),        # 60.00, at 8 bytes: each maximum on its own
    ("algBandwidthGBps=value < 60.0 || value > 100", False),
    ("busBandwidthGBps=!(value < 45.0)", True),
    ("busBandwidthGBps=double(45) <= value", True),
    ("busBandwidthGBps=value in [45.0, 46.0]", True),
    ("busBandwidthGBps=value > 40.0 ? value < 50.0 : false", True),
])
def test_the_greatest_bandwidth_of_all_sizes_is_judged(text: str, passed: bool) -> None:
    assert Threshold(text).judge(SUCCEEDED).passed is passed


def test_what_a_violation_says() -> None:
    verdict = Threshold("busBandwidthGBps=value >= 45.5").judge(SUCCEEDED)
    assert verdict.message == 'Threshold "busBandwidthGBps" violated: measured 45.0000, expression: value >= 45.5'
    assert verdict.to_dict() == {"key": "busBandwidthGBps", "expression": "value >= 45.5", "measured": 45.0,
                                 "passed": False}


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason is not Reason.JOB_SUCCEEDED])
def test_only_final_results_of_a_job_that_succeeded_are_judged(reason: Reason) -> None:
    verdict = Threshold("busBandwidthGBps=true").judge(status(reason, "why"))
    assert (verdict.passed, verdict.measured) == (False, None)
    assert verdict.message == f'Threshold "busBandwidthGBps" not evaluated, so it fails: {reason.value}: why'


def test_misread_rows_and_other_quantities_are_not_measured() -> None:
    assert not Threshold("busBandwidthGBps=true").judge(SUCCEEDED, misread=True).passed
    verdict = Threshold("goodputRatio=value > 0.0").judge(SUCCEEDED)
    assert verdict.message.endswith("so it fails: a bandwidth measurement does not measure it")


def test_an_expression_that_fails_at_the_value_does_not_hold() -> None:
    """Fine at every trial value, but no boolean at 45.00 exactly."""
    assert not Threshold("busBandwidthGBps=value == 45.0 ? 'x' : true").judge(SUCCEEDED).passed


@pytest.mark.parametrize(("text", "said"), [
    ("value >= 45", "'value >= 45' is not KEY=EXPRESSION, e.g. busBandwidthGBps=value >= 45"),
    ("busBandwidthGBps=", "is not KEY=EXPRESSION"),
    ("busBandwidth=value > 1", "unknown threshold key(s) [busBandwidth]; valid keys: [busBandwidthGBps "
                               "algBandwidthGBps goodputRatio avgTFLOPsPerGPU avgStepTimeSec]"),
    ("busBandwidthGBps=value >=", "'value >=' is not a CEL expression"),
    ("busBandwidthGBps=value", "'value' gives double, not true or false"),
    ("busBandwidthGBps=1", "gives int, not true or false"),
    ("busBandwidthGBps=other > 1.0", "names other; the only variable is value"),
    ("busBandwidthGBps=[1.0].all(x, x < value)", "names x; the only variable is value"),
    ("busBandwidthGBps=value == 'a'", "cannot be evaluated at 0: "),
    ("busBandwidthGBps=value.gbps > 1", "cannot be evaluated at 0: "),
    ("busBandwidthGBps=value > 1.0 ? 2 : true", "gives int, not true or false"),
])
def test_what_is_refused_when_it_is_read(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        Threshold(text)
    assert said in str(caught.value) and "\n" not in str(caught.value)
