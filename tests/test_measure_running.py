"""What a run drives: the section of the configuration, the facade, and the gauges."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_cases import HEADER, profile, row
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.measure import BandwidthMeasurementSection, RunMeasurement
from distsim.measure.collect import Collector
from distsim.measure.gauges import GaugeServer, Series, gauges_text
from distsim.measure.status import Result
from distsim.measure.units import parse_size_bytes

S = 10**12
NETWORK = "h:1:1 [0] NCCL INFO Using network IB\n"


def section(**fields: Any) -> BandwidthMeasurementSection:
    return BandwidthMeasurementSection(**fields)


def test_defaults_are_those_of_the_resource() -> None:
    assert section().model_dump() == {
        "logProfileRef": "nccl-bandwidth", "sampleInterval": "60s", "testType": "", "measurementTimeout": "5m",
        "containerLogMaxSize": "10Mi"}


@pytest.mark.parametrize(("fields", "said"), [
    ({"logProfileRef": "nccl"}, "'nccl' is not valid; valid values: nccl-bandwidth, nccl-bandwidth-tagged, "),
    ({"sampleInterval": "0s"}, "'0s' is out of range; valid: 1us or more"),
    ({"sampleInterval": "999ns"}, "out of range"), ({"sampleInterval": "1 minute"}, "is not a Go duration"),
    ({"sampleInterval": 60}, "valid string"), ({"measurementTimeout": "soon"}, "is not a Go duration"),
    ({"containerLogMaxSize": "10MB"}, "is not a size such as 10Mi"), ({"interval": "60s"}, "Extra inputs"),
])
def test_what_the_section_refuses(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        section(**fields)


def test_the_section_needs_neither_re2_nor_the_configuration() -> None:
    program = ("import sys, distsim.measure.section; "
               "print([m for m in ('re2', 'distsim.config', 'numpy', 'prometheus_client') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          cwd=Path(__file__).parents[1])
    assert done.stdout == "[]\n"


def test_a_run_from_start_to_end() -> None:
    """Samples at 0.5 s and 1 s; the second row is written at 0.75 s, after the first sample."""
    measurement = RunMeasurement(section(sampleInterval="500ms"), "sweep", test_type="all_reduce")
    measurement.start(0)
    measurement.feed(NETWORK + HEADER, S // 4)
    measurement.feed([row(8, "1.00", "1.50"), row(8, "3.00", "4.50").rstrip("\n")], S // 4)
    measurement.feed((), S // 2)
    assert measurement.status()["results"] == [{"sizeBytes": 8, "algBW": "2.00", "busBW": "3.00", "samples": 2}]
    assert measurement.status()["conditions"][0]["reason"] == "JobRunning"
    labels = 'job="sweep",measurement="sweep-bandwidth",message_size_bytes="8",namespace="",nccl_test="all_reduce"'
    assert f'nvcre_nccl_busbw_gbs{{{labels},workflow=""}} 3.0\n' in measurement.prometheus()
    measurement.feed(row(16, "5.00", "7.50"), 3 * S // 4)
    status = measurement.finish(5 * S // 4, succeeded=True)
    assert status["results"] == [{"sizeBytes": 8, "algBW": "2.00", "busBW": "3.00", "samples": 2},
                                 {"sizeBytes": 16, "algBW": "5.00", "busBW": "7.50", "samples": 1}]
    assert (status["transport"], status["startTime"], status["completionTime"]) == (
        ["IB"], "1970-01-01T00:00:00Z", "1970-01-01T00:00:01.25Z")
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("Measuring", "False", "JobSucceeded"), ("Complete", "True", "JobSucceeded")]
    assert 'message_size_bytes="16"' in measurement.prometheus()
    document = measurement.document()
    assert document["status"] == status and document["metadata"] == {"name": "sweep-bandwidth"}
    assert document["spec"] == {
        "jobRef": {"apiGroup": "nvcre.nvidia.com", "kind": "Job", "name": "sweep"}, "logProfileRef": "nccl-bandwidth",
        "sampleInterval": "500ms", "testType": "all_reduce"}


def test_a_job_starts_with_its_first_line_and_may_fail() -> None:
    measurement = RunMeasurement(section(testType="alltoall"), "x", test_type="all_reduce")
    measurement.feed(row(8).encode(), 2 * S)
    status = measurement.finish(3 * S, succeeded=False)
    assert status["startTime"] == "1970-01-01T00:00:02Z"
    assert (len(status["results"]), status["conditions"][1]["reason"]) == (1, "JobFailed")
    assert 'nccl_test="alltoall"' in measurement.prometheus(), "the section's own comes first"


def test_only_newlines_end_lines() -> None:
    measurement = RunMeasurement(section(), "x")
    measurement.feed(["x\r" + row(8), "", row(16) + row(32), b"a\x0b" + row(64).encode()], 0)
    status = measurement.finish(S, succeeded=True)
    assert [one["sizeBytes"] for one in status["results"]] == [16, 32]


def test_the_newline_at_the_end_of_a_text_begins_no_line() -> None:
    """A row is 119 bytes with its newline, which is not over the limit; an empty line after it would be."""
    measurement = RunMeasurement(section(containerLogMaxSize="119"), "x")
    measurement.feed(row(8), 0)
    assert len(measurement.finish(S, succeeded=True)["results"]) == 1


def test_the_log_is_rotated_at_ten_mebibytes_by_default() -> None:
    """Ten lines of 2**20 - 1 bytes and a newline are 10 MiB exactly; one byte more rotates."""
    for size, kept in (("10Mi", 1), ("10Mi", 0)):
        measurement = RunMeasurement(section(containerLogMaxSize=size), "x")
        text = row(8)
        fill = 10 * 2**20 - len(text) + (kept == 0)
        lines = [text.rstrip("\n"), *["y" * 999_999] * (fill // 10**6), "y" * (fill % 10**6 - 1)]
        measurement.feed(lines, 0)
        assert len(measurement.finish(S, succeeded=True)["results"]) == kept


def test_a_line_over_one_mebibyte_completes_at_once() -> None:
    measurement = RunMeasurement(section(), "x")
    measurement.feed(["y" * (2**20 + 1)], 0)
    status = measurement.finish(S, succeeded=True)
    assert status["conditions"][1]["reason"] == "LogsUnavailable"
    assert status["conditions"][1]["lastTransitionTime"] == "1970-01-01T00:00:01Z"


def test_profiles_of_a_run(tmp_path: Path) -> None:
    tagged = RunMeasurement(section(logProfileRef="nccl-bandwidth-tagged"), "x")
    tagged.feed("[1,0]<stdout>:" + row(8), 0)
    assert len(tagged.finish(S, succeeded=True)["results"]) == 1
    (tmp_path / "own.yaml").write_text(
        "apiVersion: nvcre.nvidia.com/v1alpha1\nkind: LogProfile\nmetadata: {name: own}\nspec:\n"
        "  timestamp: {layout: x}\n  patterns:\n    bandwidthResult:\n"
        "      regex: 'B (?P<size>\\d+) (?P<algBW>\\S+) (?P<busBW>\\S+)'\n")
    own = RunMeasurement(section(logProfileRef="own.yaml"), "x", directory=tmp_path)
    own.feed("B 8 1 2", 0)
    assert own.finish(S, succeeded=True)["results"] == [{"sizeBytes": 8, "algBW": "1.00", "busBW": "2.00",
                                                        "samples": 1}]
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        RunMeasurement(section(logProfileRef="none.yaml"), "x", directory=tmp_path)


def test_text_that_is_no_utf8_is_taken_as_it_came() -> None:
    measurement = RunMeasurement(section(), "x")
    measurement.feed(["NCCL INFO Using network a\udcffb", "\x00\x1b[1m"], 0)
    assert measurement.finish(S, succeeded=True)["transport"] == ["a\ufffdb"]


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def test_a_scrape_sees_the_results_as_they_are() -> None:
    measurement = RunMeasurement(section(sampleInterval="1s"), "x")
    server = measurement.serve(0)
    try:
        measurement.start(0)
        assert "message_size_bytes" not in fetched(server.url)
        measurement.feed(row(8, "1.00", "1.75"), S // 2)
        measurement.feed((), S)
        assert 'message_size_bytes="8",namespace="",nccl_test="",workflow=""} 1.75' in fetched(server.url)
    finally:
        server.close()
    with pytest.raises(OSError):
        fetched(server.url)


def test_a_port_that_is_taken_is_an_input_error() -> None:
    first = GaugeServer("127.0.0.1", 0, list)
    try:
        port = int(first.url.split(":")[2].split("/")[0])
        with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            GaugeServer("127.0.0.1", port, list)
    finally:
        first.close()


def test_gauges_as_text() -> None:
    """Both gauges for every size, each described once; a label's quotes and newlines are escaped."""
    text = gauges_text([Series('a"b\n', [Result(8, "1.00", "1.75", 3), Result(2**40, "0.00", "0.10", 1)], "alltoall")])
    assert text == (
        "# HELP nvcre_nccl_algbw_gbs Algorithmic bandwidth in GB/s by message size\n"
        "# TYPE nvcre_nccl_algbw_gbs gauge\n" + sample("algbw", 8, "1.0") + sample("algbw", 2**40, "0.0")
        + "# HELP nvcre_nccl_busbw_gbs Bus bandwidth in GB/s by message size\n"
        "# TYPE nvcre_nccl_busbw_gbs gauge\n" + sample("busbw", 8, "1.75") + sample("busbw", 2**40, "0.1"))


