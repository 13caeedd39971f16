"""The phases of a training and the log they make, with steps whose times are made up; the log read back."""

from __future__ import annotations

import pytest
from training_cases import MS, START_PS, play, spec

from distsim.measure.goodput import GoodputMeasurementSection, GoodputRun, measure_log
from distsim.measure.goodput.profile import builtin_profile
from distsim.workload.base import Context
from distsim.workload.steps import shape as shape_module
from distsim.workload.steps.report import clock, figure
from distsim.workload.steps.shape import shape_of
from distsim.workload.steps.training import parts


def ranges(section, simulated: int | None = None, most: int = 1000) -> list:
    return [(part.kind[:1], part.first, part.last, part.simulated)
            for part in parts(section, section.steps if simulated is None else simulated, most)]


def test_phases_end_at_lines_of_the_log_and_at_checkpoints():
    section = spec(steps=24, startup="1ms", checkpoint={"every": 12, "pause": "1ms"})
    assert ranges(section) == [("s", 0, 0, True), ("s", 1, 1, True), ("s", 2, 10, True), ("s", 11, 12, True),
                               ("c", 12, 12, True), ("s", 13, 20, True), ("s", 21, 24, True), ("c", 24, 24, True)]


def test_phases_end_where_simulating_ends_and_before_their_tables_grow():
    assert ranges(spec(steps=20), 4, 2) == [("s", 1, 1, True), ("s", 2, 3, True), ("s", 4, 4, True),
                                            ("s", 5, 10, False), ("s", 11, 20, False)]
    assert ranges(spec(steps=3, log_interval=1)) == [("s", 1, 1, True), ("s", 2, 2, True), ("s", 3, 3, True)]


def test_steps_a_phase(monkeypatch):
    # a ring of 4 is 24 messages; a rank has 3 nodes of its own, its collective and 3 operations more around it
    assert shape_of(spec(), Context(4, 1)).steps_a_phase == 4_000_000 // (24 + 4 * (4 + 3))
    monkeypatch.setattr(shape_module, "OPERATIONS_A_PHASE", 120)
    phases, _ = play(spec(steps=10), 4, lambda step: 1)
    assert [(part.first, part.last) for part in phases] == [(1, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 10)]


def test_the_log_by_hand():
    # start 2 ms, start-up 4 ms; step 1 takes 30 ms, the others 10: a mean of 10 for the steps 2 to 10.
    section = spec(steps=20, startup="4ms", flops=5e12, global_batch=8, checkpoint={"every": 10, "pause": "6ms"},
                   tensor_parallel=2)
    _, training = play(section, 8, lambda step: 30 if step == 1 else 10)
    lines = training.report.take_lines()
    tail = " | global batch size:     8 | lm loss: 0.000000E+00 | number of skipped iterations:   0 | number of nan " \
           "iterations:   0 |"
    at = " [1970-01-01 00:00:00."
    assert lines == [
        "using world size: 8, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 2, "
        "pipeline-model-parallel size: 1",
        "# distsim: simulated; losses are not computed and stand as 0",
        "[before the start of training step] datetime: 1970-01-01 00:00:00.006000",
        f"{at}036000] iteration        1/      20 | consumed samples:            8 | elapsed time per iteration (ms): "
        f"30.000000 | throughput per GPU (TFLOP/s/GPU): 166.666667{tail}",
        f"{at}126000] iteration       10/      20 | consumed samples:           80 | elapsed time per iteration (ms): "
        f"10.000000 | throughput per GPU (TFLOP/s/GPU): 500.000000{tail}",
        "[1970-01-01 00:00:00.126000] saving checkpoint at iteration      10 to /checkpoints in torch_dist format",
        "[1970-01-01 00:00:00.132000] scheduled an async checkpoint save at iteration      10 to /checkpoints",
        f"{at}232000] iteration       20/      20 | consumed samples:          160 | elapsed time per iteration (ms): "
        f"10.000000 | throughput per GPU (TFLOP/s/GPU): 500.000000{tail}",
        "[1970-01-01 00:00:00.232000] saving checkpoint at iteration      20 to /checkpoints in torch_dist format",
        "[1970-01-01 00:00:00.238000] scheduled an async checkpoint save at iteration      20 to /checkpoints",
        "[after training is done] datetime: 1970-01-01 00:00:00.238000"]
    assert training.report.take_lines() == []


