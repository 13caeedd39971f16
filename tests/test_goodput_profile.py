"""Training profiles: the two that come with distsim, YAML ones, Go time layouts, Kubernetes time stamps."""

from __future__ import annotations

import pytest
from goodput_cases import START, ZERO_PS, S, progress_of, saved, saving, step

from distsim.errors import InputError
from distsim.measure.goodput.profile import builtin_profile, load_profile, needed_text, real, whole
from distsim.measure.goodput.section import GoodputMeasurementSection
from distsim.measure.goodput.times import Layout, kubernetes_stamp


@pytest.mark.parametrize(("name", "warmup", "interval"), [("megatron-training", 10, 10), ("megatron-bridge", 5, 1)])
def test_built_in_profiles_read_the_lines_of_megatron(name, warmup, interval):
    profile = builtin_profile(name)
    assert profile is not None
    assert (profile.warmup_steps, profile.log_interval) == (warmup, interval)
    fields = profile.fields("trainingStep", step(20, 34.5, 34595.4, 530.9).encode())
    assert fields is not None
    assert (fields["iteration"], fields["elapsedTime"], fields["tflops"]) == ("20", "34595.4", "530.9")
    assert fields["loss"] == "1.172175E+01"
    assert profile.time_ps(fields, None) == ZERO_PS + 34_500_000_000_000
    assert profile.events["trainingStep"].seconds(fields, "elapsedTime") == pytest.approx(34.5954)
    assert profile.fields("checkpointSave", saving(100, 1).encode())["path"] == "/mnt/ckpt"
    assert profile.fields("checkpointDone", saved(100, 2).encode())["step"] == "100"
    assert profile.fields("applicationStart", START.encode()) is not None
    assert profile.fields("checkpointRestore", b" Loading checkpoint from /mnt/ckpt")["path"] == "/mnt/ckpt"


def test_a_line_without_throughput_is_read_by_megatron_bridge_only():
    lines = [step(10 * number, 10 * number, tflops=None) for number in range(1, 4)]
    assert progress_of(lines).steps == 0
    bridge = progress_of(lines, "megatron-bridge")
    assert (bridge.steps, bridge.tflops.count) == (3, 0)


def test_a_profile_of_bandwidth_has_no_events():
    profile = builtin_profile("nccl-bandwidth")
    assert profile is not None
    assert profile.events == {}
    assert builtin_profile("nemo") is None


YAML = """apiVersion: nvcre.nvidia.com/v1alpha1
kind: LogProfile
metadata: {name: mine}
spec:
  timestamp: {layout: "Jan _2 2006 3:04:05PM"}
  warmupSteps: 1
  patterns:
    trainingStep:
      regex: '^(?P<timestamp>.*) step=(?P<globalStep>\\d+) took=(?P<stepTiming>[\\d.]+)us'
      example: 'Mar  1 2026 12:00:05PM step=3 took=250000us'
      units: {stepTiming: us}
    warmupStep: {regex: 'took=9'}
"""


