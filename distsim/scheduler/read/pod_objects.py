"""What stands in the template of a pod, and objects beside jobs: Pod, PriorityClass.

Source: Kubernetes core/v1 and scheduling/v1. Unknown keys stay (`model_extra`); those that are not acted on are named
(notes.py).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

INT32 = 2**31 - 1


def _texts(data: Any) -> Any:
    """Labels or annotations: text only, as in Kubernetes; a value of nothing is no value."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        return data
    for key, value in data.items():
        if value is not None and not isinstance(value, str):
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            raise ValueError(f"{key}: {shown} is not text; write it in quotes, e.g. \"{shown}\"")
    return {key: value for key, value in data.items() if value is not None}


def or_nothing(empty: Any) -> BeforeValidator:
    """A key that stands there with nothing behind it."""
    return BeforeValidator(lambda data: empty if data is None else data)


Texts = Annotated[dict[str, str], BeforeValidator(_texts)]
Amounts = Annotated[dict[str, str | int | float], or_nothing({})]
Words = Annotated[tuple[str, ...], or_nothing(())]


class Tolerant(BaseModel):
    """A model that keeps the keys that it does not know."""

    model_config = ConfigDict(extra="allow", frozen=True)


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
    affinity: Annotated[dict[str, Any], or_nothing({})] = Field({}, description="what nodes it wants")
    tolerations: Annotated[tuple[dict[str, Any], ...], or_nothing(())] = Field((), description="taints it stands")
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
