"""What lines of a training come to: steps, warm-up, checkpoints, with numbers worked out by hand."""

from __future__ import annotations

import pytest
from goodput_cases import START, S, at, progress_of, saved, saving, stamped, step

from distsim.measure.goodput.log import measure_log
from distsim.measure.goodput.profile import builtin_profile, load_profile
from distsim.measure.goodput.progress import Progress


def every_tenth(last: int = 50) -> list[str]:
    """Iteration 1, then every tenth of a second each, as with --log-interval 10; the first takes 5 s."""
    return [step(1, 5, 5000.0, 80.0), *(step(number, 5 + number - 1) for number in range(10, last + 1, 10))]


def test_steps_between_the_log_interval_are_passed_over():
    progress = progress_of(every_tenth())
    assert (progress.steps, progress.passed_over, progress.current, progress.base) == (5, 1, 50, 10)
    assert progress.tflops.value == 400.0                      # without the 80 of iteration 1
    assert progress_of(every_tenth(), "megatron-bridge").tflops.value == pytest.approx((80 + 5 * 400) / 6)


def test_warm_up_and_the_mean_time_of_a_step():
    # Steps 10 to 19 warm up: of the lines that is step 10, at 2 s a step; then 1, 1 and 4 s a step: mean 2 s.
    lines = [step(10, 20, 2000.0), step(20, 30, 1000.0), step(30, 40, 1000.0), step(40, 80, 4000.0)]
    progress = progress_of(lines)
    assert progress.step_s == pytest.approx(2.0)
    assert progress.warmup_s == pytest.approx(10 * 2.0)        # 10 steps, as the log interval says of the first line
    assert progress.steady_s == pytest.approx(10 * 1 + 10 * 1 + 10 * 4)
    assert progress.step_ps == at(80)
    bridge = progress_of([step(number, number, 1000.0 * number) for number in range(1, 8)], "megatron-bridge")
    assert bridge.step_s == pytest.approx(6.5)                 # steps 6 and 7; 1 to 5 warm up
    assert bridge.warmup_s == pytest.approx(1 + 2 + 3 + 4 + 5)


