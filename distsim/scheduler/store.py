"""The objects of a scheduler's state as the documents that a cluster would show, and as YAML files of a directory.

DIR/jobs/NAMESPACE-NAME.yaml (PodGroup with status), DIR/pods/NAMESPACE-NAME.yaml (its pods), DIR/nodes.yaml. Times are
those of the virtual clock, which begins at 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from distsim.errors import RunError
from distsim.scheduler.explain.wires import chips_of
from distsim.scheduler.types import JobPhase, TaskState

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State
    from distsim.scheduler.types import Job, Task

JOBS, PODS, NODES = "jobs", "pods", "nodes.yaml"
GROUP_KEY, RANK_KEY = "scheduling.k8s.io/group-name", "hccl/rankIndex"      # annotations of pods
# A Releasing pod is still running; its status.reason says what is happening to it.
_POD_PHASE = {TaskState.RELEASING: "Running"}
_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9._-]")
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Plain(_Dumper):
    """Writes repeated parts out instead of pointing at them."""

    def ignore_aliases(self, data: Any) -> bool:
        """No part of a document is an alias."""
        return True


def podgroup_document(job: Job) -> dict[str, Any]:
    """The PodGroup of a job: labels and annotations as the scheduler has changed them, status with its conditions."""
    spec: dict[str, Any] = {"minMember": job.min_available, "queue": job.queue}
    if job.priority:
        spec["priority"] = job.priority
    if job.network_topology is not None:
        spec["networkTopology"] = job.network_topology
    spec["minResources"] = quantities(_total(job.tasks))
    counts = {state: sum(task.state is state for task in job.tasks) for state in TaskState}
    status: dict[str, Any] = {"phase": job.phase.value}
    if job.phase in (JobPhase.FAILED, JobPhase.COMPLETED) and job.reason:
        status["reason"] = job.reason
    status |= {"running": counts[TaskState.RUNNING] + counts[TaskState.RELEASING],
               "succeeded": counts[TaskState.SUCCEEDED], "failed": counts[TaskState.FAILED],
               "conditions": [{"type": one.type, "status": one.status, "reason": one.reason, "message": one.message,
                               "lastTransitionTime": clock(one.time_ms)} for one in job.conditions.values()]}
    metadata: dict[str, Any] = {"name": job.name, "namespace": job.namespace, "labels": job.labels,
                                "annotations": job.annotations, "creationTimestamp": clock(job.created_ms)}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec,
            "status": status}


def pod_documents(job: Job) -> list[dict[str, Any]]:
    """The pods of a job. A placed one has its node, its rank (hccl/rankIndex), and its chips by name (Ascend910-0)
    in the annotation of their resource."""
    return [_pod(job, task) for task in job.tasks]


def node_documents(state: State) -> list[dict[str, Any]]:
    """The nodes. status.free : what is left of each resource, of chips the whole ones; status.pods : who runs there,
    "namespace/job/pod".

    The chips stand in annotations, as the device plugin of mind-cluster names them, under the resource that the jobs
    ask for: those that are free, -Unhealthy those barred by faults, -NetworkUnhealthy those cut off."""
    resources = frozenset(job.resource for job in state.jobs.values() if job.resource)
    return [_node(node, resources) for node in state.nodes.values()]


def write_documents(directory: Path, state: State, jobs: Iterable[Job] | None = None) -> None:
    """Write PodGroups and pods of the jobs (all of the state's by default) and the nodes; RunError if a file cannot be
    written. Files of the same names are replaced, others stay."""
    wanted = list(state.jobs.values() if jobs is None else jobs)
    for name, job in zip(file_names(wanted), wanted):
        write_text(directory / JOBS / name, to_yaml([podgroup_document(job)]))
        write_text(directory / PODS / name, to_yaml(pod_documents(job)))
    write_text(directory / NODES, to_yaml(node_documents(state)))


def file_names(jobs: Sequence[Job]) -> list[str]:
    """NAMESPACE-NAME.yaml of each job; where two jobs would share one (a-b / c and a / b-c) the later gets a number.
    What is no letter, digit, dot, - or _ becomes _."""
    names: dict[str, None] = {}
    for job in jobs:
        base = _NOT_IN_FILES.sub("_", f"{job.namespace}-{job.name}")
        name, number = base, 1
        while name in names:
            number += 1
            name = f"{base}-{number}"
        names[name] = None
    return [f"{name}.yaml" for name in names]


def to_yaml(documents: Sequence[dict[str, Any]]) -> str:
    """Documents as YAML, keys in their order, separated by ---."""
    text: str = yaml.dump_all(documents, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=4096)
    return text


def write_text(path: Path, text: str) -> None:
    """Write a file and the folders above it; RunError if that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None


def clock(time_ms: int) -> str:
    """A time of the virtual clock as Kubernetes writes it: 61000 is 1970-01-01T00:01:01.000Z."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def chip_names(resource: str, mask: int) -> str:
    """Chips as device plugins name them, joined by commas: huawei.com/Ascend910 and 0b101 give
    Ascend910-0,Ascend910-2."""
    kind = resource.rpartition("/")[2]
    return ",".join(f"{kind}-{chip}" for chip in chips_of(mask))


def quantities(amounts: Mapping[str, int]) -> dict[str, int | str]:
    """Amounts as `Task.request` counts them, as Kubernetes writes them: 1500 of cpu, in milli, is 1500m, 2000 is 2."""
    return {name: amount if name != "cpu" else f"{amount}m" if amount % 1000 else amount // 1000
            for name, amount in amounts.items()}


def _total(tasks: Iterable[Task]) -> dict[str, int]:
    total: dict[str, int] = {}
    for task in tasks:
        for name, amount in task.request.items():
            total[name] = total.get(name, 0) + amount
    return total


def _pod(job: Job, task: Task) -> dict[str, Any]:
    annotations = {GROUP_KEY: job.name}
    if task.node is not None:
        annotations |= {RANK_KEY: str(task.rank)} if task.rank >= 0 else {}
        annotations |= {job.resource: chip_names(job.resource, task.held)} if task.held else {}
    spec: dict[str, Any] = {"schedulerName": "volcano"}
    for key, value in (("nodeName", task.node), ("nodeSelector", task.node_selector), ("affinity", task.affinity),
                       ("tolerations", list(task.tolerations))):
        spec |= {key: value} if value else {}
    container = {"name": task.role, "image": job.image, "command": list(job.command),
                 "resources": {"requests": quantities(task.request)}}
    spec["containers"] = [{key: value for key, value in container.items() if value}]
    status = {"phase": _POD_PHASE.get(task.state, task.state.value)}
    status |= {"reason": task.state.value} if task.state in _POD_PHASE else {}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": task.name, "namespace": job.namespace, "labels": dict(job.labels),
                         "annotations": annotations},
            "spec": spec, "status": status}


def _node(state: NodeState, resources: frozenset[str]) -> dict[str, Any]:
    node = state.node
    annotations = dict(node.annotations)
    resource = next((name for name in node.resources if name in resources), "")
    for suffix, mask in (("", state.idle()), ("-Unhealthy", state.barred), ("-NetworkUnhealthy", state.cut)):
        annotations |= {f"{resource}{suffix}": chip_names(resource, mask)} if resource and (mask or not suffix) else {}
    spec: dict[str, Any] = {"unschedulable": True} if node.cordoned else {}
    if node.taints:
        spec["taints"] = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.taints]
    ready = "True" if state.healthy and state.enabled else "False"
    free = quantities(state.free) | ({resource: state.idle().bit_count()} if resource else {})
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": annotations}, "spec": spec,
            "status": {"capacity": dict(node.capacity or node.resources), "allocatable": dict(node.resources),
                       "free": free, "pods": list(state.tasks),
                       "conditions": [{"type": "Ready", "status": ready}]}}
