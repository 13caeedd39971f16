"""The names of a run's files, and finding them in a directory."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from distsim.records.registry import SCHEMAS

# Simulation names: letters, digits, - and _ (scala-computing/docs, api-reference).
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_SHARD = re.compile(r"(.+)-(\d+)\.csv")
_RUN_JSON = re.compile(rf"({_NAME})-run\.json")
_PROFILE = re.compile(rf"{_NAME}-chakra-profiling-\d+-\d+\.txt")
_JOB = re.compile(rf"{_NAME}-(launcher\.log|bandwidth\.json|metrics\.prom|training-steps\.csv"
                  r"|nccl-tests-[^/]+\.(csv|json))")
# Copies of large records that readers make beside them (distsim/results/cache.py).
CACHE = ".cache"
_COPY = re.compile(r"\.?(.+)-[0-9a-f]{16}\.parquet(\.\d+)?")
_ANNOTATED, _TRACE = "post_annotated", re.compile(r".*\.\d+\.json")


class RecordFile(NamedTuple):
    """One record file: where it is and what its name says."""

    path: str
    simulation: str
    record: str
    shard: int


def record_files(directory: str | os.PathLike[str]) -> list[RecordFile]:
    """The record files of a directory, in order of (record, shard)."""
    found = []
    for name in os.listdir(directory):
        match = _SHARD.fullmatch(name)
        path = os.path.join(directory, name)
        if match:
            found += [RecordFile(path, *reading, int(match[2])) for reading in _readings(match[1], path)]
    return sorted(found, key=lambda file: (file.record, file.shard, file.simulation))


def _readings(stem: str, path: str) -> list[tuple[str, str]]:
    """The simulation and the record that a file's name says, none when it is no record file.

    ``x-chakra-perf`` is perf of a simulation x-chakra or chakra-perf of x; the header tells which.
    """
    found = [(stem[:-len(name) - 1], name) for name in SCHEMAS if stem.endswith(f"-{name}")]
    found = [(simulation, name) for simulation, name in found if re.fullmatch(_NAME, simulation)]
    if len(found) > 1:
        with open(path) as file:
            header = file.readline().rstrip("\n").split(",")
        found = [reading for reading in found if SCHEMAS[reading[1]].header == header]
    return found


def run_json_files(directory: str | os.PathLike[str]) -> list[str]:
    """Paths of the run.json files of a directory."""
    return sorted(os.path.join(directory, name) for name in os.listdir(directory) if _RUN_JSON.fullmatch(name))


def is_cached(name: str, record: str | None = None) -> bool:
    """Whether a file's name is that of a copy of a record, of this record or of any."""
    match = _COPY.fullmatch(name)
    return match is not None and (match[1] in SCHEMAS if record is None else match[1] == record)


def side_files(directory: str | os.PathLike[str]) -> list[str]:
    """Paths of what a workload of ranks leaves besides: logs and measurements of its jobs, profiling texts, annotated
    traces; and of readers' copies of records."""
    annotated = os.path.join(directory, _ANNOTATED)
    traces = os.listdir(annotated) if os.path.isdir(annotated) else []
    cache = os.path.join(directory, CACHE)
    copies = [name for name in os.listdir(cache) if is_cached(name)] if os.path.isdir(cache) else []
    return sorted([os.path.join(cache, name) for name in copies]
                  + [os.path.join(directory, name) for name in os.listdir(directory)
                     if _PROFILE.fullmatch(name) or _JOB.fullmatch(name)]
                  + [os.path.join(annotated, name) for name in traces if _TRACE.fullmatch(name)])