def test_without_times_in_the_log_steps_are_timed_by_their_stamps(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("apiVersion: nvcre.nvidia.com/v1alpha1\nkind: LogProfile\nmetadata: {name: mine}\nspec:\n"
                    "  timestamp: {layout: '2006-01-02 15:04:05'}\n  patterns:\n"
                    "    trainingStep: {regex: 'step (?P<globalStep>\\d+)'}\n")
    progress = Progress(load_profile(str(path)))
    for second, number in ((0, 1), (3, 2), (13, 12)):
        progress.line(stamped(second, f"step {number}").encode())
    assert progress.step_s == pytest.approx((3.0 + 1.0) / 2)   # 3 s for one step, then 10 s for ten


def test_checkpoints_count_once_and_take_from_saving_to_scheduled():
    lines = [step(10, 10), saving(10, 10), "NCCL INFO noise", saved(10, 12.5), step(20, 22), saving(20, 22),
             saved(20, 23), saved(20, 30), saving(20, 40), saved(20, 44)]
    progress = progress_of(lines)
    assert progress.save_s == pytest.approx(2.5 + 1.0)
    assert (progress.checkpoint_step, progress.checkpoint_ps) == (20, at(44))


def test_the_first_line_stands_for_the_steps_of_an_interval():
    progress = progress_of([step(30, 30, 2000.0), step(60, 60)])           # resumed at 20; 40 and 50 are missing
    assert (progress.warmup_s, progress.steady_s) == (pytest.approx(10 * 2.0), pytest.approx(30 * 1.0))


def test_a_start_in_mid_training_is_none():
    progress = progress_of([step(10, 10), stamped(15, START), step(20, 20)])
    assert (progress.start_ps, progress.resume_s, progress.step_s) == (None, 0.0, 1.0)


def test_goodput_by_the_formula():
    progress = progress_of([START])
    progress.resume_s, progress.lost_s, progress.reschedule_s, progress.save_s = 10.0, 13.0, 10.0, 2.0
    assert progress.goodput(100.0) == pytest.approx((100 - 13 - 10 - 10 - 2) / (100 - 10))
    assert progress.goodput(10.0) == 0.0                       # t_w - t_re = 0
    assert progress.goodput(20.0) == 0.0                       # more lost than there was


def log(tmp_path, lines: list[str]) -> str:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


PROFILE = builtin_profile("megatron-training")


def test_a_whole_log_by_hand(tmp_path):
    # 0 start, steps of 1 s, a checkpoint of 5 s after step 50, the last line at 105 s: (105 - 10 - 5) / 105.
    lines = [stamped(0, START), *(stamped(number, step(number, number)) for number in range(10, 51, 10)),
             stamped(50, saving(50, 50)), stamped(55, saved(50, 55)),
             *(stamped(number + 5, step(number, number + 5)) for number in range(60, 101, 10))]
    status = measure_log(log(tmp_path, lines), PROFILE).to_dict()
    conditions = status.pop("conditions")
    assert status == {
        "result": "0.857143", "currentStep": 100, "highestStep": 100, "trainingTimeSec": "105.000000",
        "lostWorkTimeSec": "0.000000", "rescheduleTimeSec": "0.000000", "resumeTimeSec": "10.000000",
        "checkpointSaveTimeSec": "5.000000", "lastCheckpointStep": 50, "logInterval": 10, "warmupBaseStep": 10,
        "avgStepTimeSec": "1.000000", "avgTFLOPSPerGPU": "400.000000", "warmupTimeSec": "10.000000",
        "nonWarmupTimeSec": "90.000000", "lastCheckpointTime": "2026-03-01T12:00:55Z",
        "lastStepTimestamp": "2026-03-01T12:01:45Z", "applicationStartTime": "2026-03-01T12:00:00Z",
        "applicationStopTime": "2026-03-01T12:01:45Z", "startTime": "2026-03-01T12:00:00Z",
        "completionTime": "2026-03-01T12:01:45Z"}
    at_end = {"lastTransitionTime": "2026-03-01T12:01:45Z", "reason": "JobSucceeded"}
    assert conditions == [
        {"type": "Measuring", "status": "False", **at_end, "message": "Measurement completed"},
        {"type": "Complete", "status": "True", **at_end, "message": "Referenced Job completed successfully"}]


def test_what_was_written_after_the_end_does_not_count(tmp_path):
    lines = [stamped(0, START), step(10, 10), step(20, 20), saving(20, 20), saved(20, 25), step(30, 35)]
    status = measure_log(log(tmp_path, lines), PROFILE, start_ps=at(0), end_ps=at(22)).to_dict()
    assert status["currentStep"] == 20
    assert status["checkpointSaveTimeSec"] == "0.000000"
    assert status["result"] == f"{(22 - 10) / 22:.6f}"


def test_a_line_over_1_mib_ends_the_read_and_a_hint_says_so(tmp_path):
    lines = [stamped(0, START), step(10, 10), step(20, 20), "x" * (1 << 21), step(30, 30)]
    status = measure_log(log(tmp_path, lines), PROFILE).to_dict()
    assert status["currentStep"] == 20
    assert status["hints"] == ["the log could not be read in full: line 4 is longer than 1 MiB"]


def test_memory_does_not_grow_with_the_log():
    import tracemalloc

    progress = progress_of([START])
    lines = [step(10 * number, 10 * number).encode() for number in range(1, 6001)]
    held = []
    tracemalloc.start()
    for half in (lines[:3000], lines[3000:]):
        for line in half:
            progress.line(line)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert progress.steps == 6000
    assert held[1] - held[0] < 3000                            # one byte a line would be more


def test_a_restore_begins_another_warm_up():
    lines = [step(10, 10), step(20, 20), "Loading checkpoint from /mnt/ckpt", step(30, 40, 2000.0), step(40, 50)]
    progress = progress_of(lines)
    assert progress.base == 30
    assert progress.step_s == pytest.approx(1.0)               # of steps 20 and 40
    assert progress.warmup_s == pytest.approx(10 * 1.0 + 10 * 2.0)
    assert progress.step_ps == at(50) and S == 10**12
