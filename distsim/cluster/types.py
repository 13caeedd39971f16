"""What a cluster is: nodes with their labels, resources and NICs, queues, and the fabric that joins the NICs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distsim.cluster.tor_node import TorNodes


@dataclass(frozen=True)
class Taint:
    """A taint of a node; effect is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Node:
    """A server.

    gpus : allocatable accelerators, by the resource name of its pool's chips.
    nics : its NICs in order of GPU, as host numbers of the fabric.
    resources : allocatable by resource name, accelerators included; bytes for memory.
    capacity : the same before anything is set aside. rack : name of its rack (rail: of its scalable unit).
    platform : as `Cluster.platform`; a pool may have another one.
    """

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    gpus: int
    nics: tuple[int, ...]
    cordoned: bool
    pool: str
    resources: dict[str, int]
    capacity: dict[str, int] = field(default_factory=dict)
    rack: str = ""
    platform: str = "sim"


@dataclass(frozen=True)
class Queue:
    """A queue of jobs; weight is its share, a greater priority is served first."""

    name: str
    weight: int = 1
    priority: int = 0


@dataclass(frozen=True)
class Rack:
    """A rack (or scalable unit): its nodes in order, and component names of the switches that their NICs hang off."""

    name: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


@dataclass(frozen=True)
class HyperNodeInfo:
    """A HyperNode of volcano: a domain of the network. tier : 1 is the tightest; tier_name : its name, "" without.
    parent : name of the HyperNode that it is a member of, "" for none. nodes : all nodes below it, in cluster order."""

    tier: int
    tier_name: str
    parent: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Cluster:
    """A cluster as a file describes it.

    platform : one of spec.PLATFORMS. queues : none declared means that any queue is accepted.
    workloads : what a job is on the network: job name, image or command -> plain data that `check_workloads` passed.
    fabric : the section `fabric` of a configuration; `Node.nics` are host numbers of it.
    settings : further sections to merge into a configuration (SimulationParameters, nic, nic_overrides, switch,
        switch_overrides) and `nccl`, what a workload of kind nccl-tests gets by default.
    rack_label : label key that holds the rack of each node. warnings : one line each, for the user.
    tor_nodes : what a basic-tor-node-cm says of its switches (tor_level, tor_count, IsSharedTor, IsHealthy), None where
        the network is another one.
    hyper_nodes : HyperNodes by name, in the order of their file; empty where the network is another one.
    """

    name: str
    platform: str
    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    workloads: dict[str, dict[str, Any]]
    fabric: dict[str, Any]
    settings: dict[str, Any]
    racks: tuple[Rack, ...] = ()
    rack_label: str = ""
    warnings: tuple[str, ...] = ()
    tor_nodes: TorNodes | None = None
    hyper_nodes: dict[str, HyperNodeInfo] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """The nodes by their names."""
        return {node.name: node for node in self.nodes}
