"""Chains of messages around a ring: the traffic of htsim's ring all-reduce matrices."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from distsim.workload.all_to_all import chain_edges
from distsim.workload.base import MAX_OPS, Context, HostChoice, MessageSize, StartTime, WorkloadSpec, sends, spelled
from distsim.workload.types import Workload


class RingSpec(WorkloadSpec):
    """n chains, one from each host: chain c sends from host c to c + 1, then from c + 1 to c + 2, and so on."""

    kind: Literal["ring"]
    hosts: HostChoice = Field(default=None, description="The ring: a number (the first n hosts) or a list of host "
                                                        "numbers in the order of the ring, at least 2. Default: all.")
    size: MessageSize = spelled("1MB", "Size of each message, 0 to 1 TiB.")
    steps: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] | None = Field(
        default=None, description="Messages in each chain. Default 2n - 1 for n hosts, as in htsim's matrices; a ring "
                                  "all-reduce as such takes 2n - 2.")
    start: StartTime = spelled("0s", "Start of the first message of every chain.")


Spec = RingSpec


def build(spec: RingSpec, context: Context) -> Workload:
    """n * steps flows, chain by chain; a message starts when the one before it in its chain has been acknowledged.

    Pattern: ultraethernet/uet-htsim, datacenter/connection_matrices, ring all-reduce (send_done triggers, oneshot).
    """
    hosts = context.choose_hosts(spec.hosts, "hosts", least=2)
    count = len(hosts)
    steps = 2 * count - 1 if spec.steps is None else spec.steps
    if count * steps > MAX_OPS:
        context.fail("steps", f"{count} chains of {steps} steps make {count * steps} flows; at most {MAX_OPS}")
    place = np.arange(count)[:, None] + np.arange(steps)
    ops = sends(hosts[place % count].ravel(), hosts[(place + 1) % count].ravel(), spec.size, 0)
    rows = np.arange(len(ops)).reshape(count, steps)
    ops["deps"][rows[:, 1:]] = 1
    ops["start_ps"][rows[:, 0]] = spec.start
    return Workload(ops, chain_edges(rows))
