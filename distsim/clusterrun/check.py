"""What is refused before anything runs: jobs that cannot be simulated, whatever they are placed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from distsim.errors import InputError
from distsim.scheduler.elastic import Size, allowed_sizes, current_size
from distsim.scheduler.session.gang import min_available

from .packets import Packets
from .steptimes import PS_PER_S, Member, Request
from .track import count_of, provisional
from .work import Work

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.scheduler.types import Job


def check_jobs(jobs: Sequence[Job], works: dict[str, Work], cluster: Cluster) -> list[str]:
    """InputError, naming the job, where the configuration of a step is not valid; warnings where it is not once the job
    runs with less than it asks for. A job that is larger than the cluster is left to the scheduler."""
    if not cluster.fabric or not any(node.nics for node in cluster.nodes):
        raise InputError(f"cluster {cluster.name} has no NICs on a fabric, so its jobs cannot be simulated",
                         where="--cluster")
    packets = Packets(cluster, works, Path(), lambda section, folder: {})
    warnings: list[str] = []
    for job in jobs:
        work = works.get(job.uid)
        member = provisional(job, cluster)
        if work is not None and job.settings.elastic and work.section["kind"] == "chakra":
            raise InputError(f"job {job.uid} is elastic, and its traces {work.section['file']} are those of a fixed "
                             "number of ranks; give it a training or a collective", file=job.file or None,
                             line=job.line)
        if work is None or member is None:
            continue
        wrong = _wrong(packets, member)
        if wrong is not None:
            raise InputError(f"job {job.uid} cannot be simulated: {wrong}", file=job.file or None, line=job.line)
        warnings += [f"job {job.uid} may come to run with {count_of(size.replicas, 'pod')} of "
                     f"{count_of(size.chips, 'chip')}, which its workload cannot: {wrong}; the run would end there"
                     for size, less in _smaller(job, cluster) if (wrong := _wrong(packets, less)) is not None][:1]
    return warnings


def _wrong(packets: Packets, member: Member) -> str | None:
    """What is wrong with the configuration of a step of a job on its NICs, None if it is valid."""
    from distsim.config import from_dict

    with TemporaryDirectory() as folder:
        try:
            from_dict(packets.section(Request("check", (member,), {}, PS_PER_S, 0), Path(folder)))
        except InputError as error:
            return f"{error.where}: {error.message}"
    return None


def _smaller(job: Job, cluster: Cluster) -> Iterator[tuple[Size, Member]]:
    """Ranks of the job with the fewest pods that it runs with, and with the sizes that it may shrink to."""
    full = current_size(job)
    least = min_available(job) - (len(job.tasks) - len(job.npu_tasks))
    sizes = [Size(max(1, least), full.chips)] if least < full.replicas else []
    for size in (*sizes, *allowed_sizes(job)[1:]):
        member = provisional(job, cluster, size)
        if member is not None:
            yield size, member
