"""What stands in the template of a pod, and objects beside jobs: Pod, PriorityClass.

Source: Kubernetes core/v1 and scheduling/v1. Unknown keys stay (`model_extra`); those that are not acted on are named
(notes.py).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from distsim.scheduler.read.affinity import Affinity, Toleration
from distsim.scheduler.read.pod_model import Amounts, Texts, Tolerant, Words, or_nothing

INT32 = 2**31 - 1
NAME = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"        # of objects (RFC 1123)


class Metadata(BaseModel):
    """Metadata of an object; what a cluster adds is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(max_length=253, pattern=NAME, description="name of the object: small letters, digits, - and .")
    namespace: str = Field("default", max_length=63, pattern=NAME, description="its namespace")
    labels: Texts = Field({}, description="its labels")
    annotations: Texts = Field({}, description="its annotations")
    ownerReferences: tuple[dict[str, Any], ...] = Field((), description="objects that it belongs to")


class TemplateMetadata(BaseModel):
    """Metadata of the template of a pod."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    labels: Texts = Field({}, description="labels of the pods")
    annotations: Texts = Field({}, description="annotations of the pods")


class Resources(Tolerant):
    """What a container asks for."""

    limits: Amounts = Field({}, description="most it may use, by resource name")
    requests: Amounts = Field({}, description="what it asks for, by resource name")


class Container(Tolerant):
    """A container."""

    name: str = Field("", description="name of the container")
    image: str = Field("", description="its image")
    command: Words = Field((), description="what it runs")
    args: Words = Field((), description="arguments of the command")
    resources: Annotated[Resources, or_nothing({})] = Field(Resources(), description="what it asks for")


class PodSpec(Tolerant):
    """The spec of a pod."""

    containers: tuple[Container, ...] = Field(min_length=1, description="its containers")
    initContainers: Annotated[tuple[Container, ...], or_nothing(())] = Field((), description="those that run first")
    nodeSelector: Texts = Field({}, description="labels that its node must have")
    affinity: Annotated[Affinity, or_nothing({})] = Field(Affinity(), description="what nodes it wants")
    tolerations: Annotated[tuple[Toleration, ...], or_nothing(())] = Field((), description="taints it stands")
    priorityClassName: str = Field("", description="name of its PriorityClass")
    priority: int | None = Field(None, strict=True, description="its priority as a number")


class Template(Tolerant):
    """The template of pods."""

    metadata: Annotated[TemplateMetadata, or_nothing({})] = Field(TemplateMetadata(), description="their metadata")
    spec: PodSpec = Field(description="their spec")


class Pod(Tolerant):
    """A pod by itself."""

    metadata: Metadata = Field(description="its metadata")
    spec: PodSpec = Field(description="its spec")


class PriorityClass(Tolerant):
    """A PriorityClass."""

    metadata: Metadata = Field(description="its name")
    value: int = Field(strict=True, ge=-INT32 - 1, le=INT32, description="the priority")
    globalDefault: bool = Field(False, strict=True, description="whether it counts for jobs that name none")
