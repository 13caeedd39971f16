"""That the manifests still say what the run's gangScheduler asks for, checked before any job is made.

The workload object's queue label is written here: one that an override took out comes back, one that it changed is an
error. What the TrainingRuntime says is only checked, never mended. The first error counts.
Source: NVIDIA/cluster-readiness-engine, the gang scheduling consistency contract of a Workflow, with its texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from distsim.errors import InputError

from .gang_spec import DEFAULT_LABEL_KEY, DEFAULT_QUEUE, GangScheduler
from .labels import check_labels, quoted, with_label
from .merge import below
from .names import CLUSTER_RUNTIME_KIND, RUNTIME_KIND, TRAINER_GROUP

Data = dict[str, Any]
_GANG = "gangScheduler is configured"
_OF_JOB, _OF_POD = "template.metadata.labels", "template.spec.template.metadata.labels"
_SCHEDULER = "template.spec.template.spec.schedulerName"


def resolved_intent(gang: GangScheduler | None) -> dict[str, str] | None:
    """spec.gangScheduler of a Workflow: scheduler, queue and label key, defaults filled in; None without one."""
    return gang.model_dump() if gang is not None else None


def composed_labels(labels: Mapping[str, str], intent: Mapping[str, str] | None) -> dict[str, str]:
    """The workload's labels with the queue's among them; InputError for a conflict or a label that is not valid."""
    if intent is not None:
        labels = with_label(labels, intent["queueLabelKey"], intent["queue"])
    check_labels(labels)
    return dict(labels)


def checked(spec: Mapping[str, Any]) -> Data:
    """A Workflow's spec whose overrides are applied, with the workload's queue label restored if it was taken out.

    Raises InputError for labels that are not valid, with or without a gangScheduler, and for what disagrees with it.
    """
    job = spec["jobTemplate"].get("spec") or {}
    labels = (job.get("workloadMetadata") or {}).get("labels") or {}
    check_labels(labels)
    given = spec.get("gangScheduler")
    if not given or not given.get("schedulerName"):
        return dict(spec)
    intent = {"schedulerName": given["schedulerName"], "queue": given.get("queue") or DEFAULT_QUEUE,
              "queueLabelKey": given.get("queueLabelKey") or DEFAULT_LABEL_KEY}
    job = {**job, "workloadMetadata": {"labels": composed_labels(labels, intent)}}
    _check_runtime(job, spec.get("dependencies") or (), intent)
    return {**spec, "jobTemplate": {**spec["jobTemplate"], "spec": job}}


def _check_runtime(job: Data, dependencies: Iterable[Data], intent: Mapping[str, str]) -> None:
    train_job = (job.get("workload") or {}).get("trainJob")
    if not train_job:
        raise InputError(f"{_GANG} but spec.jobTemplate.spec.workload has no trainJob, so its runtime scheduling "
                         "cannot be checked")
    name = _referenced(train_job.get("runtimeRef") or {})
    replicated = below(_runtime(dependencies, name), "spec", "template", "spec").get("replicatedJobs")
    if not isinstance(replicated, list):
        raise InputError(f"{_GANG} but {RUNTIME_KIND} {quoted(name)} has no spec.template.spec.replicatedJobs, so its "
                         "queue labels cannot be checked")
    patched = _patched(train_job.get("runtimePatches") or ())
    for index, one in enumerate(replicated):
        if not isinstance(one, dict):
            raise InputError(f"{_GANG} but {RUNTIME_KIND} {quoted(name)} replicatedJobs[{index}] is not an object, so "
                             "its queue label cannot be checked")
        _check_replicated(one, name, patched, intent)


def _check_replicated(job: Data, runtime: str, patched: Mapping[tuple[Any, str], Data],
                      intent: Mapping[str, str]) -> None:
    """Labels of the job's template, labels of its pods, their scheduler: in this order."""
    name = job.get("name")
    who = f"{RUNTIME_KIND} {quoted(runtime)} replicatedJob {quoted(name or '')}"
    template = _part(job, "template", f"{who} has no template, so its queue label cannot be checked")
    pod = _part(below(template, "spec"), "template",
                f"{who} has no pod template, so its queue label cannot be checked")
    for where, part in ((_OF_JOB, template), (_OF_POD, pod)):
        labels = {**below(part, "metadata", "labels"), **patched.get((name, where), {})}
        _check_queue(labels, who, where, intent)
    inside = _part(pod, "spec", f"{who} has no pod spec, so its scheduler name cannot be checked")
    scheduler = {**inside, **patched.get((name, _SCHEDULER), {})}.get("schedulerName")
    if scheduler != intent["schedulerName"]:
        raise InputError(f"{_GANG} with schedulerName {quoted(intent['schedulerName'])} but {who} sets schedulerName "
                         f"{quoted(scheduler or '')}")


