"""A measurement while its job runs, in simulated time: samples, the final read, conditions and their times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from measure_cases import HEADER, profile, row

from distsim.measure.collect import Reading
from distsim.measure.lifecycle import JobStatus
from distsim.measure.live import SECOND_PS, JobMeasurement, spell_ps
from distsim.measure.reader import LINE_LIMIT_BYTES
from distsim.measure.status import Result

S = SECOND_PS
NETWORK = "host:1:1 [0] NCCL INFO Using network "
RUNNING = {"type": "Measuring", "status": "True", "lastTransitionTime": "1970-01-01T00:00:01Z", "reason": "JobRunning",
           "message": "Referenced Job is running, measurement in progress"}
TAIL_NONE = "no bandwidth data was parsed"
TAIL_PROVISIONAL = "results are provisional and are not used for threshold evaluation"


def started(interval_s: float = 10, at_s: int = 1, **options: Any) -> JobMeasurement:
    measurement = JobMeasurement(profile(), interval_ps=round(interval_s * S), **options)
    measurement.job_started(at_s * S)
    return measurement


def write(measurement: JobMeasurement, at_s: float, *lines: str) -> None:
    for line in lines:
        measurement.log_written(round(at_s * S), line.rstrip("\n"))


def shown(measurement: JobMeasurement) -> list[tuple[int, str, str, int]]:
    return [(one.size_bytes, one.algbw, one.busbw, one.samples) for one in measurement.status.results]


def complete_of(measurement: JobMeasurement) -> dict[str, str]:
    (found,) = [one for one in measurement.status.to_dict()["conditions"] if one["type"] == "Complete"]
    assert found["status"] == "True"
    return dict(found)


def measuring_of(measurement: JobMeasurement) -> dict[str, str]:
    (found,) = [one for one in measurement.status.to_dict()["conditions"] if one["type"] == "Measuring"]
    return dict(found)


def failing(*causes: str | None, retryable: bool = True) -> tuple[Callable[[], Reading], list[int]]:
    """A final read that fails once for each cause (the last one for ever) and then gives one row; counts its calls."""
    calls: list[int] = []

    def read() -> Reading:
        calls.append(1)
        cause = causes[min(len(calls), len(causes)) - 1]
        return Reading(cause=cause, retryable=retryable) if cause else Reading([Result(8, "5.00", "6.00", 1)], ["IB"])

    return read, calls


def test_before_the_job_starts_there_is_no_condition() -> None:
    measurement = JobMeasurement(profile())
    measurement.advance(100 * S)
    assert measurement.status.to_dict() == {"results": [], "transport": [], "conditions": []}


def test_a_job_that_runs_is_being_measured() -> None:
    measurement = started()
    assert measurement.status.to_dict() == {
        "results": [], "transport": [], "startTime": "1970-01-01T00:00:01Z", "conditions": [RUNNING]}


def test_a_sample_sees_what_was_written_before_it() -> None:
    """Start at 1 s, samples at 11 s, 21 s, ...: a row of 10.9 s is seen at 11 s, one of 11 s at 21 s."""
    measurement = started()
    write(measurement, 10.9, NETWORK + "IB", row(8, "1.00", "2.00"))
    assert (shown(measurement), measurement.status.transport) == ([], [])
    write(measurement, 11, row(16, "3.00", "4.00"))
    assert (shown(measurement), measurement.status.transport) == ([(8, "1.00", "2.00", 1)], ["IB"])
    measurement.advance(21 * S - 1)
    assert len(shown(measurement)) == 1
    measurement.advance(21 * S)
    assert shown(measurement)[1] == (16, "3.00", "4.00", 1)


def test_a_sample_reads_the_second_before_the_last_sample_again() -> None:
    """Samples at 11 s and 21 s. The row of 9.9 s counts once; those of 10 s (11 - 1) and 10.5 s count twice."""
    measurement = started()
    write(measurement, 9.9, row(8, "1.00", "1.00"))
    write(measurement, 10, row(16, "1.00", "1.00"))
    write(measurement, 10.5, row(32, "1.00", "1.00"))
    measurement.advance(21 * S)
    assert [one[3] for one in shown(measurement)] == [1, 2, 2]
    measurement.advance(100 * S)
    assert [one[3] for one in shown(measurement)] == [1, 2, 2], "the sample at 31 s starts at 20 s"


def test_provisional_averages_carry_on_from_rounded_ones_and_drift() -> None:
    """Three rows at 2 s: (0.01 + 0.01 + 0.02) / 3 = 0.0133 -> 0.01. One of 0.05 at 12 s: (3 * 0.01 + 0.05) / 4 = 0.02.

    Bus: (1.00 + 1.00 + 1.01) / 3 = 1.0033 -> 1.00, then (3 * 1.00 + 1.03) / 4 = 1.0075 -> 1.01.
    The final ones are 0.09 / 4 = 0.0225 -> 0.02 and 4.04 / 4 = 1.01.
    """
    measurement = started()
    write(measurement, 2, row(8, "0.01", "1.00"), row(8, "0.01", "1.00"), row(8, "0.02", "1.01"))
    write(measurement, 12, row(8, "0.05", "1.03"))
    assert shown(measurement) == [(8, "0.01", "1.00", 3)]
    measurement.advance(21 * S)
    assert shown(measurement) == [(8, "0.02", "1.01", 4)]


def test_a_provisional_average_weighs_as_many_rows_as_it_has_samples() -> None:
    """Three rows of 2.00 and 3.00, then one of 4.00 and 7.00: (3 * 2 + 4) / 4 = 2.50 and (3 * 3 + 7) / 4 = 4.00."""
    measurement = started()
    write(measurement, 2, *[row(8, "2.00", "3.00")] * 3)
    write(measurement, 12, row(8, "4.00", "7.00"))
    measurement.advance(21 * S)
    assert shown(measurement) == [(8, "2.50", "4.00", 4)]


def test_drift_is_gone_in_the_final_result() -> None:
    """0.014 is printed 0.01 each time: rows 0.01, 0.02 -> 0.015 -> 0.01 (binary); then 0.02: (2 * 0.01 + 0.02) / 3
    = 0.0133 -> 0.01. All at once: 0.05 / 3 = 0.0167 -> 0.02."""
    measurement = started()
    write(measurement, 2, row(8, "0.01", "1.00"), row(8, "0.02", "1.00"))
    write(measurement, 12, row(8, "0.02", "1.00"))
    measurement.advance(21 * S)
    assert shown(measurement)[0][1] == "0.01"
    measurement.job_finished(22 * S, JobStatus.SUCCEEDED)
    assert shown(measurement) == [(8, "0.02", "1.00", 3)]


def test_the_result_does_not_depend_on_the_samples() -> None:
    def measured(interval_s: float) -> dict[str, Any]:
        measurement = started(interval_s)
        for at, line in enumerate([NETWORK + "IB\r", *HEADER.splitlines(), row(8), row(16), row(8, "9.00"), "x"]):
            write(measurement, 2 + 0.3 * at, line)
        measurement.job_finished(5 * S, JobStatus.SUCCEEDED)
        return measurement.status.to_dict()

    assert measured(0.001) == measured(0.7) == measured(1000)
    assert measured(1)["results"][0] == {"sizeBytes": 8, "algBW": "5.25", "busBW": "2.50", "samples": 2}
    assert measured(1)["transport"] == ["IB"]


def test_a_job_that_succeeded_has_final_results() -> None:
    measurement = started()
    write(measurement, 1.5, NETWORK + "Socket", row(8))
    measurement.job_finished(round(1.75 * S), JobStatus.SUCCEEDED)
    done = {"lastTransitionTime": "1970-01-01T00:00:01.75Z", "reason": "JobSucceeded", "message": "Job succeeded"}
    assert measurement.status.to_dict() == {
        "results": [{"sizeBytes": 8, "algBW": "1.50", "busBW": "2.50", "samples": 1}], "transport": ["Socket"],
        "startTime": "1970-01-01T00:00:01Z", "completionTime": "1970-01-01T00:00:01.75Z",
        "conditions": [{"type": "Measuring", "status": "False", **done},
                       {"type": "Complete", "status": "True", **done}]}
    assert measurement.complete


def test_the_terminal_status_is_written_once() -> None:
    measurement = started()
    write(measurement, 2, row(8))
    measurement.job_finished(3 * S, JobStatus.SUCCEEDED)
    before = measurement.status.to_dict()
    write(measurement, 4, row(16))
    measurement.job_finished(5 * S, JobStatus.FAILED)
    measurement.job_gone(6 * S)
    measurement.advance(1000 * S)
    assert measurement.status.to_dict() == before


def test_a_log_without_rows_gives_no_data() -> None:
    measurement = started()
    write(measurement, 2, NETWORK + "IB", HEADER)
    measurement.job_finished(3 * S, JobStatus.SUCCEEDED)
    assert shown(measurement) == [] and measurement.status.transport == ["IB"]
    assert complete_of(measurement)["reason"] == "NoDataCollected"
    assert complete_of(measurement)["message"] == ("Job succeeded but no bandwidth data was parsed; check "
                                                   "spec.logProfileRef")


def test_a_failed_job_keeps_what_its_log_holds() -> None:
    measurement = started()
    write(measurement, 2, row(8, "1.00", "2.00"), row(8, "2.00", "4.00"))
    measurement.job_finished(3 * S, JobStatus.FAILED)
    assert shown(measurement) == [(8, "1.50", "3.00", 2)]
    assert (complete_of(measurement)["reason"], complete_of(measurement)["message"]) == ("JobFailed", "Job failed")


def test_a_failed_job_is_read_once_and_keeps_provisional_results() -> None:
    read, calls = failing("the pod is gone")
    measurement = started(final_read=read)
    write(measurement, 2, row(8))
    measurement.job_finished(12 * S, JobStatus.FAILED)
    assert (len(calls), shown(measurement)) == (1, [(8, "1.50", "2.50", 1)])
    assert complete_of(measurement)["reason"] == "JobFailed"


def test_a_failed_job_whose_log_holds_no_row_keeps_provisional_results() -> None:
    """100 bytes of log: the row (120 bytes) is rotated away after the sample at 11 s has seen it."""
    measurement = started(rotate_bytes=150)
    write(measurement, 2, row(8))
    write(measurement, 12, "x" * 60)
    measurement.job_finished(13 * S, JobStatus.FAILED)
    assert shown(measurement) == [(8, "1.50", "2.50", 1)]


def test_a_final_read_that_fails_is_retried() -> None:
    """The job ends at 5 s; reads at 5, 20 and 35 s; completionTime stays the job's own."""
    read, calls = failing("unreachable", "unreachable", None)
    measurement = started(final_read=read)
    measurement.job_finished(5 * S, JobStatus.SUCCEEDED)
    assert measurement.status.to_dict()["conditions"] == [
        {"type": "Measuring", "status": "False", "lastTransitionTime": "1970-01-01T00:00:05Z",
         "reason": "FinalReadPending", "message": "Job succeeded; waiting to read its complete log"}]
    assert not measurement.complete and measurement.deadline_ps() == 305 * S
    measurement.advance(35 * S - 1)
    assert (len(calls), measurement.complete) == (2, False)
    measurement.advance(35 * S)
    status = measurement.status.to_dict()
    assert (len(calls), status["results"][0]["algBW"], status["transport"]) == (3, "5.00", ["IB"])
    assert status["completionTime"] == "1970-01-01T00:00:05Z"
    assert [one["lastTransitionTime"] for one in status["conditions"]] == ["1970-01-01T00:00:05Z",
                                                                          "1970-01-01T00:00:35Z"]
    assert complete_of(measurement)["reason"] == "JobSucceeded"


