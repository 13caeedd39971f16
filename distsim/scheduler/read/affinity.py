"""What nodes a pod wants (spec.affinity) and which taints it stands (spec.tolerations).

Source: Kubernetes core/v1, and its validation of pods (which operators need values).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from distsim.scheduler.read.pod_model import Tolerant, Words, or_nothing

Weight = Annotated[int, Field(strict=True, ge=1, le=100)]
_WITH_VALUES, _WITHOUT = ("In", "NotIn"), ("Exists", "DoesNotExist")


class Requirement(Tolerant):
    """A condition on a label (or field) of a node."""

    key: str = Field(description="the label")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = Field(description="how it is compared")
    values: Words = Field((), description="with what")

    @model_validator(mode="after")
    def _count(self) -> Requirement:
        if self.operator in _WITH_VALUES and not self.values:
            raise ValueError(f"operator {self.operator} of {self.key} needs values")
        if self.operator in _WITHOUT and self.values:
            raise ValueError(f"operator {self.operator} of {self.key} takes no values")
        if self.operator in ("Gt", "Lt") and not (len(self.values) == 1 and _is_integer(self.values[0])):
            raise ValueError(f"operator {self.operator} of {self.key} needs one value, an integer in quotes")
        return self


class Term(Tolerant):
    """Conditions that hold together."""

    matchExpressions: Annotated[tuple[Requirement, ...], or_nothing(())] = Field((), description="on labels")
    matchFields: Annotated[tuple[Requirement, ...], or_nothing(())] = Field((), description="on metadata.name")


class Terms(Tolerant):
    """Terms of which one must hold."""

    nodeSelectorTerms: tuple[Term, ...] = Field(min_length=1, description="the terms")


class PreferredTerm(Tolerant):
    """A term that nodes should fit."""

    weight: Weight = Field(description="how much it counts, 1 to 100")
    preference: Term = Field(description="the term")


class NodeAffinity(Tolerant):
    """affinity.nodeAffinity."""

    requiredDuringSchedulingIgnoredDuringExecution: Terms | None = Field(None, description="what nodes must fit")
    preferredDuringSchedulingIgnoredDuringExecution: Annotated[tuple[PreferredTerm, ...], or_nothing(())] = Field(
        (), description="what they should fit")


class PodTerm(Tolerant):
    """Pods beside which a pod may not stand, and how near."""

    topologyKey: str = Field(min_length=1, description="label of nodes by which near and far are told")
    labelSelector: Any = Field(None, description="which pods")


class PodAntiAffinity(Tolerant):
    """affinity.podAntiAffinity."""

    requiredDuringSchedulingIgnoredDuringExecution: Annotated[tuple[PodTerm, ...], or_nothing(())] = Field(
        (), description="pods that must not be near")
    preferredDuringSchedulingIgnoredDuringExecution: Any = Field(None, description="pods that should not be near")


class Affinity(Tolerant):
    """spec.affinity."""

    nodeAffinity: NodeAffinity | None = Field(None, description="nodes that it wants")
    podAntiAffinity: PodAntiAffinity | None = Field(None, description="pods that it does not want near")
    podAffinity: Any = Field(None, description="pods that it wants near")


class Toleration(Tolerant):
    """A taint that a pod stands."""

    key: str | None = Field(None, description="key of the taint; none: every taint")
    operator: Literal["", "Equal", "Exists"] | None = Field(None, description="Equal unless it is given")
    value: str | None = Field(None, description="value of the taint")
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="effect of the taint; none: every effect")
    tolerationSeconds: Any = Field(None, description="for how long")

    @model_validator(mode="after")
    def _operator(self) -> Toleration:
        if not self.key and self.operator != "Exists":
            raise ValueError("a toleration without key needs operator Exists")
        if self.operator == "Exists" and self.value:
            raise ValueError(f"operator Exists takes no value, it is {self.value!r}")
        return self


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
