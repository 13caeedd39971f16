"""The section `network` of a cluster file: where each NIC plugs in, by kind, and single links with other rates."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from distsim.cluster.labels import check_key, checked_name, not_empty
from distsim.fabric.links import MAX_DELAY_PS
from distsim.quantities import Rate, StrictModel, Time

Count = Annotated[int, Field(ge=1, le=65536, strict=True)]
MOST_INDEX = 2**31 - 1
Index = Annotated[int, Field(ge=0, le=MOST_INDEX, strict=True)]
Delay = Annotated[Time, Field(ge=0, le=MAX_DELAY_PS)]


class Link(StrictModel):
    """Links with another rate or delay: the uplinks of a rack's switch, or the cable of a node's NIC."""

    rack: Index | str | None = Field(
        None, description="Uplinks of this rack's switch (kind rail: of this scalable unit's leaves), by number from 0 "
                          "or by name.")
    leaf: int | None = Field(
        None, ge=0, le=MOST_INDEX, strict=True,
        description="Of the rack's switches only this one: the rail or the plane, from 0. Default: all.")
    spine: int | None = Field(
        None, ge=0, le=MOST_INDEX, strict=True, description="Only the uplinks to this spine, from 0. Default: all.")
    uplink_rate: Annotated[Rate, Field(gt=0)] | None = Field(None, description="Data rate of these uplinks, above 0.")
    node: str | None = Field(None, description="Cables of this node's NICs.")
    nic: int | None = Field(
        None, ge=0, le=MOST_INDEX, strict=True, description="Of the node's NICs only this one, from 0. Default: all.")
    rate: Annotated[Rate, Field(gt=0)] | None = Field(None, description="Data rate of these cables, above 0.")
    delay: Delay | None = Field(None, description="Propagation delay, 0 to 1000s.")

    @model_validator(mode="after")
    def _one_kind(self) -> Link:
        if (self.rack is None) == (self.node is None):
            raise ValueError("an entry of links needs either rack or node")
        wrong = ("nic", "rate") if self.node is None else ("leaf", "spine", "uplink_rate")
        for name in wrong:
            if getattr(self, name) is not None:
                other = "node" if self.node is None else "rack"
                raise ValueError(f"{name} goes with {other}")
        if self.uplink_rate is None and self.rate is None and self.delay is None:
            raise ValueError(f"sets neither {'uplink_rate' if self.node is None else 'rate'} nor delay")
        return self


class BaseNetwork(StrictModel):
    """What every kind of network accepts."""

    rack_label: str | None = Field(
        None, description="Label key that holds the rack of each node. Default: the platform's, else "
                          "topology.kubernetes.io/rack.")
    links: tuple[Link, ...] = Field((), description="Links with another rate or delay; a later entry wins.")

    @model_validator(mode="after")
    def _key(self) -> BaseNetwork:
        if self.rack_label is not None:
            check_key(self.rack_label, "label")
        return self


class TreeNetwork(BaseNetwork):
    """What the kinds accept that make switches by themselves."""

    uplink_rate: Annotated[Rate, Field(gt=0)] | None = Field(
        None, description="Data rate of the links between switches, above 0. Default: that of the fastest NIC.")
    nic_delay: Delay = Field("100ns", description="Propagation delay of the NICs' cables, 0 to 1000s.")
    uplink_delay: Delay = Field("500ns", description="Propagation delay of the links between switches, 0 to 1000s.")
    spines: int | None = Field(
        None, ge=1, le=65536, strict=True,
        description="Spine switches (kind plane: of each plane), 1 to 65536. Default: what `oversubscription` asks "
                    "for.")
    links_per_pair: int | None = Field(
        None, ge=1, le=65536, strict=True,
        description="Parallel links between a rack's switch and each spine, 1 to 65536. Default 1, or what "
                    "`oversubscription` asks for when `spines` is given.")
    oversubscription: float | None = Field(
        None, gt=0, le=1024,
        description="Rate of a rack switch's NIC links over the rate of its uplinks, above 0 to 1024. Default 1, "
                    "non-blocking.")

    @model_validator(mode="after")
    def _not_twice(self) -> TreeNetwork:
        if self.oversubscription is not None and self.spines is not None and self.links_per_pair is not None:
            raise ValueError("spines, links_per_pair and oversubscription together say the same thing twice; "
                             "leave one of them out")
        return self


class RackSpec(StrictModel):
    """A rack, or a scalable unit."""

    name: str | None = Field(None, description="Name: letters, digits, -, _ and ., at most 63. Default: rack-0, "
                                               "rack-1 ... (kind rail: unit-0 ...).")
    nodes: Annotated[tuple[str, ...], BeforeValidator(not_empty)] = Field(
        description="Its nodes; * ? [0-3] match many.")

    @field_validator("name")
    @classmethod
    def _name(cls, text: str | None) -> str | None:
        return text if text is None else checked_name(text)


class RackNetwork(TreeNetwork):
    """All NICs of a node hang off the switch of its rack; every rack switch is wired to every spine."""

    kind: Literal["rack"] = Field(description="Kind of network.")
    nodes_per_rack: int | None = Field(
        None, ge=1, le=65536, strict=True, description="Nodes in a rack, in order of the nodes, 1 to 65536. Default 4.")
    racks: tuple[RackSpec, ...] = Field((), description="The racks one by one, instead of nodes_per_rack.")

    @model_validator(mode="after")
    def _one_way(self) -> RackNetwork:
        return _either(self, "racks", "nodes_per_rack")


class RailNetwork(TreeNetwork):
    """NIC i of every node of a scalable unit hangs off leaf i of that unit; every leaf is wired to every spine."""

    kind: Literal["rail"] = Field(description="Kind of network.")
    nodes_per_unit: int | None = Field(
        None, ge=1, le=65536, strict=True,
        description="Nodes in a scalable unit, in order of the nodes, 1 to 65536. Default 32.")
    units: tuple[RackSpec, ...] = Field((), description="The units one by one, instead of nodes_per_unit.")

    @model_validator(mode="after")
    def _one_way(self) -> RailNetwork:
        return _either(self, "units", "nodes_per_unit")


class PlaneNetwork(TreeNetwork):
    """Planes: a network of rack switches and spines of its own for each share of a node's NICs. Core switches join
    the planes, spine k of every plane to the core switches of k."""

    kind: Literal["plane"] = Field(description="Kind of network.")
    planes: Annotated[int, Field(ge=2, le=1024, strict=True)] = Field(2, description="Planes, 2 to 1024.")
    plane_of_nic: tuple[Index, ...] = Field(
        (), description="Plane of each NIC of a node, from 0. Default: equal shares, the first NICs in plane 0.")
    cores: Count = Field(1, description="Core switches over the spines k of all planes, 1 to 65536.")
    nodes_per_rack: int | None = Field(
        None, ge=1, le=65536, strict=True, description="Nodes in a rack, in order of the nodes, 1 to 65536. Default 4.")
    racks: tuple[RackSpec, ...] = Field((), description="The racks one by one, instead of nodes_per_rack.")

    @model_validator(mode="after")
    def _one_way(self) -> PlaneNetwork:
        wrong = next((plane for plane in self.plane_of_nic if plane >= self.planes), None)
        if wrong is not None:
            raise ValueError(f"plane_of_nic: {wrong} is no plane; valid: 0 to {self.planes - 1}")
        return _either(self, "racks", "nodes_per_rack")


class TorNodeNetwork(TreeNetwork):
    """Racks as MindCluster's basic-tor-node-cm says."""

    kind: Literal["tor-node"] = Field(description="Kind of network.")
    file: str = Field(min_length=1, description="Path of the file: JSON, or a ConfigMap (YAML) with tor_info.")


