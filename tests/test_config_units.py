"""Quantities with units: what they mean, what is refused, how they are spelled again."""

from __future__ import annotations

import pytest

from distsim.quantities import parse_rate, parse_size, parse_time, spell_rate, spell_size, spell_time


@pytest.mark.parametrize(("text", "ps"), [
    ("100ns", 100_000), ("1.5us", 1_500_000), ("2 ms", 2 * 10**9), ("1s", 10**12), ("7ps", 7), ("0", 0), (0, 0),
    ("3\u00b5s", 3_000_000), ("1e3ns", 1_000_000), (".5ns", 500),
])
def test_times(text: object, ps: int) -> None:
    assert parse_time(text) == ps


@pytest.mark.parametrize(("text", "size_bytes"), [
    ("4MB", 4_000_000), ("64KiB", 65_536), ("256KB", 256_000), ("1GiB", 1_073_741_824), ("12B", 12), ("1.5KB", 1500),
])
def test_sizes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(("text", "bps"), [("400Gbps", 4 * 10**11), ("31.52Gbps", 31_520_000_000), ("1Tbps", 10**12)])
def test_rates(text: str, bps: int) -> None:
    assert parse_rate(text) == bps


@pytest.mark.parametrize(("value", "words"), [
    (100, "has no unit; a time needs one of ps, ns, us, ms, s"),
    ("100", "has no unit"),
    ("100 nanoseconds", "unknown unit 'nanoseconds'"),
    ("100KB", "unknown unit 'KB'"),
    ("-1ns", "is negative"),
    ("0.3ps", "is not a whole number of ps"),
    ("1e30s", "is too large"),
    ("9223373s", "is too large"),
    ("1e999s", "is too large"),
    (True, "is not a time"),
    ([1], "is not a time"),
    ("ns", "is not a time"),
    ("\u0661ns", "is not a time"),
])
def test_wrong_times(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_time(value)


def test_the_case_of_a_unit_matters() -> None:
    with pytest.raises(ValueError, match="unknown unit 'Mb'"):
        parse_size("4Mb")
    with pytest.raises(ValueError, match="unknown unit 'gbps'"):
        parse_rate("400gbps")


def test_spelling_is_exact_and_in_the_largest_unit() -> None:
    assert [spell_time(ps) for ps in (0, 7, 100_000, 4_500_000, 6_000_000, 10**12)] == [
        "0ps", "7ps", "100ns", "4500ns", "6us", "1s"]
    assert [spell_size(size) for size in (0, 626_650, 300_000, 4_000_000, 65_536)] == [
        "0B", "626650B", "300KB", "4MB", "65536B"]
    assert [spell_rate(bps) for bps in (4 * 10**11, 31_520_000_000, 51_200 * 10**9)] == [
        "400Gbps", "31520Mbps", "51200Gbps"]


@pytest.mark.parametrize("ps", [1, 999, 123_456_789, 10**15 + 1])
def test_spelled_times_read_back(ps: int) -> None:
    assert parse_time(spell_time(ps)) == ps
