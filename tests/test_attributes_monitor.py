"""Filters and triggers of uet-monitor: exactly the rows of the connections chosen, out of those of a run that logs all.

The end that is chosen logs from that row on, the other end from 10 us later on.
"""

from __future__ import annotations

from typing import Any

import pytest
from attribute_cases import MONITOR, run

FAR_NS = 10_000.0
FILTERS = {              # value, and the end that it chooses
    MONITOR + "FilterOnFepId": ("2", 2),
    MONITOR + "FilterOnLocalIp": ("32.0.0.3", 2),
    MONITOR + "FilterOnRemoteIp": ("32.0.0.3", 0),
    MONITOR + "FilterOnPdc": ("32.0.0.3:1", 2),
}
TRIGGERS = {
    MONITOR + "TriggerLoggingOnRttEnable": [("crowd", "RTT_ns", 1_000, 2)],
    MONITOR + "TriggerLoggingOnRttThreshold": [("crowd", "RTT_ns", 1_000, 2), ("crowd", "RTT_ns", 4_000, 2)],
    MONITOR + "TriggerLoggingOnCWindPen": [("slow host", "receiver_congestion_window_penalty", 1, 2)],
    MONITOR + "TriggerLoggingOnCWindPenThreshold": [
        ("slow host", "receiver_congestion_window_penalty", 1, 2),
        ("slow host", "receiver_congestion_window_penalty", 60, 2)],
    MONITOR + "TriggeredLoggingPDCLimit": [("crowd", "RTT_ns", 1_000, limit) for limit in (0, 1, 3, 5)],
}
Row = dict[str, Any]


def rows_of(base: str, changes: dict[str, Any] | None = None) -> list[Row]:
    """uet-monitor, each row with the sender of its connection: in these bases every one sends to NIC 0."""
    found = run(base, changes)
    if "uet-monitor" not in found.records:
        return []
    rows = found.frame("uet-monitor").to_dicts()
    for row in rows:
        ends = {int(row[name].split(":")[0].split(".")[3]) - 1 for name in ("local_PDC_ID", "remote_PDC_ID")}
        (row["sender"],) = ends - {0}
    return rows


def chosen_rows(rows: list[Row], first: dict[int, int]) -> list[Row]:
    """What is logged of connections (by sender) whose first logged row is the one at an index."""
    kept = []
    for at, row in enumerate(rows):
        begin = first.get(row["sender"])
        if begin is None:
            continue
        near = row["FEP_ID"] == rows[begin]["FEP_ID"]
        if (near and at >= begin) or (not near and row["sim_time_ns"] >= rows[begin]["sim_time_ns"] + FAR_NS):
            kept.append(row)
    return kept


def assert_same(found: list[Row], expected: list[Row]) -> None:
    """Equal; the first difference is short to read."""
    for one, other in zip(found, expected):
        assert one == other
    assert len(found) == len(expected)


@pytest.mark.parametrize("path", FILTERS)
def test_filters(path: str) -> None:
    value, end = FILTERS[path]
    rows = rows_of("crowd")
    begin = next(at for at, row in enumerate(rows) if row["FEP_ID"] == end and row["sender"] == 2)
    found = rows_of("crowd", {path: value})
    assert_same(found, chosen_rows(rows, {2: begin}))
    assert {row["FEP_ID"] for row in found} == {0, 2} and len(found) < len(rows)


@pytest.mark.parametrize("path", FILTERS)
def test_a_filter_that_nothing_matches(path: str) -> None:
    nobody = {"FilterOnFepId": "7", "FilterOnPdc": "32.0.0.3:2"}.get(path.removeprefix(MONITOR), "32.0.0.8")
    assert rows_of("crowd", {path: nobody}) == []


@pytest.mark.parametrize("base, column, least, limit", [case for cases in TRIGGERS.values() for case in cases])
def test_triggers(base: str, column: str, least: int, limit: int) -> None:
    """The first connections, in order of time and FEP id, of which a row reaches the threshold."""
    rows = rows_of(base)
    first: dict[int, int] = {}
    for at, row in enumerate(rows):
        if row[column] is not None and row[column] >= least:
            first.setdefault(row["sender"], at)
    assert len(first) == 5
    order = sorted(first, key=lambda sender: (rows[first[sender]]["sim_time_ns"], rows[first[sender]]["FEP_ID"]))
    expected = chosen_rows(rows, {sender: first[sender] for sender in order[:limit]})
    if column == "RTT_ns":
        settings = {"TriggerLoggingOnRttEnable": True, "TriggerLoggingOnRttThreshold": f"{least}ns"}
    else:
        settings = {"TriggerLoggingOnCWindPen": True, "TriggerLoggingOnCWindPenThreshold": least}
    settings |= {"EnableUETMonitor": False, "TriggeredLoggingPDCLimit": limit}
    found = rows_of(base, {MONITOR + name: value for name, value in settings.items()})
    assert_same(found, expected)
    assert len({row["sender"] for row in found}) == limit
    if limit:
        assert {row["FEP_ID"] for row in found} == {0, *order[:limit]}