@pytest.mark.parametrize(("timeout_s", "given_up_s"), [(300, 305), (60, 125), (121, 126)])
def test_retries_end_after_the_timeout_and_never_before_two_minutes(timeout_s: int, given_up_s: int) -> None:
    read, _ = failing("unreachable")
    measurement = started(final_read=read, timeout_ps=timeout_s * S)
    write(measurement, 2, row(8))
    measurement.job_finished(5 * S, JobStatus.SUCCEEDED)
    measurement.advance(given_up_s * S - 1)
    assert not measurement.complete
    measurement.advance(given_up_s * S)
    complete = complete_of(measurement)
    assert complete["reason"] == "LogsUnavailable"
    assert complete["message"] == f"Job succeeded but its log could not be read in full (unreachable); {TAIL_NONE}"
    assert complete["lastTransitionTime"] == spell_ps(given_up_s * S)
    assert measurement.status.completion == "1970-01-01T00:00:05Z"


def test_a_sampled_result_is_kept_as_provisional() -> None:
    read, _ = failing("unreachable")
    measurement = started(final_read=read)
    write(measurement, 2, row(8))
    measurement.job_finished(12 * S, JobStatus.SUCCEEDED)
    measurement.advance(1000 * S)
    assert shown(measurement) == [(8, "1.50", "2.50", 1)]
    assert complete_of(measurement)["message"].endswith(f"(unreachable); {TAIL_PROVISIONAL}")


