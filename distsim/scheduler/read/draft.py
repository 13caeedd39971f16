"""A job in the making: what its object says, before labels are folded, keys checked and tasks made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from distsim.config.problems import problem
from distsim.scheduler.keys import ANNOTATION, LABEL, parse_settings
from distsim.scheduler.keys.settings import SOFT_SHARE
from distsim.scheduler.keys.table import DISTRIBUTED
from distsim.scheduler.read.amounts import chip_resources
from distsim.scheduler.read.fold import Layer, fold
from distsim.scheduler.read.found import Found
from distsim.scheduler.read.notes import Notes, note_keys, note_values
from distsim.scheduler.read.objects import Topology
from distsim.scheduler.read.overruled import overruled
from distsim.scheduler.read.pod_objects import Metadata
from distsim.scheduler.read.pods import PodFacts
from distsim.scheduler.types import NOT_ENOUGH_POD, VALIDATE_FAILED, Job, JobSettings, Refusal, Task

Policies = tuple[tuple[str, str, int | None], ...]


@dataclass(frozen=True)
class Role:
    """Pods of one template. name : of the task. pods : their names. policies : of the task itself."""

    name: str
    pods: tuple[str, ...]
    facts: PodFacts
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    policies: Policies = ()


@dataclass
class Draft:
    """What an object says of a job. None or empty: it says nothing. group : metadata of its PodGroup.

    priority_classes : names, the first that is not empty counts. default_available : min_available if nothing says it.
    """

    kind: str
    found: Found
    metadata: Metadata
    roles: list[Role]
    queue: str | None = None
    min_available: int | None = None
    default_available: int = 0
    topology: dict[str, Any] | None = None
    priority_classes: list[str] = field(default_factory=list)
    priority: int | None = None
    policies: Policies = ()
    max_retry: int = 3
    group: Metadata | None = None

    @property
    def uid(self) -> str:
        """namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


def finish(draft: Draft, priority: int, notes: Notes) -> Job:
    """The job of a draft: tasks, labels, settings or what is wrong with them."""
    labels, annotations = _folded(draft, LABEL, notes), _folded(draft, ANNOTATION, notes)
    with_chips = [role for role in draft.roles if role.facts.chips]
    resource = _resource(draft)
    pods = sum(len(role.pods) for role in with_chips or draft.roles)
    sizes = sorted({role.facts.chips for role in with_chips}) or [0]
    found = [parse_settings(labels, annotations, pods, chips) for chips in sizes]
    settings = next((one for one in found if isinstance(one, Refusal)), found[0])
    tasks = list(_tasks(draft, resource, isinstance(settings, JobSettings) and settings.schedule_policy == SOFT_SHARE))
    if not tasks:
        raise problem(draft.found.document, draft.found.at("spec"), "the job has no pod; its replicas are 0")
    shown_by = next(iter(with_chips), draft.roles[0]).facts
    job = Job(draft.metadata.name, draft.metadata.namespace, draft.kind, tasks, queue=draft.queue or "default",
              priority=priority, min_available=draft.min_available or draft.default_available or len(tasks),
              resource=resource, labels=labels, annotations=annotations, image=shown_by.image, command=shown_by.command,
              network_topology=draft.topology, policies=draft.policies, max_retry=draft.max_retry,
              file=draft.found.file or "", line=draft.found.line)
    _judge(job, settings, notes)
    return job


def _judge(job: Job, settings: JobSettings | Refusal, notes: Notes) -> None:
    """Give a job its settings, or what makes it invalid."""
    if isinstance(settings, Refusal):
        job.refusal = settings
        return
    job.settings = settings
    if settings.distributed:
        job.annotations.setdefault(DISTRIBUTED, "true")
    for line in overruled(job):
        notes.warn(job.file, job.line, line)
    if job.min_available > len(job.tasks):
        job.refusal = Refusal(VALIDATE_FAILED, f"minAvailable is {job.min_available}, the job has {len(job.tasks)} "
                              f"pod{'' if len(job.tasks) == 1 else 's'}", NOT_ENOUGH_POD, final=True)


def _folded(draft: Draft, place: str, notes: Notes) -> dict[str, str]:
    """Labels or annotations of the job; those that are not acted on are noted."""
    file, line = draft.found.file, draft.found.line
    layers = [Layer(role.name, role.labels if place == LABEL else role.annotations, bool(role.facts.chips))
              for role in draft.roles]
    own, group = _texts(draft.metadata, place), _texts(draft.group, place)
    for texts in (own, group, *(layer.texts for layer in layers)):
        note_keys(notes, file, line, place, texts)
        note_values(notes, file, line, place, texts)
    return fold(own, group, layers, place, lambda message: notes.warn(file, line, message))


def _texts(metadata: Metadata | None, place: str) -> Mapping[str, str]:
    if metadata is None:
        return {}
    return metadata.labels if place == LABEL else metadata.annotations


def _resource(draft: Draft) -> str:
    chips = chip_resources(role.facts.request for role in draft.roles)
    if len(chips) > 1:
        raise problem(draft.found.document, draft.found.at("spec"),
                      f"the pods of the job ask for chips of several kinds: {', '.join(chips)}; valid: one kind")
    return chips[0] if chips else ""


def _tasks(draft: Draft, resource: str, shared: bool) -> Iterator[Task]:
    """The tasks in order. shared : soft share, whose pods hold a part of one chip however many they ask for; the
    amount of chips on a node does not count for them."""
    index = 0
    for role in draft.roles:
        facts = role.facts
        request = {name: count for name, count in facts.request.items() if not (shared and name == resource)}
        for name in role.pods:
            yield Task(draft.uid, name, role.name, index, min(facts.chips, 1) if shared else facts.chips, dict(request),
                       dict(facts.node_selector or {}), facts.affinity or {}, facts.tolerations, facts.spread,
                       policies=role.policies)
            index += 1


def topology_of(spec: Topology | None) -> dict[str, Any] | None:
    """spec.networkTopology as plain data: mode, and highestTierAllowed or highestTierName."""
    return spec.model_dump(exclude_none=True) if spec is not None else None
