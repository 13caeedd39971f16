"""Many hosts send to one."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from distsim.workload.base import (
    MAX_START_PS,
    Context,
    HostNumber,
    MessageSize,
    SeedOffset,
    StartTime,
    WorkloadSpec,
    sends,
    shuffled,
    spelled,
)
from distsim.workload.types import EDGES, Workload


class IncastSpec(WorkloadSpec):
    """n hosts send one message each to one receiver."""

    kind: Literal["incast"]
    receiver: HostNumber = Field(default=0, description="Host number of the receiver.")
    senders: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] | None = Field(
        default=None, description="How many hosts send, drawn from all others under the seed. Default 8, or all others "
                                  "if they are fewer.")
    sources: Annotated[tuple[HostNumber, ...], Field(min_length=1)] | None = Field(
        default=None, description="Host numbers of the senders, in this order; instead of `senders`.")
    size: MessageSize = spelled("1MB", "Size of each message, 0 to 1 TiB.")
    start: StartTime = spelled("0s", "Start of the first flow after the workload's start.")
    spacing: StartTime = spelled("0s", "Time between the starts of one flow and the next.")
    seed_offset: SeedOffset = Field(
        default=0, description="Another value draws other senders under the same seed.")

    @model_validator(mode="after")
    def _not_twice(self) -> IncastSpec:
        if self.senders is not None and self.sources is not None:
            raise ValueError("senders and sources say the same thing twice; leave one of them out")
        return self


Spec = IncastSpec


def build(spec: IncastSpec, context: Context) -> Workload:
    """One flow a sender, in the order of the draw or of `sources`."""
    context.check_hosts(np.array([spec.receiver]), "receiver")
    if spec.sources is not None:
        sources = context.choose_hosts(spec.sources, "sources", least=1)
        if spec.receiver in spec.sources:
            context.fail("sources", f"host {spec.receiver} is the receiver; it cannot send to itself")
    else:
        others = np.delete(np.arange(context.hosts), spec.receiver)
        senders = min(8, len(others)) if spec.senders is None else spec.senders
        if not 1 <= senders <= len(others):
            context.fail("senders", f"{senders} senders; the fabric has {len(others)} other hosts")
        sources = others[shuffled(context.stream(spec.kind, spec.seed_offset), len(others))[:senders]]
    if spec.start + spec.spacing * (len(sources) - 1) > MAX_START_PS:
        context.fail("spacing", f"the last of {len(sources)} flows would start later than {MAX_START_PS // 10**12} s")
    start_ps = spec.start + spec.spacing * np.arange(len(sources))
    return Workload(sends(sources, spec.receiver, spec.size, start_ps), np.zeros(0, EDGES))
