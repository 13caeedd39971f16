"""Small clusters, jobs and step times for the tests of runs on the cluster's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from sched_cases import job as scheduler_job

from distsim.cluster import Cluster, load_cluster
from distsim.clusterrun.clock import Clock
from distsim.clusterrun.fabric_faults import FabricFaults
from distsim.clusterrun.links import Links
from distsim.clusterrun.progress import Plan
from distsim.clusterrun.steptimes import Request, StepTimes
from distsim.clusterrun.work import Work
from distsim.scheduler.faults import read_script
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Job

CHIP = "huawei.com/Ascend910"
S, MS = 10**12, 10**9
COLLECTIVE = {"kind": "collective", "collective": "all_reduce", "size": "1MB"}


def cluster_file(folder: Path, name: str = "cluster", *, nodes: int = 4, chips: int = 2, per_rack: int = 2,
                 **more: Any) -> str:
    """A cluster file of racks with nodes node0, node1, ...; node i has the NICs chips * i to chips * i + chips - 1."""
    pool = {"name": "npu", "count": nodes, "names": "node{0}", "chips": {"product": "Ascend910", "count": chips,
            "resource": CHIP}, "nics": {"count": chips, "rate": "400Gbps"}}
    network = {"kind": "rack", "nodes_per_rack": per_rack, **more.pop("network", {})}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"name": name, "pools": [pool], "network": network, **more}, sort_keys=False))
    return str(path)


def job_file(folder: Path, name: str = "train", *, pods: int = 2, chips: int = 2, command: Sequence[str] = ("python",),
             labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None) -> str:
    """A VolcanoJob; the path."""
    resources = {"requests": {CHIP: chips}, "limits": {CHIP: chips}}
    container = {"name": "c", "image": "img:1", "command": list(command), "resources": resources}
    task = {"name": "worker", "replicas": pods, "template": {"spec": {"containers": [container]}}}
    document = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
                "spec": {"minAvailable": pods, "tasks": [task]}}
    path = folder / f"{name}.job.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return str(path)


def faults_file(folder: Path, *faults: Mapping[str, Any], **more: Any) -> str:
    """A fault script; the path."""
    path = folder / "faults.yaml"
    path.write_text(yaml.safe_dump({"faults": [dict(one) for one in faults], **more}, sort_keys=False))
    return str(path)


class Steps:
    """Stands for packet simulations: tells how long steps take and keeps what it was asked."""

    def __init__(self, times: Callable[[Request, str], int | None] | int = S):
        self.times, self.asked = times, list[Request]()

    def __call__(self, request: Request) -> dict[str, int | None]:
        self.asked.append(request)
        return {member.job: self.times if isinstance(self.times, int) else self.times(request, member.job)
                for member in request.members}


def plan(steps: int, every: int | None = None, checkpoint: int = 0, restart: int = 0) -> Plan:
    """A plan; checkpoint and restart in milliseconds."""
    return Plan(steps, every, checkpoint * MS, 0, restart * MS)


def job(name: str, pods: int = 2, chips: int = 2, **settings: Any) -> Job:
    """A job for the clusters of `cluster_file`."""
    return scheduler_job(pods, chips, name, **settings)


def run(cluster: Cluster | str, jobs: Mapping[str, tuple[Job, Plan]] | Sequence[tuple[Job, Plan]], steps: Steps,
        faults: str | None = None, until_ms: int | None = None, settings: SchedulerSettings | None = None,
        busy: Sequence[str] = (), works: Mapping[str, Work] | None = None) -> Clock:
    """Run jobs with their plans on a cluster; all of them do a collective unless `works` says otherwise."""
    found = load_cluster(cluster) if isinstance(cluster, str) else cluster
    pairs = list(jobs.values()) if isinstance(jobs, Mapping) else list(jobs)
    every = {one.uid: Work(dict(COLLECTIVE), its) for one, its in pairs} | dict(works or {})
    script = read_script(faults, found, [one for one, _ in pairs]) if faults is not None else None
    fabric = FabricFaults.of(found, script.faults, script.fabric) if script else FabricFaults(found)
    clock = Clock(state_of(found, settings, busy), [one for one, _ in pairs], every, StepTimes(every, fabric, steps),
                  Links(found), script.faults if script else (), until_ms)
    clock.run()
    return clock


def seconds(clock: Clock, name: str) -> dict[str, float]:
    """Where the time of a job went, seconds, parts without time left out."""
    ledger = clock.tracks[f"default/{name}"].progress.ledger
    return {part: ps / S for part, ps in ledger.time_ps.items() if ps}


def kinds(clock: Clock, name: str = "") -> list[tuple[int, str]]:
    """(time in ms, kind) of what has happened, of one job if it is named."""
    return [(one.time_ms, one.kind) for one in clock.timeline if not name or one.job == f"default/{name}"]