@pytest.mark.parametrize(("profile", "result", "mean"), [
    # 236 ms in all; start-up and steps to the first line that counts: 124, or 34; checkpoints 12
    ("megatron-training", (236 - 124 - 12) / 236, "0.010000"), ("megatron-bridge", (236 - 34 - 12) / 236, "0.010000")])
def test_the_measurement_reads_it_back(profile, result, mean):
    section = spec(steps=20, startup="4ms", flops=5e12, checkpoint={"every": 10, "pause": "6ms"})
    _, training = play(section, 8, lambda step: 30 if step == 1 else 10)
    run = GoodputRun(GoodputMeasurementSection(logProfileRef=profile), "train")
    run.start(START_PS)
    run.feed(training.report.take_lines(), START_PS)
    status = run.finish(238 * MS, True)
    assert status["conditions"][1]["reason"] == "JobSucceeded"
    assert status["result"] == f"{result:.6f}"
    assert status["avgStepTimeSec"] == mean
    assert status["checkpointSaveTimeSec"] == "0.012000"
    assert (status["currentStep"], status["lastCheckpointStep"]) == (20, 20)


def test_the_log_file_gives_the_same_as_the_run(tmp_path):
    section = spec(steps=30, startup="4ms", flops=5e12, checkpoint={"every": 10, "pause": "6ms"})
    _, training = play(section, 8, lambda step: 30 if step == 1 else 10)
    lines = training.report.take_lines()
    (tmp_path / "launcher.log").write_text("\n".join(lines) + "\n")
    run = GoodputRun(GoodputMeasurementSection(logProfileRef="megatron-training"), "train")
    run.start(START_PS)
    run.feed(lines[:2], START_PS)
    for line in lines[2:]:
        run.feed(line, 400 * MS)                 # written late: captured time stamps count
    profile = builtin_profile("megatron-training")
    status = measure_log(str(tmp_path / "launcher.log"), profile, start_ps=START_PS, end_ps=400 * MS)
    assert status.to_dict() == run.finish(400 * MS, True)
    assert status.to_dict()["resumeTimeSec"] == "0.124000"


def test_steps_that_are_not_simulated_take_as_long_as_the_last_one_that_was():
    phases, training = play(spec(steps=30, simulated=3), 4, lambda step: [0, 9, 5, 7][step])
    assert [(part.first, part.last, part.simulated) for part in phases] == [
        (1, 1, True), (2, 3, True), (4, 10, False), (11, 20, False), (21, 30, False)]
    rows = training.report.files()["training-steps.csv"].splitlines()
    assert rows[:5] == ["step,begin_ps,end_ps,simulated", f"1,{2 * MS},{11 * MS},1", f"2,{11 * MS},{16 * MS},1",
                        f"3,{16 * MS},{23 * MS},1", f"4,{23 * MS},{30 * MS},0"]
    assert rows[30] == f"30,{(23 + 26 * 7) * MS},{(23 + 27 * 7) * MS},0"
    lines = training.report.take_lines()
    assert "# distsim: iterations from 4 on are not simulated; each takes as long as iteration 3" in lines
    assert sum(line.startswith("# distsim: iterations") for line in lines) == 1
    # of the steps 2 to 10: 5, then eight of 7
    line = next(line for line in lines if "iteration       10/" in line)
    assert "elapsed time per iteration (ms): 6.777778 |" in line


def test_figures_and_times():
    assert [figure(value) for value in (0, 0.1234567, 999.9, 1000, 34595.44)] == [
        "0.0", "0.123457", "999.900000", "1000.0", "34595.4"]
    assert clock(1_999_999) == "1970-01-01 00:00:00.000001"
    assert clock(86_400 * 10**12) == "1970-01-02 00:00:00.000000"


def test_every_line_is_read_by_the_profile():
    profile = builtin_profile("megatron-training")
    assert profile is not None
    _, training = play(spec(steps=40, checkpoint={"every": 40, "pause": "2ms"}), 4, lambda step: 0.004)
    lines = [line.encode() for line in training.report.take_lines()]
    found = {kind: sum(profile.fields(kind, line) is not None for line in lines) for kind in profile.events}
    assert found == {"trainingStep": 5, "checkpointSave": 1, "checkpointDone": 1, "checkpointRestore": 0,
                     "applicationStart": 1}