def test_one_label_set_has_one_value() -> None:
    """The same log given twice would be written twice, which a scrape refuses."""
    text = gauges_text([Series("a", [Result(8, "1.00", "1.75", 1)]), Series("a", [Result(8, "2.00", "2.75", 1)])])
    assert [line.split()[-1] for line in text.splitlines() if not line.startswith("#")] == ["2.0", "2.75"]


ROWS = st.builds(row, st.sampled_from([0, 8, 16]), st.sampled_from(["0.00", "0.01", "1.02", "7.77"]),
                 st.sampled_from(["0.00", "0.03", "2.04"]))
LINES = st.one_of(ROWS, ROWS, st.just(NETWORK), st.just(HEADER), st.just("x" * 200), st.text(max_size=20))


@settings(max_examples=60, deadline=None)
@given(written=st.lists(st.tuples(st.integers(0, 3 * S), LINES), max_size=40), interval_ms=st.integers(1, 4000),
       limit=st.sampled_from(["150", "1k", "10Mi"]))
def test_the_final_result_is_that_of_the_log_alone(written: list[tuple[int, str]], interval_ms: int,
                                                   limit: str) -> None:
    """Whatever the samples, the status after the end is what the log's current file says, read as a file is."""
    measurement = RunMeasurement(section(sampleInterval=f"{interval_ms}ms", containerLogMaxSize=limit), "x")
    at = 0
    raw: list[bytes] = []
    measurement.start(0)
    for wait, text in written:
        at += wait
        measurement.feed(text, at)
        split = text.encode("utf-8", "surrogateescape").split(b"\n")
        raw += split[:-1] if len(split) > 1 and not split[-1] else split
    status = measurement.finish(at, succeeded=True)
    collector = Collector(profile(), parse_size_bytes(limit))
    for line in raw:
        collector.line(line)
    assert status["results"] == [one.to_dict() for one in collector.results()]
    assert set(status["transport"]) <= set(collector.reading().transport)
    assert status["conditions"][1]["reason"] == ("JobSucceeded" if status["results"] else "NoDataCollected")


def sample(which: str, size_bytes: int, value: str) -> str:
    return (f'nvcre_nccl_{which}_gbs{{job="",measurement="a\\"b\\n",message_size_bytes="{size_bytes}",namespace="",'
            f'nccl_test="alltoall",workflow=""}} {value}\n')
