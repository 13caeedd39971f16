"""Every host sends one message to another host and receives one: a random permutation without fixed points."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from distsim.workload.base import (
    Context,
    HostChoice,
    MessageSize,
    SeedOffset,
    StartTime,
    WorkloadSpec,
    sends,
    shuffled,
    spelled,
)
from distsim.workload.types import EDGES, Workload


class PermutationSpec(WorkloadSpec):
    """A seeded random permutation; nobody sends to itself."""

    kind: Literal["permutation"]
    size: MessageSize = spelled("1MB", "Size of each message, 0 to 1 TiB.")
    start: StartTime = spelled("0s", "Start of all flows after the workload's start.")
    hosts: HostChoice = Field(default=None, description="Hosts that take part: a number (the first n) or a list of "
                                                        "host numbers, at least 2. Default: all.")
    seed_offset: SeedOffset = Field(
        default=0, description="Another value draws another permutation under the same seed.")


Spec = PermutationSpec


def build(spec: PermutationSpec, context: Context) -> Workload:
    """One flow a host, in the order of the hosts; all derangements are equally likely."""
    hosts = context.choose_hosts(spec.hosts, "hosts", least=2)
    stream = context.stream(spec.kind, spec.seed_offset)
    while True:
        order = shuffled(stream, len(hosts))
        if (order != np.arange(len(hosts))).all():
            break
    return Workload(sends(hosts, hosts[order], spec.size, spec.start), np.zeros(0, EDGES))
