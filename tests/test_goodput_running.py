"""A goodput measurement in the job's own time: samples, ends, interruptions, thresholds, gauges."""

from __future__ import annotations

import pytest
from goodput_cases import START, at, run_of, saved, saving, step

from distsim.errors import InputError
from distsim.measure.goodput import GoodputMeasurementSection, GoodputRun, judge, measured_values
from distsim.measure.threshold import Threshold


def feed_steps(run, first: int, last: int, offset: float = 0.0) -> None:
    """Steps of 1 s, a line each tenth, written when they end."""
    for number in range(first, last + 1, 10):
        run.feed(step(number, number + offset), at(number + offset))


def succeeded():
    run = run_of()
    run.start(at(0))
    run.feed([START], at(0))
    feed_steps(run, 10, 50)
    run.feed(saving(50, 50) + "\n", at(50))
    run.feed([saved(50, 55)], at(55))
    feed_steps(run, 60, 100, 5)
    return run


def test_a_job_that_succeeds():
    status = succeeded().finish(at(105), True)
    assert status["result"] == "0.857143"                      # (105 - 10 - 5) / 105
    assert status["trainingTimeSec"] == "105.000000"
    assert (status["avgStepTimeSec"], status["avgTFLOPSPerGPU"]) == ("1.000000", "400.000000")
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("Measuring", "False", "JobSucceeded"), ("Complete", "True", "JobSucceeded")]


def test_the_status_is_frozen_after_the_end():
    run = succeeded()
    status = run.finish(at(105), True)
    run.feed(step(110, 115), at(115))
    run.interrupted(at(116))
    assert run.finish(at(120), False) == status


def test_samples_see_the_lines_written_before_them():
    run = run_of(interval="20s")
    run.start(at(0))
    said = run.status()
    assert "result" not in said
    assert said["conditions"] == [
        {"type": "Measuring", "status": "True", "lastTransitionTime": "2026-03-01T12:00:00Z", "reason": "JobRunning",
         "message": "Referenced Job is running, measurement in progress"}]
    run.feed([START], at(0))
    run.feed(step(10, 10), at(10))
    assert "result" not in run.status()                        # the next sample is at 20 s
    run.feed((), at(39))                                       # taken at 20 s: (20 - 10) / 20
    assert (run.status()["result"], run.status()["trainingTimeSec"]) == ("0.500000", "20.000000")
    run.feed((), at(100))                                      # the last one due, at 100 s
    assert run.status()["result"] == "0.900000"
    with pytest.raises(ValueError, match="lies before"):
        run.feed((), at(99))


def test_a_job_that_fails_loses_what_came_after_its_checkpoint():
    # 60 s in all, 10 s of start-up, a checkpoint from 40 to 42 s: (60 - 18 - 10 - 2) / 60.
    run = run_of()
    run.start(at(0))
    run.feed(START, at(0))
    feed_steps(run, 10, 40)
    run.feed([saving(40, 40), saved(40, 42)], at(42))
    feed_steps(run, 50, 50, 2)
    status = run.finish(at(60), False)
    assert status["result"] == "0.500000"
    assert (status["lostWorkTimeSec"], status["interruptionCount"]) == ("18.000000", 1)
    assert status["pendingInterruption"] == {
        "tInterrupt": "2026-03-01T12:01:00Z", "tCh": "18.000000", "reason": "JobFailed",
        "tCheckpoint": "2026-03-01T12:00:42Z", "checkpointStep": 40, "lastStep": 50}
    assert status["conditions"][1]["reason"] == "JobFailed"
    assert status["conditions"][1]["message"] == "Referenced Job failed"
    assert "applicationStartTime" not in status
    assert measured_values(status) == {}


def interrupted(with_checkpoint: bool = True):
    run = run_of()
    run.start(at(0))
    run.feed(START, at(0))
    feed_steps(run, 10, 20)
    if with_checkpoint:
        run.feed([saving(20, 20), saved(20, 22)], at(22))
    run.interrupted(at(35))
    run.feed(START, at(45))
    feed_steps(run, 30, 60, 30)
    return run


def test_an_interruption_with_a_checkpoint():
    # Lost 35 - 22 = 13, again scheduled after 10, resumed after 15 more; start-up 10, checkpoint 2; 100 s in all.
    status = interrupted().finish(at(100), True)
    assert status["result"] == f"{(100 - 13 - 25 - 10 - 2) / 90:.6f}"
    assert (status["lostWorkTimeSec"], status["rescheduleTimeSec"], status["resumeTimeSec"]) == (
        "13.000000", "10.000000", "25.000000")
    assert (status["interruptionCount"], status["warmupBaseStep"]) == (1, 30)
    assert "pendingInterruption" not in status
    assert status["nonWarmupTimeSec"] == f"{10 + 30:.6f}"      # step 20, then 40 to 60; 10 and 30 warm up