def _check_queue(labels: Mapping[str, Any], who: str, where: str, intent: Mapping[str, str]) -> None:
    key, queue = intent["queueLabelKey"], intent["queue"]
    if key not in labels:
        raise InputError(f"{_GANG} with queue {quoted(queue)} but {who} is missing label {quoted(key)} on {where}")
    if labels[key] != queue:
        raise InputError(f"{_GANG} with queue {quoted(queue)} but {who} sets label {quoted(key)} to "
                         f"{quoted(labels[key])} on {where}")


def _referenced(reference: Mapping[str, Any]) -> str:
    """Name of the runtime; what is absent has the TrainJob's defaults, so a name alone means a cluster's runtime."""
    group, kind = reference.get("apiGroup", TRAINER_GROUP), reference.get("kind", CLUSTER_RUNTIME_KIND)
    if group != TRAINER_GROUP:
        raise InputError(f"{_GANG} but the workload references runtime apiGroup {quoted(group)} rather than "
                         f"{quoted(TRAINER_GROUP)}, so its scheduling cannot be checked")
    if kind != RUNTIME_KIND:
        raise InputError(f"{_GANG} but the workload references runtime kind {quoted(kind)}; only a namespaced "
                         f"{RUNTIME_KIND} supplied as a Workflow dependency can be checked")
    return str(reference.get("name") or "")


def _runtime(dependencies: Iterable[Data], name: str) -> Data:
    for dependency in dependencies:
        group = str(dependency.get("apiVersion") or "").partition("/")[0]
        if (dependency.get("kind") == RUNTIME_KIND and group == TRAINER_GROUP
                and below(dependency, "metadata").get("name") == name):
            return dependency
    raise InputError(f"{_GANG} but the workload references runtime {quoted(name)}, which is not among the Workflow's "
                     f"{RUNTIME_KIND}.{TRAINER_GROUP} dependencies")


def _patched(patches: Iterable[Data]) -> dict[tuple[Any, str], Data]:
    """Labels and scheduler that the TrainJob's runtimePatches set, by replicated job and by where they stand; the last
    one wins."""
    found: dict[tuple[Any, str], Data] = {}
    for patch in patches:
        jobs = below(patch, "trainingRuntimeSpec", "template", "spec").get("replicatedJobs")
        for job in jobs if isinstance(jobs, list) else ():
            pod = below(job, "template", "spec", "template")
            scheduler = below(pod, "spec").get("schedulerName")
            for where, change in ((_OF_JOB, below(job, "template", "metadata", "labels")),
                                  (_OF_POD, below(pod, "metadata", "labels")),
                                  (_SCHEDULER, {"schedulerName": scheduler} if scheduler else {})):
                found.setdefault((below(job).get("name"), where), {}).update(change)
    return found


def _part(section: Data, key: str, missing: str) -> Data:
    part = section.get(key)
    if not isinstance(part, dict):
        raise InputError(f"{_GANG} but {missing}")
    return part
