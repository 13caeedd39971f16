"""Which nodes are eligible: a selector over labels, names and taints."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from distsim.cluster.labels import GPU_PRESENT
from distsim.quantities import StrictModel

from .labels import Texts

VALUED = ("In", "NotIn")


class MatchExpression(StrictModel):
    """One requirement on a label; `discovery.expression_holds` judges it."""

    key: str = Field(min_length=1, description="label key")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="how the label is compared")
    values: list[str] = Field([], description="values; for In and NotIn at least one, else none")

    @model_validator(mode="after")
    def _values(self) -> MatchExpression:
        if self.operator in VALUED and not self.values:
            raise ValueError(f"values: operator {self.operator} needs at least one value")
        if self.operator not in VALUED and self.values:
            raise ValueError(f"values: operator {self.operator} takes no values")
        return self


class TaintSelector(StrictModel):
    """A taint that a node must have."""

    key: str = Field(min_length=1, description="key of the taint")
    value: str = Field("", description="value of the taint; empty: any")
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = Field("", description="effect; empty: any")


class Target(StrictModel):
    """The eligible nodes. All that is given must hold; nodeNames takes the place of nodeSelector."""

    nodeSelector: Texts = Field({}, description="labels that a node must have")
    matchExpressions: list[MatchExpression] = Field([], description="further requirements on labels")
    nodeNames: list[str] = Field([], description="names of nodes; nodeSelector is then ignored")
    taintSelectors: list[TaintSelector] = Field([], description="taints that a node must have, every one of them")

    @field_validator("nodeNames")
    @classmethod
    def _names(cls, names: list[str]) -> list[str]:
        seen: set[str] = set()
        for name in names:
            if not name or name in seen:
                raise ValueError(f"{name!r} is named twice" if name else "the name of a node is empty")
            seen.add(name)
        return names


def or_every_gpu_node(given: Any) -> Any:
    """What stands under `target`, or the default if that is nothing or an empty section."""
    return {"nodeSelector": {GPU_PRESENT: "true"}} if given is None or given == {} else given
