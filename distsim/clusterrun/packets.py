"""Packet simulations of one step of jobs that run side by side: their configuration, and what they tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.config.parameters import LONGEST_S
from distsim.errors import InputError
from distsim.workloadrun.simulate import configuration
from distsim.workloadrun.traffic import part_name, part_on

from .figures import Figures, figures_of
from .steptimes import PS_PER_S, Member, Request
from .work import Work

if TYPE_CHECKING:
    from distsim.cluster import Cluster

PS_PER_US = 10**6


@dataclass
class Packets:
    """Simulates steps of jobs. run : runs a configuration with its records in a folder, and gives run.json
    (`Crew.simulate`). directory : a folder for each simulation is made in it.

    names : of the jobs as parts of a workload. warnings : of the simulations, each once. figures : of each, by name.
    """

    cluster: Cluster
    works: Mapping[str, Work]
    directory: Path
    run: Callable[[Mapping[str, Any], Path], dict[str, Any]]
    names: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    figures: dict[str, Figures] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = part_names(list(self.works))

    def simulate(self, request: Request) -> dict[str, int | None]:
        """One step of the jobs of a request: how long each took, ps; None: it did not end."""
        folder = self.directory / request.name
        try:
            info = self.run(self.section(request, folder), folder)
        except InputError as error:
            jobs = ", ".join(member.job for member in request.members)
            raise InputError(f"{error.where}: {error.message}" if error.where else error.message,
                             where=f"{request.name} ({jobs})") from None
        self.warnings |= dict.fromkeys(info.get("warnings", ()))
        over = {part["name"]: max(1, round(part["end_us"] * PS_PER_US)) for part in info["jobs"] if part["over"]}
        times = {one.job: over.get(self.names[one.job]) for one in request.members}
        self.figures[request.name] = figures_of(folder, request, times, self.works, self.names)
        return times

    def section(self, request: Request, folder: Path | None) -> dict[str, Any]:
        """The configuration of a request. folder : for files that its workload needs."""
        parts = [self._part(member, folder) for member in request.members]
        start_s = min(request.at_ps / PS_PER_S, LONGEST_S)
        config = configuration(request.name, self.cluster, parts, {}, start_s, request.limit_ps / PS_PER_S)
        config["workload"]["ends"] = True
        # Unless the cluster file says otherwise, the step begins with the simulation, so that stamps of logs are times
        # of the cluster; and records at ticks have a row at the end and none on the way.
        config["SimulationParameters"].setdefault("ClientStartOffset", 0.0)
        config["SimulationParameters"].setdefault("NDStatsReportInterval",
                                                   min(request.limit_ps / PS_PER_S, LONGEST_S))
        if not any(self.works[member.job].benchmark for member in request.members):
            del config["bandwidthMeasurement"]
        if request.faults:
            config["faults"] = request.faults
        return config

    def _part(self, member: Member, folder: Path | None) -> dict[str, Any]:
        nccl = dict(self.cluster.settings.get("nccl") or {})
        if nccl.get("scale_up"):
            nccl["scale_up"] = {**nccl["scale_up"], "gpus_per_server": member.per_server}
        return part_on(self.works[member.job].section, self.names[member.job], member.hosts, member.per_server, nccl,
                       folder)


def part_names(jobs: Sequence[str]) -> dict[str, str]:
    """A name for each job (uid) as part of a workload: its own, with a number where another job has that already."""
    found: dict[str, str] = {}
    for uid in jobs:
        base = part_name(uid.rpartition("/")[2])[:90].lstrip("-_") or "job"
        name, number = base, 1
        while name in found.values():
            number += 1
            name = f"{base}-{number}"
        found[uid] = name
    return found
