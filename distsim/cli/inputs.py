"""Building what a configuration describes, to check it or to show it; nothing is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.errors import InputError

if TYPE_CHECKING:
    from distsim.config import Config
    from distsim.fabric.types import Fabric
    from distsim.workload.types import Workload


def build_fabric(config: Config) -> Fabric:
    """The fabric, with every NIC and switch checked; InputError with file and line if it cannot be built."""
    from distsim import fabric as topologies
    from distsim.fabric.types import NIC

    try:
        fabric = topologies.build(config.fabric, config.link_rules())
    except InputError as error:
        raise config.placed(error) from None
    hosts = fabric.hosts
    nodes = list(zip(fabric.names, fabric.nodes["kind"].tolist(), fabric.nodes["rack"].tolist(),
                     fabric.nodes["tier"].tolist(), strict=True))
    config.check_overrides([(name, rack) for name, kind, rack, _ in nodes if kind == NIC],
                           [(name, tier) for name, kind, _, tier in nodes if kind != NIC])
    for link in fabric.links[fabric.links["src"] < hosts]:
        host = int(link["src"])
        name, _, rack, _ = nodes[host]
        config.check_link(config.nic_for(host, rack, name), int(link["rate_bps"]), name)
    return fabric


def build_workload(config: Config, hosts: int) -> Workload:
    """The workload on a fabric of so many NICs; InputError with file and line if it does not fit."""
    from distsim import workload as workloads

    try:
        return workloads.build(config.workload, hosts, config.seed)
    except InputError as error:
        raise config.placed(error) from None
