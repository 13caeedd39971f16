"""What the kinds that replay a Graph share: where ranks run, and which of them share a scale-up network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from distsim.workload.base import Context, HostChoice, WorkloadSpec
from distsim.workload.scale_up import ScaleUp, ScaleUpSpec


class ReplaySpec(WorkloadSpec):
    """Fields of a kind that replays what ranks do."""

    hosts: HostChoice = Field(
        default=None, description="Host of each rank: a number (the first n hosts) or a list of host numbers, rank 0 "
                                  "first; at least as many as ranks. Default: rank i is host i.")
    scale_up: ScaleUpSpec | None = Field(
        default=None, description="Network between the ranks of a server, which its transfers take instead of the "
                                  "fabric; gpus_per_server: 1 makes all take the fabric. Default: what the topology "
                                  "says (kind ns3 with NVSwitches), else all take the fabric.")


def placement(choice: int | Sequence[int] | None, ranks: int, context: Context) -> np.ndarray:
    """Host of each rank, i4[ranks]; InputError when the choice has too few hosts."""
    chosen = context.choose_hosts(choice, "hosts", least=1)
    if len(chosen) < ranks:
        context.fail("hosts", f"{ranks} ranks need a host each; {len(chosen)} are given")
    return chosen[:ranks].astype("i4")


def scale_up(spec: ReplaySpec, hosts: np.ndarray, context: Context) -> ScaleUp | None:
    """The scale-up groups of ranks on these hosts (i4[ranks]): those of the section, else those of the topology.

    A topology's servers are runs of NICs; a transfer inside one passes a switch without latency and two cables. A
    section without gpus_per_server takes the NICs of a server of the topology, when it tells them.
    """
    servers = context.servers
    given = spec.scale_up
    if given is not None:
        if servers is not None and "gpus_per_server" not in given.model_fields_set:
            given = given.model_copy(update={"gpus_per_server": servers.nics})
        return given.build(len(hosts))
    if servers is None or not servers.rate_bps:
        return None
    ids, group = np.unique(hosts // servers.nics, return_inverse=True)
    count = len(ids)
    return ScaleUp(group.astype("i4"), np.zeros(len(hosts), "i4"), tuple(ids.tolist()), (servers.rate_bps,) * count,
                   (0,) * count, (servers.latency_ps // 2,) * count)
