"""Several workloads at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Union

import numpy as np
from pydantic import Discriminator, Field, model_validator

from distsim.workload.base import Context, WorkloadSpec
from distsim.workload.lanes import Lanes
from distsim.workload.lower.jobs import label_parts
from distsim.workload.registry import PARTS, build_part
from distsim.workload.types import LOCAL, SEND, Workload

_Part: Any = Annotated[Union[tuple(module.Spec for module in PARTS.values())], Discriminator("kind")]  # noqa: UP007


class SeveralSpec(WorkloadSpec):
    """Workloads that run side by side."""

    kind: Literal["several"]
    parts: tuple[_Part, ...] = Field(default=(), description="The workloads; at least one, unless `file` is given. "
                                                             "They may be of every kind but `several`.")
    ends: bool = Field(default=False, description="run.json says when each part ended (`jobs`), as it does where parts "
                                                  "run in phases; no records of ranks are written then.")

    @model_validator(mode="after")
    def _some(self) -> SeveralSpec:
        if not self.parts and self.file is None:
            raise ValueError("parts is empty; list at least one workload, e.g. {kind: permutation, size: 1MB}")
        names = names_of(self)
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise ValueError(f"two parts are called {twice!r}; names must differ")
        return self


Spec = SeveralSpec


def build(spec: SeveralSpec, context: Context) -> Workload:
    """The parts one after the other; when some run in phases (nccl-tests), all do so in step (`lanes`).

    A part keeps its flow ids unless an earlier part has one of them; then all ids of the part are raised by the
    greatest id so far. The ranks of parts that are made from graphs are numbered through.
    """
    built = [build_part(part, replace(context, where=f"{context.where}.parts.{index}", part=index))
             for index, part in enumerate(spec.parts)]
    phased = any(part.following is not None for part in built)
    if phased or spec.ends:
        joint = Lanes(list(zip(names_of(spec), built, strict=True))).join()
        assert joint is not None
        if not phased:
            return joint
        joint.warnings += [f"part {name}: the records of ranks (chakra-*, post_annotated) are not written beside a "
                           "part that runs in phases" for name, part in zip(names_of(spec), built, strict=True)
                           if part.settings is not None and part.settings.log_ops == "all"]
        return joint
    taken = np.zeros(0, "i8")
    first = 0
    for part in built:
        part.edges["src"] += first
        part.edges["dst"] += first
        first += len(part.ops)
        messages = np.isin(part.ops["kind"], (SEND, LOCAL))
        if np.isin(part.ops["user_id"][messages], taken).any():
            part.ops["user_id"] += taken.max()
        taken = np.concatenate([taken, part.ops["user_id"][messages]])
    joined = Workload(np.concatenate([part.ops for part in built]), np.concatenate([part.edges for part in built]),
                      warnings=[line for part in built for line in part.warnings])
    label_parts(joined, built)
    return joined


def names_of(spec: SeveralSpec) -> list[str]:
    """Name of each part."""
    return [part.name or f"part-{index}" for index, part in enumerate(spec.parts)]
