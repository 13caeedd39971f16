"""From the template of a pod to what a task needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from distsim.cluster.labels import HOSTNAME
from distsim.config.problems import problem
from distsim.config.yaml_reader import Document, Place
from distsim.scheduler.read import amounts
from distsim.scheduler.read.affinity import Affinity, PodAntiAffinity
from distsim.scheduler.read.notes import Notes, unused
from distsim.scheduler.read.pod_objects import PodSpec


@dataclass(frozen=True)
class PodFacts:
    """What a task needs of the spec of its pod.

    request : amounts by resource name, cpu in milli, memory in bytes, chips included. resource : the name of its chips,
    "" without. spread : whether two pods of the job may not share a node. priority : as a number, if the spec has one.
    """

    request: dict[str, int]
    resource: str = ""
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    tolerations: tuple[dict[str, Any], ...] = ()
    spread: bool = False
    image: str = ""
    command: tuple[str, ...] = ()
    priority_class: str = ""
    priority: int | None = None

    @property
    def chips(self) -> int:
        """How many chips it asks for."""
        return self.request.get(self.resource, 0)


def facts_of(spec: PodSpec, document: Document, place: Place, notes: Notes) -> PodFacts:
    """The facts of a pod's spec at a place of a document; InputError with the line of an amount that is wrong."""
    try:
        request = amounts.of_pod(spec)
    except amounts.WrongAmount as error:
        raise problem(document, _place_of(spec, place, error), str(error)) from None
    chips = amounts.chip_resources([request])
    if len(chips) > 1:
        raise problem(document, (*place, "containers"), f"a pod asks for chips of several kinds: {', '.join(chips)}; "
                                                        "valid: one kind")
    _note(spec, document.file, notes)
    first = spec.containers[0]
    return PodFacts(request, chips[0] if chips else "", spec.nodeSelector, _given(spec.affinity),
                    tuple(map(_given, spec.tolerations)), _spreads(spec.affinity, document.file, notes), first.image,
                    (*first.command, *first.args), spec.priorityClassName, spec.priority)


def _place_of(spec: PodSpec, place: Place, error: amounts.WrongAmount) -> Place:
    """Where the amount stands, as far as it is clear: the first container that has it."""
    for kind, containers in (("containers", spec.containers), ("initContainers", spec.initContainers)):
        for index, container in enumerate(containers):
            if error.key in getattr(container.resources, error.part):
                return (*place, kind, index, "resources", error.part, error.key)
    return place


def _note(spec: PodSpec, file: str | None, notes: Notes) -> None:
    notes.ignore(file, "pods", unused(spec))
    notes.ignore(file, "pods", _unknown(spec.affinity, "affinity"))
    for toleration in spec.tolerations:
        notes.ignore(file, "pods", unused(toleration, "tolerations."))
    for container in (*spec.containers, *spec.initContainers):
        notes.ignore(file, "containers", unused(container))
        notes.ignore(file, "containers", unused(container.resources, "resources."))


def _given(model: BaseModel) -> dict[str, Any]:
    """A checked part of a spec as it stands in the file."""
    found: dict[str, Any] = model.model_dump(mode="json", exclude_unset=True)
    return found


def _spreads(affinity: Affinity, file: str | None, notes: Notes) -> bool:
    """Whether a required podAntiAffinity keeps the pods of a job on different nodes; other affinity of pods is noted.

    Its labelSelector is taken to mean the job's own pods, as mind-cluster's examples have it [our decision]."""
    anti = affinity.podAntiAffinity or PodAntiAffinity()
    keys = [term.topologyKey for term in anti.requiredDuringSchedulingIgnoredDuringExecution]
    other = [f"affinity.podAntiAffinity by {key}" for key in keys if key != HOSTNAME]
    other += ["affinity.podAntiAffinity, preferred"] if anti.preferredDuringSchedulingIgnoredDuringExecution else []
    other += ["affinity.podAffinity"] if affinity.podAffinity else []
    notes.ignore(file, "pods", other)
    return HOSTNAME in keys


def _unknown(part: Any, prefix: str) -> Iterator[str]:
    """Keys that no model in a part of a spec knows."""
    if isinstance(part, tuple):
        for one in part:
            yield from _unknown(one, prefix)
    elif isinstance(part, BaseModel):
        yield from (f"{prefix}.{name}" for name in part.model_extra or ())
        for name in type(part).model_fields:
            yield from _unknown(getattr(part, name), f"{prefix}.{name}")
