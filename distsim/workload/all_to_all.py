"""Every host sends to every other host."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from distsim.workload.base import MAX_OPS, Context, HostChoice, MessageSize, StartTime, WorkloadSpec, sends, spelled
from distsim.workload.types import EDGES, ON_SEND_DONE, TRIGGER_DELAY, Workload


class AllToAllSpec(WorkloadSpec):
    """Host i of n sends to i + 1, i + 2, ... modulo n, all at once or one after the other."""

    kind: Literal["all-to-all"]
    mode: Literal["serial", "parallel"] = Field(
        default="serial", description="serial: a host's next message starts when the last one has been acknowledged "
                                      "in full; parallel: all start at once.")
    size: MessageSize = spelled("1MB", "Size of each message, 0 to 1 TiB.")
    start: StartTime = spelled("0s", "Start of the first flows after the workload's start.")
    hosts: HostChoice = Field(default=None, description="Hosts that take part: a number (the first n) or a list of "
                                                        "host numbers, at least 2. Default: all.")


Spec = AllToAllSpec


def build(spec: AllToAllSpec, context: Context) -> Workload:
    """n * (n - 1) flows, host by host, each host's in the order of its peers."""
    hosts = context.choose_hosts(spec.hosts, "hosts", least=2)
    count, peers = len(hosts), len(hosts) - 1
    if count * peers > MAX_OPS:
        context.fail("hosts", f"{count} hosts make {count * peers} flows; at most {MAX_OPS}")
    place = np.arange(count)
    partner = (place[:, None] + np.arange(1, count)) % count
    ops = sends(np.repeat(hosts, peers), hosts[partner].ravel(), spec.size, spec.start)
    if spec.mode == "parallel":
        return Workload(ops, np.zeros(0, EDGES))
    rows = np.arange(len(ops)).reshape(count, peers)
    ops["deps"].reshape(count, peers)[:, 1:] = 1
    ops["start_ps"].reshape(count, peers)[:, 1:] = 0
    return Workload(ops, chain_edges(rows))


def chain_edges(rows: np.ndarray) -> np.ndarray:
    """EDGES by which each op row of `rows[chain, step]` starts the next of its chain when it has been acknowledged."""
    edges = np.zeros(rows[:, 1:].size, EDGES)
    edges["src"], edges["dst"], edges["when"] = rows[:, :-1].ravel(), rows[:, 1:].ravel(), ON_SEND_DONE
    edges["delay_ps"] = TRIGGER_DELAY
    return edges
