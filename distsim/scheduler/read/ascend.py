"""From an AscendJob (mindxdl.gitee.com/v1) to the draft of a job."""

from __future__ import annotations

from distsim.scheduler.read.draft import Draft, Role
from distsim.scheduler.read.found import Found
from distsim.scheduler.read.notes import Notes, unused
from distsim.scheduler.read.objects import INT32, REPLICA_TYPES, AscendJob
from distsim.scheduler.read.pods import facts_of

UNLIMITED = INT32             # retries without a backoffLimit, or with one of 0 or less (mind-cluster's page)


def ascend_draft(found: Found, notes: Notes) -> Draft:
    """The draft of an AscendJob: Master, Chief or Scheduler before Worker; pods are called JOB-TYPE-INDEX."""
    job = found.read(AscendJob)
    roles = []
    for kind in REPLICA_TYPES:
        replicas = getattr(job.spec.replicaSpecs, kind)
        if replicas is None:
            continue
        place = found.at("spec", "replicaSpecs", kind, "template", "spec")
        facts = facts_of(replicas.template.spec, found.document, place, notes)
        name = kind.lower()
        pods = tuple(f"{job.metadata.name}-{name}-{number}" for number in range(replicas.replicas))
        metadata = replicas.template.metadata
        roles.append(Role(name, pods, facts, metadata.labels, metadata.annotations))
        notes.ignore(found.file, "job", unused(replicas, "replicaSpecs."))
        notes.ignore(found.file, "pods", unused(replicas.template, "template."))
    run = job.spec.runPolicy
    gang = run.schedulingPolicy
    notes.ignore(found.file, "job", [*unused(job), *unused(job.spec), *unused(run, "runPolicy."),
                                     *unused(gang, "runPolicy.schedulingPolicy.")])
    limit = run.backoffLimit
    return Draft("AscendJob", found, job.metadata, roles, gang.queue if "queue" in gang.model_fields_set else None,
                 gang.minAvailable, priority=roles[0].facts.priority,
                 priority_classes=[gang.priorityClass, *(role.facts.priority_class for role in roles)],
                 max_retry=limit if limit is not None and limit > 0 else UNLIMITED)
