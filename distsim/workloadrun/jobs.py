"""Job documents of a Workflow: one for each group and iteration, with the node affinity on every pod.

Source: the seed (Pinned carries a required hostname affinity, both modes carry the target), and the node affinity,
tolerations, labels and names that NVIDIA/cluster-readiness-engine gives the Jobs it creates.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distsim.cluster.labels import GPU_PRODUCT, HOSTNAME
from distsim.errors import InputError

from .discovery import Discovery
from .labels import MANAGED_BY
from .merge import below
from .names import API_VERSION, LAUNCHER, MANAGER, PATCH_MANAGER, WORKER
from .orchestration import UNPINNED
from .placement import Group

MOST_NAME = 63
# What an MPI job tolerates under Unpinned, where nothing pins it to nodes that were looked at.
GPU_TAINTS = ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"},
              {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64"})


@dataclass(frozen=True)
class Job:
    """A job to run.

    num_nodes : how many it takes. affinity, tolerations : of its pods. gang : they are scheduled all or none. mpi : it
    has a launcher.
    """

    name: str
    group: Group
    iteration: int
    num_nodes: int
    document: dict[str, Any]
    affinity: dict[str, Any] | None
    tolerations: list[dict[str, Any]]
    gang: bool = False
    mpi: bool = False


def job_name(workflow: str, group: str, iteration: int, *, groups: int, iterations: int, diagnose: bool = False) -> str:
    """``W-job`` for the only job of a workflow, else ``W-GROUP-iter-N``; what is too long is cut and gets a hash."""
    only = not diagnose and groups <= 1 and iterations <= 1
    name = f"{workflow}-job" if only else f"{workflow}-{group}-iter-{iteration}"
    if len(name) <= MOST_NAME:
        return name
    return f"{name[:MOST_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def job_documents(workflow: Mapping[str, Any], discovery: Discovery, groups: Sequence[Group], iteration: int = 1, *,
                  iterations: int = 1, diagnose: bool = False, total: int | None = None) -> list[Job]:
    """The jobs of one iteration of a resolved Workflow, in the order of its groups. total : number of all groups, when
    these are only some."""
    spec = workflow["spec"]
    placement = (spec.get("orchestration") or {}).get("placement", "")
    target = (spec.get("orchestration") or {}).get("target") or {}
    products, tolerated = discovery.gpu_products, tolerations(spec, placement, target)
    gang, mpi = bool(spec.get("gangScheduler")), LAUNCHER in replicated_names(spec)
    made = []
    for group in groups:
        name = job_name(workflow["metadata"]["name"], group.name, iteration, groups=total or len(groups),
                        iterations=iterations, diagnose=diagnose)
        affinity = node_affinity(hostnames(placement, group, target), target, products)
        document = _document(workflow, name, group, affinity, tolerated)
        count = len(group.nodes) or int(_train_job(document["spec"])["trainer"]["numNodes"])
        made.append(Job(name, group, iteration, count, document, affinity, tolerated, gang, mpi))
    return made


def hostnames(placement: str, group: Group, target: Mapping[str, Any]) -> list[str]:
    """The nodes that a job is pinned to: its group's; under Unpinned those that the target names, if it does."""
    return list(target.get("nodeNames") or ()) if placement == UNPINNED else list(group.nodes)


def node_requirements(target: Mapping[str, Any], gpu_products: Sequence[str]) -> list[dict[str, Any]]:
    """The target as requirements on labels: its selector by key, its expressions, and the products of the eligible
    nodes. Node names are left out (the hostname says them), taints too (tolerations answer those)."""
    selector = {} if target.get("nodeNames") else target.get("nodeSelector") or {}
    found = [{"key": key, "operator": "In", "values": [selector[key]]} for key in sorted(selector)]
    found += [copy.deepcopy(dict(one)) for one in target.get("matchExpressions") or ()]
    if gpu_products:
        found.append({"key": GPU_PRODUCT, "operator": "In", "values": list(gpu_products)})
    return [one for at, one in enumerate(found) if one not in found[:at]]


def node_affinity(names: Sequence[str], target: Mapping[str, Any],
                  gpu_products: Sequence[str]) -> dict[str, Any] | None:
    """The required node affinity: one term, whose expressions must all hold; None when nothing constrains the pods."""
    found = [{"key": HOSTNAME, "operator": "In", "values": list(names)}] if names else []
    found += node_requirements(target, gpu_products)
    if not found:
        return None
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": found}]}}


