"""Metrics that runs left in files: bandwidth gauges of jobs (distsim/measure/gauges.py), and what
`distsim schedule run` came to (report.json, goodput.json, timeline.csv)."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from distsim.server.errors import ApiError
from distsim.server.paths import is_inside, open_file

if TYPE_CHECKING:
    from distsim.server.simulations import Simulation

GAUGES, PREFIX = "-metrics.prom", "nvcre_"
REPORT, GOODPUT, TIMELINE = "report.json", "goodput.json", "timeline.csv"
RECORDS = "records"  # the folder of a cluster run that holds its simulations
MOST_RUNS, MOST_BYTES = 200, 16 << 20
PS_PER_S = 1e12


def bandwidth_families(simulations: Sequence[Simulation], top: Path) -> Iterable[Any]:
    """The gauges of the newest runs, each with the label `simulation` besides its own."""
    families: dict[str, GaugeMetricFamily] = {}
    newest = sorted(simulations, key=lambda one: one.created, reverse=True)[:MOST_RUNS]
    for one in newest:
        for name in _names(one.directory, top):
            for family, text, labels, value in _gauges(*_key(one.directory, name)):
                if family not in families:
                    families[family] = GaugeMetricFamily(family, text, labels=["simulation", *labels])
                families[family].add_metric([one.id, *labels.values()], value)
    return families.values()


def schedule_families(simulations: Sequence[Simulation], top: Path) -> Iterable[Any]:
    """Of every cluster run: jobs by state, sessions, what happened by kind, goodput and where the chips' time went."""
    jobs = GaugeMetricFamily("distsim_schedule_jobs", "Jobs of a cluster run at its end", labels=["run", "state"])
    sessions = CounterMetricFamily("distsim_schedule_sessions", "Sessions of the scheduler", labels=["run"])
    happened = CounterMetricFamily("distsim_schedule_happenings", "What happened in a cluster run (timeline.csv)",
                                   labels=["run", "kind"])
    goodput = GaugeMetricFamily("distsim_schedule_goodput_ratio", "Useful part of the chips' time", labels=["run"])
    chips = GaugeMetricFamily("distsim_schedule_chip_seconds", "Where the chips' time went", labels=["run", "part"])
    for directory in _cluster_runs(simulations, top):
        name = directory.relative_to(top).as_posix()
        report, times, timeline = (_read(directory, file) for file in (REPORT, GOODPUT, TIMELINE))
        for state, count in Counter(job["state"] for job in _list(_json(report).get("jobs"))).items():
            jobs.add_metric([name, str(state)], count)
        if isinstance(_json(report).get("sessions"), int):
            sessions.add_metric([name], _json(report)["sessions"])
        for kind, count in Counter(row.get("kind") or "" for row in csv.DictReader(io.StringIO(timeline))).items():
            happened.add_metric([name, kind], count)
        everything = _json(times).get("all") or {}
        if isinstance(everything.get("goodput"), (int, float)):
            goodput.add_metric([name], everything["goodput"])
        for part, ps in (everything.get("chip_parts_ps") or {}).items():
            chips.add_metric([name, str(part)], ps / PS_PER_S)
    return jobs, sessions, happened, goodput, chips


def _cluster_runs(simulations: Sequence[Simulation], top: Path) -> list[Path]:
    found = {one.directory.parent.parent for one in simulations if one.directory.parent.name == RECORDS}
    found |= {Path(entry.path) for entry in os.scandir(top) if entry.is_dir(follow_symlinks=False)}
    return [path for path in sorted(found) if path.is_relative_to(top) and (path / REPORT).is_file()
            and (path / GOODPUT).is_file()][:MOST_RUNS]


def _names(directory: Path, top: Path) -> list[str]:
    if not directory.is_dir() or not is_inside(directory, top):
        return []
    return sorted(name for name in os.listdir(directory) if name.endswith(GAUGES))


def _key(directory: Path, name: str) -> tuple[Path, str, int, int]:
    try:
        status = os.stat(directory / name, follow_symlinks=False)
        return directory, name, status.st_size, status.st_mtime_ns
    except OSError:
        return directory, name, 0, 0


@functools.lru_cache(maxsize=4 * MOST_RUNS)
def _gauges(directory: Path, name: str, size: int, changed_ns: int) -> list[tuple[str, str, dict[str, str], float]]:
    """(name, help, labels, value) of each gauge in a file; the size and time are there to be told from later ones."""
    try:
        families = list(text_string_to_metric_families(_read(directory, name)))
    except ValueError:
        return []
    return [(family.name, family.documentation, dict(sample.labels), float(sample.value)) for family in families
            if family.type == "gauge" and family.name.startswith(PREFIX) for sample in family.samples]


def _read(directory: Path, name: str) -> str:
    """The text of a file, "" when it is not there or too large."""
    try:
        fd = open_file(directory, (name,))
    except (ApiError, OSError):
        return ""
    with open(fd, encoding="utf-8", errors="replace", newline="") as file:
        return file.read() if os.fstat(fd).st_size <= MOST_BYTES else ""


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict) and "state" in one] if isinstance(value, list) else []