def test_a_read_that_can_never_work_is_not_retried() -> None:
    read, calls = failing("too many pages", retryable=False)
    measurement = started(final_read=read)
    measurement.job_finished(5 * S, JobStatus.SUCCEEDED)
    assert (len(calls), complete_of(measurement)["reason"]) == (1, "LogsUnavailable")


def test_a_line_over_one_mebibyte_fails_samples_and_the_final_read() -> None:
    measurement = started()
    write(measurement, 2, row(8))
    write(measurement, 12, row(16), "x" * (LINE_LIMIT_BYTES + 1), row(32))
    measurement.job_finished(40 * S, JobStatus.SUCCEEDED)
    assert shown(measurement) == [(8, "1.50", "2.50", 1)], "the sample at 11 s was the last that could be taken"
    assert complete_of(measurement)["message"] == (
        f"Job succeeded but its log could not be read in full (line 3 is longer than 1 MiB); {TAIL_PROVISIONAL}")


def test_rotation_takes_rows_and_a_long_line_from_the_final_read() -> None:
    """40 bytes and rows of 119: the third row exceeds 300. The first file is lost with it, the fourth row is not."""
    measurement = started(rotate_bytes=300)
    write(measurement, 2, NETWORK + "IB", row(1), row(2), row(3), row(4))
    measurement.job_finished(3 * S, JobStatus.SUCCEEDED)
    assert [one[0] for one in shown(measurement)] == [4]
    assert measurement.status.transport == [], "no sample saw it"
    assert measurement.status.to_dict()["hints"] == [
        "the log was rotated once at containerLogMaxSize (300 bytes); 3 rows in rotated files are not counted"]
    long = started(rotate_bytes=10 * 2**20)
    write(long, 2, "x" * (LINE_LIMIT_BYTES + 1), *["y" * 2**20] * 9, row(8), row(16))
    assert long._too_long is None  # the tenth line of 1 MiB and a newline is over 10 MiB
    long.job_finished(3 * S, JobStatus.SUCCEEDED)
    assert complete_of(long)["reason"] == "JobSucceeded"