def tolerations(spec: Mapping[str, Any], placement: str, target: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The target's taints if it selects by taints; else an MPI job tolerates every taint where it is pinned, and the
    taints of GPU nodes where it is not; other jobs tolerate nothing."""
    selected = target.get("taintSelectors") or ()
    if selected:
        return [_toleration(one) for one in selected]
    if LAUNCHER not in replicated_names(spec):
        return []
    return [dict(one) for one in GPU_TAINTS] if placement == UNPINNED else [{"operator": "Exists"}]


def replicated_names(spec: Mapping[str, Any]) -> list[str]:
    """The replicated jobs of a Workflow's workload, whose pods all get the affinity: those of its runtimePatches and of
    the runtime it refers to."""
    train_job = _train_job(spec["jobTemplate"]["spec"])
    found = [one for patch in train_job.get("runtimePatches") or () for one in _replicated(patch)]
    runtime = (train_job.get("runtimeRef") or {}).get("name")
    for dependency in spec.get("dependencies") or ():
        if dependency.get("kind") == "TrainingRuntime" and dependency.get("metadata", {}).get("name") == runtime:
            found += below(dependency, "spec", "template", "spec").get("replicatedJobs") or ()
    if not all(isinstance(one, dict) and one.get("name") for one in found):
        raise InputError("replicatedJobs: an entry has no name", where="spec.jobTemplate.spec.workload")
    return list(dict.fromkeys(one["name"] for one in found)) or [WORKER]


def _document(workflow: Mapping[str, Any], name: str, group: Group, affinity: dict[str, Any] | None,
              tolerated: list[dict[str, Any]]) -> dict[str, Any]:
    spec, metadata = workflow["spec"], workflow["metadata"]
    template = spec["jobTemplate"]
    job = copy.deepcopy(dict(template["spec"]))
    performance = (spec.get("validation") or {}).get("performance") or {}
    thresholds = (performance.get("thresholds") or {}).get("thresholds")
    if thresholds:
        job["thresholds"] = dict(thresholds)
    if performance.get("measurementTimeout"):
        job["measurementTimeout"] = performance["measurementTimeout"]
    train_job = _train_job(job)
    if group.nodes:
        train_job.setdefault("trainer", {})["numNodes"] = len(group.nodes)
    for replicated in replicated_names(spec):
        pod = _pod_spec(_patched(train_job, replicated))
        if affinity is not None:
            pod.setdefault("affinity", {})["nodeAffinity"] = copy.deepcopy(affinity)
        if tolerated:
            pod["tolerations"] = [*(pod.get("tolerations") or ()), *copy.deepcopy(tolerated)]
    above = template.get("metadata") or {}
    labels = {**(above.get("labels") or {}), MANAGED_BY: MANAGER,
              "nvcre.nvidia.com/workflow": metadata["name"], "nvcre.nvidia.com/group": group.name}
    annotations = dict(above.get("annotations") or {})
    if group.nodes:
        annotations["nvcre.nvidia.com/group-nodes"] = ",".join(group.nodes)
    at = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    owner = {"apiVersion": API_VERSION, "kind": "Workflow", "name": metadata["name"], "controller": True}
    return {"apiVersion": API_VERSION, "kind": "Job",
            "metadata": {"name": name, **at, "labels": labels, **({"annotations": annotations} if annotations else {}),
                         "ownerReferences": [owner]},
            "spec": job}


def _toleration(selected: Mapping[str, Any]) -> dict[str, Any]:
    value = {"operator": "Equal", "value": selected["value"]} if selected.get("value") else {"operator": "Exists"}
    return {"key": selected["key"], **value, **({"effect": selected["effect"]} if selected.get("effect") else {})}


def _train_job(job_spec: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job_spec["workload"]["trainJob"]
    return found


def _patched(train_job: dict[str, Any], name: str) -> dict[str, Any]:
    """The patch of a replicated job by the controller, made if there is none."""
    patches = train_job.setdefault("runtimePatches", [])
    patch = next((one for one in patches if one.get("manager") == PATCH_MANAGER), None)
    if patch is None:
        patch = {"manager": PATCH_MANAGER}
        patches.append(patch)
    jobs = patch.setdefault("trainingRuntimeSpec", {}).setdefault("template", {}).setdefault("spec", {}).setdefault(
        "replicatedJobs", [])
    found: dict[str, Any] | None = next((one for one in jobs if one["name"] == name), None)
    if found is None:
        found = {"name": name}
        jobs.append(found)
    return found


def _replicated(patch: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(below(patch, "trainingRuntimeSpec", "template", "spec").get("replicatedJobs") or ())


def _pod_spec(replicated: dict[str, Any]) -> dict[str, Any]:
    """The pod specification of a patched replicated job, made if there is none."""
    below: dict[str, Any] = replicated
    for key in ("template", "spec", "template", "spec"):
        below = below.setdefault(key, {})
    return below
