"""From the final read to a complete measurement, with a clock that the test holds; Go durations, sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from measure_cases import profile, results, row

from distsim.errors import InputError
from distsim.measure import JobStatus, Reason, measure
from distsim.measure.collect import Reading, read_log
from distsim.measure.lifecycle import complete, final_read
from distsim.measure.reader import LINE_LIMIT_BYTES
from distsim.measure.status import Result
from distsim.measure.units import parse_duration_s, parse_size_bytes

ONE = [Result(8, "1.50", "2.50", 1)]
FAILED = Reading(cause="the pod is away", retryable=True)


class Clock:
    """Time that passes while one sleeps; each read takes a second."""

    def __init__(self, readings: list[Reading]):
        self.time, self.readings, self.reads, self.said = 0.0, readings, 0, list[str]()

    def read(self) -> Reading:
        self.time += 1
        self.reads += 1
        return self.readings[min(self.reads, len(self.readings)) - 1]

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def run(self, retry_s: float) -> Reading:
        return final_read(self.read, retry_s, now=lambda: self.time, sleep=self.sleep, say=self.said.append)


def test_a_read_that_works_is_the_only_one() -> None:
    clock = Clock([Reading(results=ONE)])
    assert clock.run(300).results == ONE
    assert (clock.reads, clock.said) == (1, [])


def test_a_failed_read_is_retried_and_says_so_once() -> None:
    clock = Clock([FAILED, FAILED, Reading(results=ONE)])
    assert clock.run(300).results == ONE
    assert clock.reads == 3
    assert clock.said == ["FinalReadPending: Job succeeded; waiting to read its complete log (the pod is away)"]


def test_retries_end_when_the_time_since_the_first_failure_is_over() -> None:
    """First failure at 1 s; a retry every 16 s (15 of sleep, 1 of reading) up to 121 s: 17, 33, ... 113, and 122."""
    clock = Clock([FAILED])
    assert clock.run(120).cause == "the pod is away"
    assert (clock.reads, clock.time) == (9, 122.0)


def test_what_can_never_be_read_is_not_retried() -> None:
    clock = Clock([Reading(cause="line 1 is longer than 1 MiB", retryable=False)])
    clock.run(300)
    assert (clock.reads, clock.said) == (1, [])


@pytest.mark.parametrize(("reading", "job", "reason", "message"), [
    (Reading(results=ONE), "succeeded", "JobSucceeded", "Job succeeded"),
    (Reading(), "succeeded", "NoDataCollected",
     "Job succeeded but no bandwidth data was parsed; check spec.logProfileRef"),
    (Reading(cause="gone"), "succeeded", "LogsUnavailable",
     "Job succeeded but its log could not be read in full (gone); no bandwidth data was parsed"),
    (Reading(results=ONE, cause="gone"), "succeeded", "LogsUnavailable",
     "Job succeeded but its log could not be read in full (gone); results are provisional and are not used for "
     "threshold evaluation"),
    (Reading(results=ONE), "failed", "JobFailed", "Job failed"),
    (Reading(cause="gone"), "failed", "JobFailed", "Job failed"),
])
def test_the_reason_and_its_message(reading: Reading, job: str, reason: str, message: str) -> None:
    status = complete(reading, JobStatus(job)).to_dict()
    assert status["conditions"] == [
        {"type": "Measuring", "status": "False", "reason": reason, "message": message},
        {"type": "Complete", "status": "True", "reason": reason, "message": message}]
    rows = [{"sizeBytes": 8, "algBW": "1.50", "busBW": "2.50", "samples": 1}]
    assert status["results"] == rows[:len(reading.results)]


def test_times_are_written_in_utc_to_the_second(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"2026-08-06T23:59:59.999-07:00 {row(8)}2026-08-07T00:01:00+00:00 end\n")
    status = measure(str(log), profile()).status.to_dict()
    assert list(status) == ["results", "transport", "startTime", "completionTime", "conditions"]
    assert (status["startTime"], status["completionTime"]) == ("2026-08-07T06:59:59Z", "2026-08-07T00:01:00Z")
    assert status["conditions"][1]["lastTransitionTime"] == "2026-08-07T00:01:00Z"


def test_a_line_over_one_mebibyte_ends_the_read_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(row(8) + "x" * (LINE_LIMIT_BYTES + 1) + "\n" + row(16))
    status = measure(str(log), profile(), timeout_s=3600).status
    assert status.reason is Reason.LOGS_UNAVAILABLE
    assert status.results == ONE, "what was read before it is provisional"
    assert "(line 2 is longer than 1 MiB); results are provisional" in status.message


def test_a_missing_log_is_an_error_unless_it_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    with pytest.raises(InputError, match="log: cannot be read: No such file or directory"):
        measure(str(log), profile())
    monkeypatch.setattr("distsim.measure.lifecycle.final_read", lambda read, retry_s, say: Reading(cause=f"{retry_s}"))
    assert "(120.0)" in measure(str(log), profile(), timeout_s=60).status.message, "never less than two minutes"
    assert "(600.0)" in measure(str(log), profile(), timeout_s=600.0).status.message
    monkeypatch.undo()
    failed = measure(str(log), profile(), timeout_s=600, job=JobStatus.FAILED)
    assert failed.status.reason is Reason.JOB_FAILED, "a failed job's log is read once"


def test_a_read_that_breaks_off_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_text(row(8))

    def broken(stream: object) -> object:
        yield row(8).rstrip().encode()
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("distsim.measure.collect.log_lines", broken)
    reading = read_log(str(log), profile())
    assert results(reading) == [(8, "1.50", "2.50", 1)]
    assert (reading.cause, reading.retryable) == ("Input/output error", True)


def test_a_compressed_log_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.gz"
    log.write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(InputError, match="is compressed by gzip; unpack it first"):
        measure(str(log), profile())


@pytest.mark.parametrize(("text", "seconds"), [
    ("60s", 60), ("5m", 300), ("1h30m", 5400), ("1.5h", 5400), ("100ms", 0.1), ("2m0.5s", 120.5), ("0", 0),
    ("+10m", 600), ("1us", 1e-6), ("1\u00b5s", 1e-6), (".5s", 0.5)])
def test_go_durations(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "-5m", "5d", "1h 30m", "5m3", "1e3s", "s5", "2562048h",
                                  "\u0665m"])
def test_what_is_no_go_duration(text: str) -> None:
    with pytest.raises(ValueError, match="Go duration"):
        parse_duration_s(text)


def test_kubernetes_sizes() -> None:
    assert [parse_size_bytes(text) for text in ("10Mi", "64Ki", "1k", "300", "1G")] == [
        10 * 1024 * 1024, 65536, 1000, 300, 10**9]
    for text in ("", "0", "10MB", "-1", "1.5Mi", "Mi", "10 Mi"):
        with pytest.raises(ValueError, match="is not a size"):
            parse_size_bytes(text)
