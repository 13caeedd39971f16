"""The names of a run's files, and finding them in a directory."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from distsim.records.registry import RECORDS

# Simulation names: letters, digits, - and _ (scala-computing/docs, api-reference).
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
_RECORD = re.compile(rf"({_NAME})-({'|'.join(map(re.escape, RECORDS))})-(\d+)\.csv")
_RUN_JSON = re.compile(rf"({_NAME})-run\.json")


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
        match = _RECORD.fullmatch(name)
        if match:
            found.append(RecordFile(os.path.join(directory, name), match[1], match[2], int(match[3])))
    return sorted(found, key=lambda file: (file.record, file.shard, file.simulation))


def run_json_files(directory: str | os.PathLike[str]) -> list[str]:
    """Paths of the run.json files of a directory."""
    return sorted(os.path.join(directory, name) for name in os.listdir(directory) if _RUN_JSON.fullmatch(name))