def test_samples_read_the_current_file_only() -> None:
    """Rows 1 to 3 (357 bytes) are rotated away before the sample at 11 s; row 4 is not."""
    measurement = started(rotate_bytes=300)
    write(measurement, 2, *(row(size) for size in (1, 2, 3, 4)))
    measurement.advance(11 * S)
    assert [one[0] for one in shown(measurement)] == [4]


def test_a_sampled_network_survives_rotation() -> None:
    measurement = started(rotate_bytes=300)
    write(measurement, 2, NETWORK + "IB")
    write(measurement, 12, *(row(size) for size in (1, 2, 3)), NETWORK + "Socket")
    measurement.job_finished(13 * S, JobStatus.SUCCEEDED)
    assert measurement.status.transport == ["IB", "Socket"]


def test_a_profile_that_does_not_resolve() -> None:
    measurement = JobMeasurement(None, profile_name="mine")
    measurement.job_started(S)
    assert measuring_of(measurement) == {
        "type": "Measuring", "status": "False", "lastTransitionTime": "1970-01-01T00:00:01Z",
        "reason": "LogProfileNotFound",
        "message": 'LogProfile "mine" could not be resolved: getting LogProfile mine: not found'}
    write(measurement, 2, row(8))
    measurement.job_finished(5 * S, JobStatus.SUCCEEDED)
    assert measuring_of(measurement)["reason"] == "FinalReadPending"
    assert measuring_of(measurement)["lastTransitionTime"] == "1970-01-01T00:00:05Z", "when the waiting began"
    measurement.advance(305 * S)
    assert complete_of(measurement)["message"] == (
        f"Job succeeded but its log could not be read in full (getting LogProfile mine: not found); {TAIL_NONE}")