class HyperNodesNetwork(TreeNetwork):
    """Racks as Volcano's HyperNodes say: tier 1 are racks, tier 2 pods when there are several of them."""

    kind: Literal["hypernodes"] = Field(description="Kind of network.")
    file: str = Field(min_length=1, description="Path of the manifests (YAML).")
    spine_oversubscription: float | None = Field(
        None, gt=0, le=1024,
        description="With several pods: rate of a pod switch's links to the racks over the rate of its links to the "
                    "spines, above 0 to 1024. Default 1.")


class TopoNetwork(BaseNetwork):
    """A topology file of htsim or ns-3; its hosts are NICs."""

    kind: Literal["topo", "ns3"] = Field(description="Format of the file.")
    file: str = Field(min_length=1, description="Path of the topology file.")
    hosts: dict[str, tuple[Index, ...]] = Field(
        {}, description="Host numbers of each node's NICs, in order of GPU. Default: consecutive, in order of the "
                        "nodes.")


class FabricNetwork(BaseNetwork):
    """Any section `fabric` of a configuration; its hosts are NICs."""

    kind: Literal["fabric"] = Field(description="Kind of network.")
    fabric: dict[str, Any] = Field(description="The section.")
    hosts: dict[str, tuple[Index, ...]] = Field(
        {}, description="Host numbers of each node's NICs, in order of GPU. Default: consecutive, in order of the "
                        "nodes.")


NETWORKS: dict[str, type[BaseNetwork]] = {
    "rack": RackNetwork,
    "rail": RailNetwork,
    "plane": PlaneNetwork,
    "tor-node": TorNodeNetwork,
    "hypernodes": HyperNodesNetwork,
    "topo": TopoNetwork,
    "ns3": TopoNetwork,
    "fabric": FabricNetwork,
}


def _either(network: Any, listed: str, counted: str) -> Any:
    if getattr(network, listed) and getattr(network, counted) is not None:
        raise ValueError(f"{listed} and {counted} say the same thing twice; leave one of them out")
    return network
