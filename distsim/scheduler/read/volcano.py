"""From a VolcanoJob (batch.volcano.sh/v1alpha1) to the draft of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from distsim.config.problems import problem
from distsim.scheduler.read.draft import Draft, Policies, Role, topology_of
from distsim.scheduler.read.found import Found
from distsim.scheduler.read.notes import Notes, unused
from distsim.scheduler.read.objects import Policy, VolcanoJob, VolcanoSpec, VolcanoTask
from distsim.scheduler.read.pods import facts_of


def volcano_draft(found: Found, notes: Notes) -> Draft:
    """The draft of a VolcanoJob; its pods are called JOB-TASK-INDEX, an unnamed task default0, default1, ..."""
    job = found.read(VolcanoJob)
    spec = job.spec
    roles: list[Role] = []
    for index, task in enumerate(spec.tasks):
        place = found.at("spec", "tasks", index)
        name = task.name or f"default{index}"
        if any(role.name == name for role in roles):
            raise problem(found.document, (*place, "name"), f"task {name!r} is given twice")
        facts = facts_of(task.template.spec, found.document, (*place, "template", "spec"), notes)
        pods = tuple(f"{job.metadata.name}-{name}-{number}" for number in range(task.replicas))
        roles.append(Role(name, pods, facts, task.template.metadata.labels, task.template.metadata.annotations,
                          policies_of(task.policies)))
    _note(job, spec, found, notes)
    return Draft("VolcanoJob", found, job.metadata, roles, spec.queue if "queue" in spec.model_fields_set else None,
                 spec.minAvailable, sum(_needed(task) for task in spec.tasks), _topology(spec, found, notes),
                 [spec.priorityClassName, *(role.facts.priority_class for role in roles)],
                 spec.priority if spec.priority is not None else roles[0].facts.priority,
                 policies_of(spec.policies), spec.maxRetry)


def policies_of(given: Sequence[Policy]) -> Policies:
    """(event, action, exit code) of each policy; a policy upon an exit code is one upon PodFailed with that code."""
    return tuple(_events(given))


def _events(given: Sequence[Policy]) -> Iterator[tuple[str, str, int | None]]:
    for policy in given:
        if policy.exitCode is not None:
            yield "PodFailed", policy.action, policy.exitCode
        for event in (*((policy.event,) if policy.event else ()), *policy.events):
            yield event, policy.action, None


def _needed(task: VolcanoTask) -> int:
    """Pods of a task that a gang needs unless the job says how many (volcano: default of spec.minAvailable)."""
    return task.replicas if task.minAvailable is None else task.minAvailable


def _topology(spec: VolcanoSpec, found: Found, notes: Notes) -> dict[str, Any] | None:
    """networkTopology, with partitionPolicy: task -> its groups, if either says how far they may reach."""
    groups = {task.name or f"default{index}": task.partitionPolicy.model_dump(exclude_none=True)
              for index, task in enumerate(spec.tasks) if task.partitionPolicy is not None}
    topology = topology_of(spec.networkTopology)
    if not groups:
        return topology
    if topology is None and not any("networkTopology" in one for one in groups.values()):
        notes.ignore(found.file, "job", ["tasks.partitionPolicy without networkTopology"])
        return None
    return {**(topology or {"mode": "hard"}), "partitionPolicy": groups}


def _note(job: VolcanoJob, spec: VolcanoSpec, found: Found, notes: Notes) -> None:
    notes.ignore(found.file, "job", [*unused(job), *unused(spec)])
    policies = [*spec.policies, *(policy for task in spec.tasks for policy in task.policies)]
    if any(policy.timeout is not None for policy in policies):
        notes.ignore(found.file, "job", ["policies.timeout"])
    for task in spec.tasks:
        notes.ignore(found.file, "job", unused(task, "tasks."))
        notes.ignore(found.file, "pods", unused(task.template, "template."))