def test_a_yaml_profile(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(YAML)
    profile = load_profile(str(path))
    fields = profile.fields("trainingStep", b"Mar  1 2026 12:00:05PM step=3 took=250000us")
    assert fields is not None
    assert (profile.name, profile.warmup_steps, profile.log_interval) == ("mine", 1, 0)
    assert profile.time_ps(fields, None) == ZERO_PS + 5 * S
    assert profile.events["trainingStep"].seconds(fields, "stepTiming") == 0.25


@pytest.mark.parametrize(("old", "new", "said"), [
    ("(?P<globalStep>", "(?P<number>", "9: spec.patterns.trainingStep.regex: lacks the group iteration"),
    ("(?P<globalStep>\\d+)", "(?=a)", "9: spec.patterns.trainingStep.regex: "),
    ("step=3 took", "step=x took", "10: spec.patterns.trainingStep.example: the regex does not match its own example"),
    ("3:04:05PM", "3:04PM", "5: spec.timestamp.layout: 'Jan _2 2006 3:04PM' is no Go time layout with second"),
    ("stepTiming: us", "stepTiming: min", "11: spec.patterns.trainingStep.units"),
    ("warmupStep:", "warmupSteps:", "12: spec.patterns.warmupSteps: unknown key"),
])
def test_what_is_wrong_with_a_yaml_profile_is_told_with_its_line(tmp_path, old, new, said):
    path = tmp_path / "mine.yaml"
    assert old in YAML
    path.write_text(YAML.replace(old, new))
    with pytest.raises(InputError) as error:
        load_profile(str(path))
    assert f"mine.yaml:{said}" in str(error.value)


def test_an_unknown_profile_names_those_there_are():
    with pytest.raises(InputError, match="no log profile 'nemo'; there are megatron-training, megatron-bridge"):
        load_profile("nemo")
    with pytest.raises(ValueError, match="'nemo' is not valid; valid values: megatron-training"):
        GoodputMeasurementSection(logProfileRef="nemo")
    with pytest.raises(ValueError, match="out of range; valid: 1us or more"):
        GoodputMeasurementSection(logProfileRef="megatron-training", sampleInterval="0s")


@pytest.mark.parametrize(("layout", "text", "seconds"), [
    ("2006-01-02 15:04:05.999999", "2026-03-01 12:00:01.25", 1.25),
    ("2006-01-02 15:04:05.999999", "2026-03-01 12:00:01", 1),
    ("2006-01-02 15:04:05", "2026-03-01 12:00:01.5", 1.5),                 # Go takes a fraction all the same
    ("2006-01-02T15:04:05.000Z07:00", "2026-03-01T14:00:00.125+02:00", 0.125),
    ("2006-01-02T15:04:05Z07:00", "2026-03-01T12:00:07Z", 7),
    ("Mon Jan _2 15:04:05 2006", "Sun Mar  1 12:00:09 2026", 9),
    ("01/02/06 03:04:05 PM", "03/01/26 12:00:03 PM", 3),
    ("02 January 2006 15:04:05 -0700", "01 March 2026 05:00:00 -0700", 0),
])
def test_go_time_layouts(layout, text, seconds):
    assert Layout(layout).parse(text) == ZERO_PS + round(seconds * S)


def test_what_is_no_time_in_a_layout():
    layout = Layout("2006-01-02 15:04:05.999999")
    for text in ("2026-13-01 12:00:00", "2026-03-01", "12:00:00", "2026-03-01 25:00:00"):
        assert layout.parse(text) is None
    for text in ("15:04:05", "2006-01-02", "hello", "2006 2006-01-02 15:04:05"):
        with pytest.raises(ValueError, match="is no Go time layout"):
            Layout(text)


def test_time_stamps_of_kubernetes():
    assert kubernetes_stamp(b"2026-03-01T12:00:00.123456789Z x  y") == (ZERO_PS + 123_456_789_000, b"x  y")
    assert kubernetes_stamp(b"2026-03-01T05:00:00-07:00 x") == (ZERO_PS, b"x")
    for line in (b"2026-03-01T12:00:00 x", b" 2026-03-01T12:00:00Z x", b"2026-13-01T12:00:00Z x", b""):
        assert kubernetes_stamp(line) == (None, line)


@pytest.mark.parametrize(("expression", "text"), [
    (r"\[(?P<a>\d+)\]\s+saving at\s+(?P<b>\d+)", b"saving at"), ("abc|xyz", b""), ("(?i)abc", b""), ("x+yyz?", b"yy"),
    (r"\Qab\E", b""), ("(abc)", b""), ("a{2}bc", b"bc")])
def test_a_text_that_every_matching_line_holds(expression, text):
    assert needed_text(expression) == text


def test_captures_that_are_no_numbers_count_as_nothing():
    assert [whole(text) for text in ("12", "", "1.5", "x", "9" * 30)] == [12, 0, 0, 0, 0]
    assert [real(text) for text in ("1.5", "1.218472E+01", "", "1.2.3", "nan")] == [1.5, 12.18472, 0, 0, 0]
