"""What is refused before anything runs: jobs that cannot be simulated, whatever they are placed on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distsim.errors import InputError

from .packets import Packets
from .steptimes import PS_PER_S, Request
from .track import provisional
from .work import Work

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.scheduler.types import Job


def check_jobs(jobs: Sequence[Job], works: dict[str, Work], cluster: Cluster) -> None:
    """InputError, naming the job, where the configuration of a step is not valid. A job that is larger than the cluster
    is left to the scheduler, one of Chakra traces to its first simulation."""
    from distsim.config import from_dict

    if not cluster.fabric or not any(node.nics for node in cluster.nodes):
        raise InputError(f"cluster {cluster.name} has no NICs on a fabric, so its jobs cannot be simulated",
                         where="--cluster")
    packets = Packets(cluster, works, Path(), lambda section, folder: {})
    for job in jobs:
        work = works.get(job.uid)
        member = provisional(job, cluster)
        if work is not None and job.settings.elastic and work.section["kind"] == "chakra":
            raise InputError(f"job {job.uid} is elastic, and its traces {work.section['file']} are those of a fixed "
                             "number of ranks; give it a training or a collective", file=job.file or None,
                             line=job.line)
        if work is None or member is None or work.section["kind"] == "chakra":
            continue
        try:
            from_dict(packets.section(Request("check", (member,), {}, PS_PER_S, 0), None))
        except InputError as error:
            raise InputError(f"job {job.uid} cannot be simulated: {error.where}: {error.message}",
                             file=job.file or None, line=job.line) from None
