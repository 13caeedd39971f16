"""Runs that plots and timelines are tested on, and the plain reading of their files with the csv module."""

from __future__ import annotations

import csv
import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

import distsim
from distsim.results import Run, open_run

CONFIGS = Path(__file__).parent.parent / "configs"
CHANGES = {
    "features": (),
    "lossless": (),
    "faults": ("workload.iterations=6",),
    "simai16": (),
    "nccl-tests64": ("workload.command=all_reduce_perf -b 8 -e 512K -f 8 -n 1 -w 0", "fabric.nics_per_rack=8"),
    "training16": ("workload.steps=4",),
}
_made: dict[str, Path] = {}


@pytest.fixture(scope="session", name="shipped")
def shipped_runs(tmp_path_factory):
    """name -> the run of that shipped configuration, made once a session; nothing may be written into it."""
    def of(name: str) -> Run:
        if name not in _made:
            directory = tmp_path_factory.mktemp(name)
            distsim.run(CONFIGS / f"{name}.yaml", directory, set=list(CHANGES[name]))
            _made[name] = directory
        return open_run(_made[name])

    return of


def copied(run: Run, to: Path) -> Path:
    """A copy of a run that a test may change."""
    return Path(shutil.copytree(run.directory, to / "copy"))


def rows(run: Run, record: str) -> list[dict[str, str]]:
    """Rows of a record as texts, shard after shard."""
    found = []
    for path in sorted(run.directory.glob(f"{run.name}-{record}-*.csv")):
        if path.stem.removeprefix(f"{run.name}-{record}-").isdigit():
            with open(path, newline="") as file:
                found += list(csv.DictReader(file))
    return found


def grouped(table: list[dict[str, str]], *names: str) -> dict[tuple[str, ...], list[dict[str, str]]]:
    """The rows by the values of some columns."""
    groups = defaultdict(list)
    for row in table:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def in_two_shards(directory: Path, run: str, record: str) -> None:
    """Deals the rows of shard 0 out to two shards: those of even and of odd nodes."""
    path = directory / f"{run}-{record}-0.csv"
    header, *lines = path.read_text().splitlines(keepends=True)
    column = next(name for name in ("node_id", "fep_id", "FEP_ID") if name in header.split(","))
    place = header.split(",").index(column)
    for shard in (0, 1):
        kept = [line for line in lines if int(line.split(",")[place]) % 2 == shard]
        (directory / f"{run}-{record}-{shard}.csv").write_text(header + "".join(kept))


def rewrite_json(directory: Path, run: str, change) -> None:
    """Changes run.json by a function of its content."""
    path = directory / f"{run}-run.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))
