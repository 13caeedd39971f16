"""Several workloads at once."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

import numpy as np
from pydantic import Discriminator, Field, model_validator

from distsim.workload.base import Context, WorkloadSpec
from distsim.workload.registry import PARTS, build_part
from distsim.workload.types import SEND, Workload

_Part: Any = Annotated[Union[tuple(module.Spec for module in PARTS.values())], Discriminator("kind")]  # noqa: UP007


class SeveralSpec(WorkloadSpec):
    """Workloads that run side by side."""

    kind: Literal["several"]
    parts: tuple[_Part, ...] = Field(default=(), description="The workloads; at least one, unless `file` is given. "
                                                             "They may be of every kind but `several`.")

    @model_validator(mode="after")
    def _some(self) -> SeveralSpec:
        if not self.parts and self.file is None:
            raise ValueError("parts is empty; list at least one workload, e.g. {kind: permutation, size: 1MB}")
        return self


Spec = SeveralSpec


def build(spec: SeveralSpec, context: Context) -> Workload:
    """The parts one after the other. A part keeps its flow ids unless an earlier part has one of them; then all ids of
    the part are raised by the greatest id so far."""
    built = [build_part(part, Context(context.hosts, context.seed, f"{context.where}.parts.{index}", index))
             for index, part in enumerate(spec.parts)]
    taken = np.zeros(0, "i8")
    first = 0
    for part in built:
        part.edges["src"] += first
        part.edges["dst"] += first
        first += len(part.ops)
        ids = part.ops["user_id"][part.ops["kind"] == SEND]
        if np.isin(ids, taken).any():
            part.ops["user_id"] += taken.max()
        taken = np.concatenate([taken, part.ops["user_id"][part.ops["kind"] == SEND]])
    return Workload(np.concatenate([part.ops for part in built]), np.concatenate([part.edges for part in built]),
                    warnings=[line for part in built for line in part.warnings])
