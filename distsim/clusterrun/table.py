"""The tables of `distsim schedule run` and `distsim schedule compare`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from distsim.scheduler.store import to_yaml

from .track import count_of

FORMS = ("table", "json", "yaml")
MOST_NODES = 8
SHARES = (("USEFUL", "useful"), ("QUEUEING", "queueing"), ("LOST", "lost"), ("RESTART", "restart"),
          ("SLOW-DOWN", "slow_down"), ("CHECKPOINT", "checkpoint"), ("UNFINISHED", "unfinished"))


def shown(report: Mapping[str, Any], form: str) -> str:
    """A report as text: table, json or yaml."""
    if form == "json":
        return json.dumps(report, indent=2, ensure_ascii=False)
    if form == "yaml":
        return to_yaml([dict(report)]).rstrip("\n")
    return "\n".join(compare_lines(report) if "policies" in report else run_lines(report))


def run_lines(report: Mapping[str, Any]) -> list[str]:
    """A row for each job, how its time is split in percent, and why it is in its state."""
    jobs = report["jobs"]
    lines = aligned([("JOB", "STATE", "STEPS", "STEP us", "BUSBW GB/s", "WALL s", "GOODPUT", "NODES"),
                     *(_job(job) for job in jobs)])
    lines += ["", *aligned([("TIME %", *(title for title, _ in SHARES)), *(_parts(job) for job in jobs
                                                                         if "partsMs" in job)])]
    lines += ["", *(f"{_uid(job)}: {job['state']}: {job['reason']}" for job in jobs)]
    return [*lines, "", f"{report['cluster']}: goodput {report['goodput']:.4f} of all chip time; "
                        f"{count_of(len(jobs), 'job')}, {count_of(report['sessions'], 'session')}, "
                        f"{count_of(report['simulations'], 'simulation')}, clock at {report['endMs'] / 1000:g} s"]


def compare_lines(report: Mapping[str, Any]) -> list[str]:
    """A row for each policy and job."""
    rows = [("POLICY", "JOB", "STATE", "STEP us", "BUSBW GB/s", "SPINE MAX B", "SPINE MEAN B", "MAX/MEAN", "QUEUEING s",
             "WALL s", "GOODPUT", "NODES")]
    for policy in report["policies"]:
        for job in policy["jobs"]:
            spine = job.get("spine") or {}
            rows.append((policy["policy"], _uid(job), job["state"], _number(job.get("stepUs"), 3),
                         _number(job.get("busBW"), 3), _number(spine.get("maxBytes"), 0),
                         _number(spine.get("meanBytes"), 0), _number(spine.get("imbalance"), 3),
                         _seconds(job.get("queueingMs")), _seconds(job.get("wallMs")),
                         _number(job.get("goodput"), 4), _nodes(job)))
    said = [f"{policy['policy']}: {_uid(job)}: {job['state']}: {job['reason']}" for policy in report["policies"]
            for job in policy["jobs"] if job["state"] != "Completed"]
    return [*aligned(rows), *([""] if said else []), *said]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines, columns as wide as their longest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]


def _job(job: Mapping[str, Any]) -> tuple[str, ...]:
    steps = f"{job['steps']}/{job['stepsToDo']}" if "steps" in job else "-"
    return (_uid(job), job["state"], steps, _number(job.get("stepUs"), 3), _number(job.get("busBW"), 3),
            _seconds(job.get("wallMs")), _number(job.get("goodput"), 4), _nodes(job))


def _parts(job: Mapping[str, Any]) -> tuple[str, ...]:
    whole = sum(job["partsMs"].values())
    return (_uid(job), *(f"{100 * job['partsMs'][part] / whole:.2f}" if whole else "-" for _, part in SHARES))


def _nodes(job: Mapping[str, Any]) -> str:
    nodes = job.get("nodes") or []
    more = f" and {len(nodes) - MOST_NODES} more" if len(nodes) > MOST_NODES else ""
    return " ".join(nodes[:MOST_NODES]) + more if nodes else "-"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _seconds(ms: float | None) -> str:
    return "-" if ms is None else f"{ms / 1000:.3f}"


def _uid(job: Mapping[str, Any]) -> str:
    return f"{job['namespace']}/{job['name']}"
