"""What a job does on the network: a section of the workload kind `several`, placed on the NICs of the job's nodes.

An mpi job that starts a program of nccl-tests is that program. Anything else is looked up in the cluster's map
`workloads` (distsim/cluster/workloads_map.py); a job that is nothing of these is refused by name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from distsim.cluster.workloads_map import placed_on, workload_for
from distsim.errors import InputError

from .framework import benchmark_words
from .jobs import Job

if TYPE_CHECKING:
    from distsim.cluster import Cluster

NCCL = "nccl-tests"


def part_name(job: str) -> str:
    """The name of a job as part of a workload: letters, digits, - and _."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", job)


def nics_of(nodes: Sequence[str], cluster: Cluster, ranks_per_node: int) -> list[int]:
    """Hosts of the fabric, a rank each: of every node its NICs in order of GPU, at most ranks_per_node.

    A node with fewer NICs has a rank for each. InputError for a node without NICs.
    """
    found: list[int] = []
    for name in nodes:
        nics = cluster.by_name[name].nics
        if not nics:
            raise InputError(f"{name} has no NIC on the fabric, so no job can run on it", where="pools.nics")
        found += nics[:ranks_per_node]
    return found


def part_of(job: Job, nodes: Sequence[str], run_name: str, cluster: Cluster, ranks_per_node: int,
            folder: Path | None = None, steady: bool = False) -> dict[str, Any]:
    """The section of a job that runs on these nodes.

    folder : where files that the section needs are written, None: they are not. steady : extrapolate large sizes of
    nccl-tests.
    InputError, naming the job, when the cluster does not say what the job does.
    """
    hosts = nics_of(nodes, cluster, ranks_per_node)
    trainer = job.document["spec"]["workload"]["trainJob"]["trainer"]
    command, args = list(trainer.get("command") or ()), list(trainer.get("args") or ())
    words = benchmark_words(command, args) if job.mpi else None
    if words is not None:
        section: dict[str, Any] = {"kind": NCCL, "command": command_line(words)}
    else:
        section = workload_for(job.name, str(trainer.get("image") or ""), [*command, *args], cluster.workloads,
                               run=run_name)
    nccl = cluster.settings.get("nccl") or {}
    if steady and section["kind"] == NCCL:
        section["steady"] = True
    if section["kind"] == "chakra" and folder is None:
        return section
    return part_on(section, part_name(job.name), hosts, len(hosts) // len(nodes), nccl, folder)


def part_on(section: Mapping[str, Any], name: str, hosts: Sequence[int], per_server: int, nccl: Mapping[str, Any],
            folder: Path | None = None) -> dict[str, Any]:
    """A section under a name on these hosts; `per_server` of them, one after the other, are a node's.

    nccl : what sections of nccl-tests have by default; its scale_up holds for every kind. folder : for files that the
    section needs, made if it is not there.
    """
    if section["kind"] == NCCL:
        section = {**nccl, "gpus_per_server": per_server, **section}
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return placed_on(section, name, hosts, folder or Path(), scale_up=nccl.get("scale_up"))


def command_line(words: Sequence[str]) -> str:
    """The command line of a program of nccl-tests: its name without folders and without the ending _mpi."""
    program = PurePosixPath(words[0]).name.removesuffix("_mpi")
    return shlex.join([program, *words[1:]])
