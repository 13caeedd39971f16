"""Faults of the fabric, from the section `faults` of the configuration that run.json keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.quantities import parse_time
from distsim.results.plots.intervals import workload_start_s
from distsim.results.timeline.source import INSTANTS, NS, Source, end_ns

if TYPE_CHECKING:
    from distsim.results.run import Run

GROUP = "Faults"
SCHEMA = {"track": pl.String, "name": pl.String, "begin_ns": pl.Int64, "end_ns": pl.Int64}


def outages(run: Run) -> Source | None:
    """A slice for each event, from the failure to the repair, or to the end of the run when there is none before."""
    events = _events(run)
    if not events:
        return None
    last_ns = end_ns(run)
    rows = [(_device(event), "down" if until is not None else "down for good", at, max(at, last_ns) if until is None
             else until) for event, at, until, _ in events]
    return Source("outages", GROUP, pl.LazyFrame(rows, schema=SCHEMA, orient="row"))


def reroutes(run: Run) -> Source | None:
    """Instants at which routes avoid what failed and use it again: the detection time after failure and repair."""
    rows = []
    for event, at, until, found in _events(run):
        rows.append((_device(event), "routes avoid it", at + found, at + found))
        if until is not None:
            rows.append((_device(event), "routes use it again", until + found, until + found))
    known = [row for row in rows if row[2] <= end_ns(run)]
    return Source("changes of routes", GROUP, pl.LazyFrame(known, schema=SCHEMA, orient="row"),
                  INSTANTS) if known else None


def _events(run: Run) -> list[tuple[dict[str, Any], int, int | None, int]]:
    """(event, failure, repair or None, detection time) of each, ns."""
    section = (run.info.get("configuration") or {}).get("faults") or {}
    start_ns = round(workload_start_s(run) * NS)
    found = []
    for event in section.get("events") or ():
        at = start_ns + _ns(event["at"])
        until = None if event.get("duration") is None else at + _ns(event["duration"])
        detected = event.get("detection_time") or section.get("detection_time") or 0
        found.append((event, at, until, _ns(detected)))
    return found


def _ns(time: Any) -> int:
    return round(parse_time(time) / 1e3)


def _device(event: dict[str, Any]) -> str:
    between = event.get("between")
    return f"{event['target']} {' - '.join(between) if between else event['name']}"
