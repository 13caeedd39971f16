"""From the section `network` to a `Wiring`, and the nodes that a network's own file names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distsim.cluster import racks, topology, wiring
from distsim.cluster.hypernodes import Placed, exact_nodes, pods_of, read_hypernodes, tree_of
from distsim.cluster.manifests import read_documents
from distsim.cluster.network_spec import (
    FabricNetwork,
    HyperNodesNetwork,
    PlaneNetwork,
    RackNetwork,
    RailNetwork,
    TopoNetwork,
    TorNodeNetwork,
)
from distsim.cluster.nodes import Draft, of_pool
from distsim.cluster.problems import Problems
from distsim.cluster.spec import Chips, ClusterFile, Pool
from distsim.cluster.tor_node import RESOURCE, SLICE_ID, TOR_ID, TorNodes, read_tor_nodes, tor_node_name
from distsim.cluster.types import HyperNodeInfo
from distsim.cluster.wiring import Group, Wiring
from distsim.config.yaml_reader import Document

BY_FILE = (TorNodeNetwork, HyperNodesNetwork)
EXISTING = (TopoNetwork, FabricNetwork)


class Network:
    """The network of a cluster file, with what its own file says. documents : of that file, if it was read already."""

    def __init__(self, file: ClusterFile, problems: Problems, documents: list[Document] | None = None):
        self.spec: Any = file.network
        self.file, self.problems = file, problems
        self.tors: TorNodes | None = None
        self.hypernodes: dict[str, Placed] = {}
        if isinstance(self.spec, BY_FILE) and not Path(self.spec.file).is_file():
            problems.add(("network", "file"), f"{self.spec.file}: no such file")
            problems.stop()
        if isinstance(self.spec, TorNodeNetwork):
            self.tors = read_tor_nodes(documents or read_documents(self.spec.file))
        if isinstance(self.spec, HyperNodesNetwork):
            self.hypernodes = read_hypernodes(documents or read_documents(self.spec.file))

    def nodes(self) -> list[Draft]:
        """The nodes that the network's file names, when the cluster file has no pools."""
        if self.tors is not None:
            return self._tor_nodes(self.tors)
        if self.hypernodes:
            names = exact_nodes(self.hypernodes)
            return list(of_pool(Pool(name="nodes", count=1, names="n"), self.file.platform, self.problems, (), names))
        self.problems.add(("pools",), "this key is required: the nodes, e.g. pools: [{name: gpu, count: 12}]")
        return []

    def wiring(self, nodes: list[Draft]) -> Wiring:
        """Where the NICs plug in (for the kinds that are no existing fabric)."""
        spec = self.spec
        if isinstance(spec, RailNetwork):
            units = self._groups("unit", "units", spec.nodes_per_unit or racks.NODES_PER_UNIT, nodes)
            return wiring.by_rail(spec, units, nodes)
        if isinstance(spec, TorNodeNetwork):
            return wiring.by_rack(spec, self._tors(nodes), nodes)
        if isinstance(spec, HyperNodesNetwork):
            return wiring.by_pods(spec, self._pods(nodes), nodes)
        groups = self._groups("rack", "racks", spec.nodes_per_rack or racks.NODES_PER_RACK, nodes)
        if isinstance(spec, PlaneNetwork):
            return wiring.by_plane(spec, groups, nodes)
        assert isinstance(spec, RackNetwork)
        return wiring.by_rack(spec, groups, nodes)

    def hyper_nodes(self, nodes: list[Draft]) -> dict[str, HyperNodeInfo]:
        """The HyperNodes that the network's file declares; empty for another kind of network."""
        return tree_of(self.hypernodes, {draft.name: draft.labels for draft in nodes if draft.nics})

    def hosts(self, nodes: list[Draft]) -> list[tuple[int, ...]]:
        """Host numbers of every node in an existing fabric."""
        return topology.hosts_of(self.spec, nodes, self.problems)

    def _groups(self, word: str, key: str, per_group: int, nodes: list[Draft]) -> list[Group]:
        specs = getattr(self.spec, key)
        groups = (racks.listed(specs, nodes, word, self.problems, ("network", key)) if specs
                  else racks.in_order(nodes, per_group, word))
        self.problems.stop()
        return groups

    def _tor_nodes(self, tors: TorNodes) -> list[Draft]:
        """A node each server, named by its address; servers with as many chips are a pool."""
        names: dict[int, list[str]] = {}
        for _, server in tors.servers():
            names.setdefault(server.npu_count, []).append(tor_node_name(server))
        made: dict[str, Draft] = {}
        for count, servers in names.items():
            pool = Pool(name=f"npu{count}", count=1, names="n",
                        chips=Chips(product="Ascend910", count=count, resource=RESOURCE))
            made |= {draft.name: draft for draft in of_pool(pool, self.file.platform, self.problems, (), servers)}
        return [made[tor_node_name(server)] for _, server in tors.servers()]

    def _tors(self, nodes: list[Draft]) -> list[Group]:
        """The nodes by top-of-rack switch: by name when the addresses are node names, else in order."""
        assert self.tors is not None
        servers = list(self.tors.servers())
        names = [tor_node_name(server) for _, server in servers]
        by_name = {draft.name: index for index, draft in enumerate(nodes)}
        if not any(name in by_name for name in names):
            names = [draft.name for draft in nodes]
        missing = [name for name in names if name not in by_name]
        if len(nodes) != len(servers) or missing:
            self.problems.add(("network", "file"), f"names {len(servers)} servers for {len(nodes)} nodes" + (
                f"; no node is called {missing[0]!r}" if missing else ""))
            self.problems.stop()
        groups: dict[int, list[int]] = {}
        for (tor, server), name in zip(servers, names):
            draft = nodes[by_name[name]]
            draft.annotations |= {TOR_ID: str(tor.tor_id), SLICE_ID: str(server.slice_id)}
            groups.setdefault(tor.tor_id, []).append(by_name[name])
        return [Group(f"tor-{tor_id}", tuple(members)) for tor_id, members in groups.items()]

    def _pods(self, nodes: list[Draft]) -> list[list[Group]]:
        by_name = {draft.name: index for index, draft in enumerate(nodes)}
        tree = pods_of(self.hypernodes, {draft.name: draft.labels for draft in nodes if draft.nics})
        return [[Group(name, tuple(by_name[node] for node in members)) for name, members in pod] for pod in tree]
