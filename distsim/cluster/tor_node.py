"""MindCluster's basic-tor-node-cm: which servers hang off which top-of-rack switch.

Fields as in Ascend/mind-cluster, docs on switch affinity: data.tor_level and data.tor_info of a ConfigMap, where
tor_info is JSON with version, tor_count (servers of a switch) and server_list. Read as JSON by itself too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from distsim.cluster.labels import not_empty
from distsim.cluster.manifests import inner_document, only, validated
from distsim.cluster.problems import Problems
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError
from distsim.quantities import StrictModel

RESOURCE = "huawei.com/Ascend910"
TOR_ID, SLICE_ID = "distsim/tor-id", "distsim/slice-id"


class Server(StrictModel):
    """A server of a switch."""

    server_ip: str = Field(min_length=1, pattern=r"^[0-9A-Za-z][0-9A-Za-z.:-]*$", description="Address of the server.")
    npu_count: int = Field(ge=1, le=1024, strict=True, description="Chips of the server, 1 to 1024.")
    slice_id: int = Field(ge=0, le=65535, strict=True, description="Place of the server at its switch, from 0.")


class Tor(StrictModel):
    """A top-of-rack switch."""

    tor_id: int = Field(ge=0, le=2**31 - 1, strict=True, description="Number of the switch.")
    tor_ip: str = Field("", description="Address of the switch.")
    IsSharedTor: int = Field(0, ge=0, le=2, strict=True, description="State: 0 idle, 1 shared, 2 exclusive.")
    IsHealthy: int = Field(0, ge=0, le=1, strict=True, description="Whether a shared switch is healthy, 0 or 1.")
    server: Annotated[tuple[Server, ...], BeforeValidator(not_empty)] = Field(description="Its servers.")


class TorInfo(StrictModel):
    """The JSON of data.tor_info."""

    version: str = Field("1.0", description="Version of the format.")
    tor_count: int = Field(ge=1, le=65536, strict=True, description="Most servers of a switch, 1 to 65536.")
    server_list: Annotated[tuple[Tor, ...], BeforeValidator(not_empty)] = Field(description="The switches.")


class ConfigMapData(StrictModel):
    """Data of the ConfigMap."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    tor_level: Literal["double_layer", "single_layer"] = Field(
        "double_layer", description="Tiers of switches that jobs may use.")
    tor_info: str = Field(min_length=1, description="The switches, as JSON.")


class ConfigMapManifest(StrictModel):
    """The ConfigMap."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    data: ConfigMapData = Field(description="Its data.")


@dataclass
class TorNodes:
    """The switches in order of tor_id, servers in order of slice_id. level : tor_level. count : tor_count, the most
    servers of a switch."""

    level: str
    tors: list[Tor] = field(default_factory=list)
    count: int = 0

    def servers(self) -> Iterator[tuple[Tor, Server]]:
        """All servers, switch by switch."""
        return ((tor, server) for tor in self.tors for server in tor.server)


def tor_node_name(server: Server) -> str:
    """The name of the node that a server is: its address."""
    return server.server_ip.replace(":", "-").lower()


def is_tor_node(data: Any) -> bool:
    """Whether a document is a basic-tor-node-cm."""
    if not isinstance(data, dict):
        return False
    inside = data.get("data")
    return "server_list" in data or (data.get("kind") == "ConfigMap" and isinstance(inside, dict)
                                     and "tor_info" in inside)


def read_tor_nodes(documents: list[Document]) -> TorNodes:
    """The switches of a file; ConfigError with every number that is given twice or out of range."""
    document = only(documents, "a basic-tor-node-cm")
    level = "double_layer"
    if not is_tor_node(document.data):
        raise InputError("is no basic-tor-node-cm; it has neither server_list nor data.tor_info", file=document.file)
    if "server_list" not in document.data:
        config = validated(document, ConfigMapManifest)
        level = config.data.tor_level
        document = inner_document(document, ("data", "tor_info"))
    info = validated(document, TorInfo)
    problems = Problems(document)
    _check(info, problems)
    problems.stop()
    tors = sorted(info.server_list, key=lambda tor: tor.tor_id)
    ordered = [tor.model_copy(update={"server": tuple(sorted(tor.server, key=lambda one: one.slice_id))})
               for tor in tors]
    return TorNodes(level, ordered, info.tor_count)


def _check(info: TorInfo, problems: Problems) -> None:
    tors: dict[int, int] = {}
    addresses: dict[str, Place] = {}
    for t, tor in enumerate(info.server_list):
        place: Place = ("server_list", t)
        if tor.tor_id in tors:
            problems.add((*place, "tor_id"), f"{tor.tor_id} is the tor_id of server_list.{tors[tor.tor_id]} already")
        tors.setdefault(tor.tor_id, t)
        slices: dict[int, str] = {}
        for s, server in enumerate(tor.server):
            here = (*place, "server", s)
            if server.slice_id >= info.tor_count:
                problems.add((*here, "slice_id"), f"{server.slice_id} is out of range; tor_count is {info.tor_count}, "
                                                  f"valid: 0 to {info.tor_count - 1}")
            if server.slice_id in slices:
                problems.add((*here, "slice_id"), f"{server.slice_id} is the slice_id of {slices[server.slice_id]} at "
                                                  f"tor_id {tor.tor_id} already")
            slices.setdefault(server.slice_id, server.server_ip)
            if server.server_ip in addresses:
                problems.add((*here, "server_ip"), f"{server.server_ip!r} stands at "
                                                   f"{'.'.join(map(str, addresses[server.server_ip]))} already")
            addresses.setdefault(server.server_ip, here)
