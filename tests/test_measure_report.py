"""The -J report of newer nccl-tests."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from measure_cases import profile, results

from distsim.measure.collect import Reading, read_log
from distsim.measure.json_report import is_report, read_report


def entry(size_bytes: Any, algbw: Any, busbw: Any, nwrong: Any = 0.0, **more: Any) -> dict[str, Any]:
    half = {"time": 35.0, "alg_bw": algbw, "bus_bw": busbw, "nwrong": nwrong}
    other = {"time": 33.0, "alg_bw": 9.99, "bus_bw": 9.99, "nwrong": 0.0}
    return {"size": size_bytes, "count": size_bytes // 4, "type": "float", "redop": "sum", "root": "    -1",
            "out_of_place": half, "in_place": other, "actual_iterations": 20,
            "experiment_name": "all_reduce_perf", **more}


def report(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "start_time": "2026-01-01 10:00:00", "args": ["all_reduce_perf", "-J", "x"],
            "env": ['A="results":[{"size":1}]'], "nccl_version": 22902, "config": {"nthreads": 1, "devices": []},
            "results": list(entries), "out_of_bounds": {"count": 0, "okay": "true"},
            "average_bus_bandwidth": {"bandwidth": 2.0, "okay": "unchecked"}, "errors": [], "end_time": "2026"}


def read(tmp_path: Path, text: str) -> Reading:
    path = tmp_path / "report.json"
    path.write_text(text)
    return read_log(str(path), profile())


@pytest.mark.parametrize("layout", [{"separators": (",", ":")}, {"indent": 2}, {}])
def test_rows_are_averaged_as_those_of_a_log(tmp_path: Path, layout: dict[str, Any]) -> None:
    """(1.004 + 1.002) / 2 = 1.003 and (2.01 + 2.02) / 2 = 2.015, whose nearest double lies above it."""
    text = json.dumps(report(entry(8, 1.004, 2.01), entry(16, 3.0, 4.0), entry(8, 1.002, 2.02)), **layout)
    reading = read(tmp_path, text)
    assert results(reading) == [(8, "1.00", f"{(2.01 + 2.02) / 2:.2f}", 2), (16, "3.00", "4.00", 1)]
    assert (reading.cause, reading.start, reading.transport) == (None, None, [])


def test_numbers_that_printf_spells_its_own_way(tmp_path: Path) -> None:
    """A time of 0 gives inf, which is not JSON; nan is written as text. Such rows do not count."""
    text = json.dumps(report(entry(8, 111.5, 2.0), entry(16, "nan", "nan"), entry(32, 1.0, 222.5)))
    reading = read(tmp_path, text.replace("111.5", "inf").replace("222.5", "-inf"))
    assert results(reading) == []
    assert reading.cause is None


def test_a_trace_replay_has_the_in_place_half_only(tmp_path: Path) -> None:
    reading = read(tmp_path, json.dumps(report(entry(8, 1.0, 2.0, out_of_place=None))))
    assert results(reading) == [(8, "9.99", "9.99", 1)]


def test_wrong_rows(tmp_path: Path) -> None:
    reading = read(tmp_path, json.dumps(report(entry(8, 1.0, 2.0, 3.0), entry(8, 1.0, 2.0, None), entry(8, 1.0, 2.0))))
    assert reading.wrong_rows == 1


@pytest.mark.parametrize("bad", [{"size": -1}, {"size": True}, {"size": "8"}, {"size": 2**63}, {"size": None},
                                 {"out_of_place": [], "in_place": 3}])
def test_entries_that_are_no_row_are_passed_over(tmp_path: Path, bad: dict[str, Any]) -> None:
    reading = read(tmp_path, json.dumps(report(entry(8, 1.0, 2.0, **bad), entry(16, 1.0, 2.0))))
    assert [one[0] for one in results(reading)] == [16]


def test_a_report_that_ends_early_gives_what_it_has(tmp_path: Path) -> None:
    text = json.dumps(report(entry(8, 1.0, 2.0), entry(16, 3.0, 4.0)))
    reading = read(tmp_path, text[:text.index('"count": 4,')])
    assert results(reading) == [(8, "1.00", "2.00", 1)]
    assert (reading.cause, reading.retryable) == ("the JSON report ends before its results do", True)
    assert read(tmp_path, '{"version": 1}').cause == "the JSON report has no results"


def test_a_row_without_end_is_given_up(tmp_path: Path) -> None:
    reading = read(tmp_path, '{"results": [{"size": "' + "x" * (3 << 20))
    assert (reading.cause, reading.retryable) == ("the JSON report holds a row that is not JSON", False)
    assert read(tmp_path, '{"results": [' + "[" * 200_000).cause is not None


def test_rows_may_lie_across_the_pieces_in_which_a_report_is_read() -> None:
    """A stream that gives 7 bytes at a time, with inf cut in two somewhere."""
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(7)

    text = json.dumps(report(*(entry(size, 1.0, 2.0) for size in range(20)), entry(99, 111.5, 2.0)))
    rows = list(read_report(Slow(text.replace("111.5", "inf").encode())))
    assert [row.size_bytes for row in rows] == list(range(20))


@pytest.mark.parametrize(("head", "answer"), [
    (b'{"version":1', True), (b' \n{ "args" : [', True), (b'{"log":"line","stream":"stdout"}', False), (b"{", False),
    (b"# nccl-tests version", False), (b"", False)])
def test_a_report_is_known_by_its_first_key(head: bytes, answer: bool) -> None:
    assert is_report(head) is answer