def test_an_interruption_without_a_checkpoint_starts_from_scratch():
    status = interrupted(False).finish(at(100), True)
    assert (status["lostWorkTimeSec"], status["nonWarmupTimeSec"]) == ("0.000000", "30.000000")


NCCL_LOG = """# nccl-tests version 2.19.1
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
     1048576        262144     float     sum      -1    12.50   83.89  125.83       0     5.00  209.72  314.57       0
server-0:1000:1000 [0] NCCL INFO Using network UET
"""


@pytest.mark.parametrize("profile", ["megatron-training", "megatron-bridge", "nccl-bandwidth"])
def test_a_log_of_nccl_tests_has_no_goodput(profile):
    run = run_of(profile)
    run.start(at(0))
    run.feed(NCCL_LOG, at(1))
    status = run.finish(at(200), True)
    assert "result" not in status
    assert status["conditions"][1] == {
        "type": "Complete", "status": "True", "lastTransitionTime": "2026-03-01T12:03:20Z", "reason": "NoDataCollected",
        "message": "Job succeeded but no goodput was computed; check spec.logProfileRef"}
    assert status["conditions"][0]["reason"] == "NoDataCollected"
    assert measured_values(status) == {}
    assert status.get("hints", []) == (
        ["log profile nccl-bandwidth has no expression for training steps"] if profile == "nccl-bandwidth" else [])


def test_hints_on_steps_that_do_not_count():
    run = run_of()
    run.feed([step(number, number) for number in range(1, 10)], at(9))
    status = run.finish(at(9), True)
    assert status["conditions"][1]["reason"] == "NoDataCollected"
    assert status["hints"][0].startswith("9 steps were read, none of them a multiple of the log profile's "
                                          "logInterval 10;")
    run = run_of()
    run.feed([step(10, 10)], at(10))
    assert run.finish(at(12), True)["hints"] == [
        "all steps that were read are warm-up (warmupSteps 10 of the log profile), so there is no avgStepTimeSec"]


def test_a_ratio_of_0_is_no_data():
    run = run_of()
    run.start(at(0))
    run.feed(START, at(0))
    run.feed(step(10, 10), at(10))
    status = run.finish(at(10), True)                          # all of it was start-up
    assert (status["result"], status["conditions"][1]["reason"]) == ("0.000000", "NoDataCollected")


def test_thresholds():
    status = succeeded().finish(at(105), True)
    assert measured_values(status) == {"goodputRatio": 0.857143, "avgTFLOPsPerGPU": 400.0, "avgStepTimeSec": 1.0}
    assert judge(Threshold("goodputRatio=value >= 0.85"), status).passed
    verdict = judge(Threshold("avgStepTimeSec=value < 0.9"), status)
    assert not verdict.passed
    assert verdict.message == 'Threshold "avgStepTimeSec" violated: measured 1.0000, expression: value < 0.9'
    bus = judge(Threshold("busBandwidthGBps=value > 1.0"), status)
    assert bus.message == ('Threshold "busBandwidthGBps" not evaluated, so it fails: a goodput measurement does not '
                           "measure it")
    running = judge(Threshold("goodputRatio=value >= 0.85"), run_of().status())
    assert running.message.endswith("the measurement is not complete")


def test_the_whole_document():
    run = succeeded()
    run.finish(at(105), True)
    document = run.document()
    assert document.pop("status") == run.status()
    assert document == {
        "apiVersion": "nvcre.nvidia.com/v1alpha1", "kind": "GoodputMeasurement", "metadata": {"name": "train-goodput"},
        "spec": {"jobRef": {"apiGroup": "nvcre.nvidia.com", "kind": "Job", "name": "train"},
                 "logProfileRef": "megatron-training", "sampleInterval": "60s"}}


def test_gauges():
    run = succeeded()
    text = run.prometheus()                                    # after the sample at 60 s: t_w 60, start-up 10, save 5
    assert 'nvcre_goodput_ratio{job="train",measurement="train-goodput",namespace="",workflow=""} 0.75' in text
    assert "nvcre_goodput_checkpoint_save_time_seconds{" in text
    run.finish(at(105), True)
    lines = [line for line in run.prometheus().splitlines() if not line.startswith("#")]
    assert lines == ['nvcre_goodput_ratio{job="train",measurement="train-goodput",namespace="",workflow=""} 0.857143']


def test_a_profile_file_that_is_not_there_is_an_input_error(tmp_path):
    section = GoodputMeasurementSection(logProfileRef="mine.yaml")
    with pytest.raises(InputError, match=r"mine.yaml: no such file"):
        GoodputRun(section, "train", directory=tmp_path)
