"""The bandwidths of a run's jobs: from launchers' logs, else their measurements, else the collectives of run.json."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError

if TYPE_CHECKING:
    from distsim.results.run import Run

LOG, MEASUREMENT, EXTRAPOLATED = "launcher.log", "bandwidth.json", "nccl-tests-extrapolated.csv"
PROFILE = "nccl-bandwidth"
_TEST = re.compile(r"# Collective test starting: (\w+?)(_perf)?\s")
_RANK = re.compile(r"#\s+Rank\s+\d+ .* on\s+(\S+) device")
# Collectives whose size in nccl-tests is what all members hold together; run.json has what each sends.
OF_ALL = ("all_gather", "gather")
AS_PROGRAM = {"all_to_all": "alltoall", "reduce_scatter_block": "reduce_scatter"}
NO_DATA = ("barrier",)


@dataclass
class Job:
    """Bandwidths by size of one program. name : of the job. program : as nccl-tests names it, without ``_perf``.
    ranks, servers : 0 where they are not known. part : the job's name among several, "" for a run of one.
    results : (size in bytes, algbw GB/s, busbw GB/s, samples). extrapolated : sizes that were not simulated.
    """

    name: str
    program: str
    ranks: int = 0
    servers: int = 0
    part: str = ""
    results: list[tuple[int, float, float, int]] = field(default_factory=list)
    extrapolated: set[int] = field(default_factory=set)


def jobs_of(run: Run) -> list[Job]:
    """The jobs of a run that have bandwidths, of the first source that has any."""
    for source in (_logs, _measurements, _collectives):
        found = [job for job in source(run) if job.results]
        if found:
            return found
    return []


def bus_factor(program: str, ranks: int) -> float:
    """busbw over algbw, as nccl-tests has it (its doc/PERFORMANCE.md)."""
    if program == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if program in ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter"):
        return (ranks - 1) / ranks
    return 1.0


def _files(run: Run, ending: str) -> Iterator[tuple[Path, str]]:
    """(path, name of the job among several) of the run's files of a kind."""
    for path in sorted(run.directory.glob(f"*-{ending}")):
        stem = path.name.removesuffix(f"-{ending}")
        if stem == run.name or stem.startswith(f"{run.name}-"):
            yield path, stem.removeprefix(run.name).removeprefix("-")


def _logs(run: Run) -> Iterator[Job]:
    from distsim.measure import builtin_profile
    from distsim.measure.collect import read_log

    profile = builtin_profile(PROFILE)
    assert profile is not None
    for path, part in _files(run, LOG):
        program, ranks, servers = _head(path)
        job = Job(part or program, program, ranks, servers, part)
        job.results = [(one.size_bytes, float(one.algbw), float(one.busbw), one.samples)
                       for one in read_log(str(path), profile).results]
        job.extrapolated = _extrapolated(path.with_name(path.name.replace(LOG, EXTRAPOLATED)))
        yield job


def _head(path: Path) -> tuple[str, int, int]:
    """(program, ranks, servers) as a launcher's log says."""
    program, ranks, servers = "", 0, set()
    with open(path, errors="replace") as file:
        for text in file:
            if test := _TEST.match(text):
                program = test[1]
            elif rank := _RANK.match(text):
                ranks += 1
                servers.add(rank[1])
            elif not text.startswith("#") and ranks:
                break
    return program, ranks, len(servers)


def _extrapolated(path: Path) -> set[int]:
    if not path.exists():
        return set()
    with open(path, newline="") as file:
        return {int(row["size"]) for row in csv.DictReader(file) if row["extrapolated"] == "1"}


def _measurements(run: Run) -> Iterator[Job]:
    for path, part in _files(run, MEASUREMENT):
        try:
            found: dict[str, Any] = json.loads(path.read_text())
            program = str(found["spec"].get("testType") or "")
            results = [(int(one["sizeBytes"]), float(one["algBW"]), float(one["busBW"]), int(one["samples"]))
                       for one in found["status"].get("results", [])]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"is no measurement of bandwidth: {error!r}", file=str(path)) from error
        yield Job(part or program, program, part=part, results=results)


def _collectives(run: Run) -> Iterator[Job]:
    """Mean time of the collectives of one kind, algorithm, group size and size, as nccl-tests would count it."""
    jobs: dict[tuple[str, str, int], dict[int, list[float]]] = {}
    for one in run.info.get("collectives", []):
        if one["collective"] not in NO_DATA and one["members"] > 1:
            of = jobs.setdefault((one["collective"], one["algorithm"], one["members"]), {})
            of.setdefault(one["size_bytes"], []).append(one["time_us"])
    for (collective, algorithm, members), sizes in jobs.items():
        program = "sendrecv" if algorithm == "sendrecv" else AS_PROGRAM.get(collective, collective)
        job = Job(f"{collective}, {algorithm}, {members} ranks", program, members)
        for size, times in sorted(sizes.items()):
            total = size * members if collective in OF_ALL else size
            mean_us = sum(times) / len(times)
            if total and mean_us > 0:
                algbw = total / 1e3 / mean_us
                job.results.append((total, algbw, algbw * bus_factor(program, members), len(times)))
        yield job