def test_a_job_that_is_gone_or_replaced() -> None:
    waiting = JobMeasurement(profile())
    waiting.job_gone(S)
    assert not waiting.complete, "a measurement that never saw its job keeps waiting"
    gone = started()
    write(gone, 2, row(8))
    gone.job_gone(12 * S)
    assert complete_of(gone) == {
        "type": "Complete", "status": "True", "lastTransitionTime": "1970-01-01T00:00:12Z",
        "reason": "LogsUnavailable", "message": f"Referenced Job no longer exists; {TAIL_PROVISIONAL}"}
    assert gone.status.completion == "1970-01-01T00:00:12Z"
    replaced = JobMeasurement(profile())
    replaced.job_started(S, "uid-1")
    replaced.job_started(2 * S, "uid-2")
    assert complete_of(replaced)["message"] == f"Referenced Job no longer exists; {TAIL_NONE}"
    pending = started(final_read=failing("unreachable")[0])
    pending.job_finished(5 * S, JobStatus.SUCCEEDED)
    pending.job_gone(6 * S)
    assert complete_of(pending)["message"].startswith("Referenced Job no longer exists")


def test_a_job_that_ends_before_it_starts_has_no_start_time() -> None:
    measurement = JobMeasurement(profile())
    measurement.job_finished(S, JobStatus.FAILED)
    assert list(measurement.status.to_dict()) == ["results", "transport", "completionTime", "conditions"]


def test_hints_and_wrong_rows_of_the_final_read() -> None:
    measurement = started()
    write(measurement, 2, "[1,0]<stdout>:" + row(8))
    measurement.job_finished(3 * S, JobStatus.SUCCEEDED)
    assert "--profile nccl-bandwidth-tagged reads" in measurement.status.hints[0]
    wrong = started()
    write(wrong, 2, row(8, wrong="3"))
    wrong.job_finished(3 * S, JobStatus.SUCCEEDED)
    assert wrong.status.to_dict()["wrongRows"] == 1


def test_misuse_is_refused() -> None:
    measurement = started()
    with pytest.raises(ValueError, match="lies before"):
        measurement.advance(0)
    with pytest.raises(ValueError, match="started before"):
        measurement.job_started(2 * S)
    measurement = started(final_read=failing("unreachable")[0])
    measurement.job_finished(2 * S, JobStatus.SUCCEEDED)
    with pytest.raises(ValueError, match="ended before"):
        measurement.job_finished(3 * S, JobStatus.SUCCEEDED)
    with pytest.raises(ValueError, match="more than 0"):
        JobMeasurement(profile(), interval_ps=0)


def test_a_long_idle_time_costs_nothing() -> None:
    """A million years of samples a microsecond apart would not end, were each of them taken."""
    measurement = started(1e-6)
    measurement.advance(10**9 * S)
    write(measurement, 10**9, row(8))
    measurement.advance(10**9 * S + 10**6)
    assert shown(measurement) == [(8, "1.50", "2.50", 1)]


@pytest.mark.parametrize(("time_ps", "text"), [
    (0, "1970-01-01T00:00:00Z"), (S, "1970-01-01T00:00:01Z"), (S // 4, "1970-01-01T00:00:00.25Z"),
    (86_399 * S + 1_000, "1970-01-01T23:59:59.000000001Z"), (999, "1970-01-01T00:00:00Z")])
def test_simulated_times(time_ps: int, text: str) -> None:
    assert spell_ps(time_ps) == text
