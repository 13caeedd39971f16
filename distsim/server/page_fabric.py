"""The fabric of a run as the page draws it: groups of nodes by tier, and edges of the cables between two groups.

A tier of few nodes has a group for each; more switches are put together by their numbers, NICs by the switches that
they hang off, so that what is drawn stays readable and bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError

if TYPE_CHECKING:
    from distsim.results.run import Run

MOST_SWITCHES, MOST_NICS = 32, 64  # of a tier, up to which each is drawn by itself
GROUPS = 16  # of a tier with more
NIC = 3
TIERS = {3: "NIC", 2: "rack", 1: "fabric", 0: "spine"}
REPORT, ND = "topology-report", "nd-stats"
LINK_KEYS = ("UplinkNetworkInterface", "DownlinkNetworkInterface", "TransmissionMedium")
FROM_FILES = ("topo", "ns3")  # kinds whose links stand in a file that the run's directory does not hold


@dataclass(frozen=True)
class Cable:
    """Both directions of a cable. lower, upper : node ids of its ends, the upper one nearer to the spines; *_port :
    their interface indices (ifid). rate_gbps : of one direction, upwards."""

    lower: int
    lower_port: int
    upper: int
    upper_port: int
    rate_gbps: float


@dataclass(frozen=True)
class Network:
    """names, tiers : node id -> component name, tier. cables : [] when they are not known. note : why, one line."""

    names: dict[int, str]
    tiers: dict[int, int]
    cables: Sequence[Cable]
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """What is drawn. groups, edges : dicts as the page takes them. edge_of : index of each cable's edge."""

    groups: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    edge_of: list[int]
    note: str

    def as_json(self) -> dict[str, Any]:
        """groups, edges, tiers from the NICs up, note."""
        tiers = sorted({group["tier"] for group in self.groups}, reverse=True)
        return {"groups": self.groups, "edges": self.edges, "note": self.note,
                "tiers": [{"tier": tier, "name": TIERS.get(tier, str(tier)),
                           "nodes": sum(group["count"] for group in self.groups if group["tier"] == tier)}
                          for tier in tiers]}


def network_of(run: Run, configuration: dict[str, Any] | None = None) -> Network:
    """The nodes and cables of a run: of its topology-report, else of its configuration, else nodes of nd-stats alone.

    configuration : of a run without run.json, if it is known. InputError when none of these is there.
    """
    if REPORT in run.records():
        return _reported(run)
    section = run.info.get("configuration") or configuration or {}
    kind = section.get("fabric", {}).get("kind")
    if kind and kind not in FROM_FILES:
        try:
            return _configured(section)
        except InputError as error:
            why = f"the configuration does not give the fabric any more: {error}"
    elif kind:
        why = f"links of a fabric of kind {kind} stand in a file of their own"
    else:
        why = "run.json, which has the configuration, is written when the run ends"
    if ND in run.records():
        return _counted(run, f"Links are not known: {why}. "
                             "SimulationParameters.EnableTopologyReport: true records them.")
    raise InputError(f"the fabric is not known: {why}", where="fabric")


def drawing_of(network: Network) -> Drawing:
    """Groups and edges of a network."""
    group_of, groups = _groups(network)
    edges: list[dict[str, Any]] = []
    places: dict[tuple[int, int], int] = {}
    edge_of = []
    for cable in network.cables:
        ends = group_of[cable.lower], group_of[cable.upper]
        if ends not in places:
            places[ends] = len(edges)
            edges.append({"lower": ends[0], "upper": ends[1], "cables": 0, "gbps": 0.0})
        edge = edges[places[ends]]
        edge["cables"] += 1
        edge["gbps"] = round(edge["gbps"] + cable.rate_gbps, 6)
        edge_of.append(places[ends])
    return Drawing(groups, edges, edge_of, network.note)


def _reported(run: Run) -> Network:
    """From topology-report: a row each for both directions of a cable; the one upwards tells all."""
    rows = run.frame(REPORT).select("node_id", "component_name", "tier", "dev_id", "peer_node_id", "peer_tier",
                                    "peer_dev_id", "linkspeed_Gbps").collect()
    names, tiers, cables = {}, {}, []
    for node, name, tier, port, peer, peer_tier, peer_port, rate in rows.iter_rows():
        names[node], tiers[node] = name, tier
        if (tier, peer) > (peer_tier, node):  # tiers count from the spines: the lower end has the greater number
            cables.append(Cable(node, port, peer, peer_port, rate))
    known = [cable for cable in cables if cable.upper in names]
    note = "" if len(known) == len(cables) else "The run is going on: some links are not recorded yet."
    return Network(names, tiers, known, note)


def _configured(configuration: dict[str, Any]) -> Network:
    """Built again from the configuration: of it only what links are made from, so that no file is looked at."""
    from distsim.config import from_dict
    from distsim.fabric import build

    checked = from_dict({
        "simulation": "drawn", "fabric": configuration["fabric"], "workload": {"kind": "permutation", "size": "1KB"},
        **{key: _link_part(configuration.get(key) or {}) for key in ("nic", "switch")},
        **{key: [{**one, "set": _link_part(one.get("set") or {})} for one in configuration.get(key) or []]
           for key in ("nic_overrides", "switch_overrides")}})
    fabric = build(checked.fabric, checked.link_rules())
    up = fabric.links[fabric.links["uplink"] == 1]
    ends = zip(*(up[name].tolist() for name in ("src", "src_port", "dst", "dst_port", "rate_bps")), strict=True)
    cables = [Cable(low, low_port, high, high_port, bps / 1e9) for low, low_port, high, high_port, bps in ends]
    return Network(dict(enumerate(fabric.names)), dict(enumerate(fabric.nodes["tier"].tolist())), cables)


def _link_part(attributes: dict[str, Any]) -> dict[str, Any]:
    """Rates and delays of ports, out of the attributes of a NIC or switch."""
    ports = attributes.get("NetworkInterface") or {}
    return {"NetworkInterface": {key: ports[key] for key in LINK_KEYS if key in ports}}


def _counted(run: Run, note: str) -> Network:
    """The nodes that have ports in nd-stats."""
    rows = run.scan(ND).select("node_id", "component_name", "tier").unique().sort("node_id").collect()
    return Network(dict(zip(rows["node_id"], rows["component_name"])), dict(zip(rows["node_id"], rows["tier"])), [],
                   note)


def _groups(network: Network) -> tuple[dict[int, int], list[dict[str, Any]]]:
    """Node id -> index of its group, and the groups, those of the spines first."""
    by_tier: dict[int, list[int]] = {}
    for node, tier in network.tiers.items():
        by_tier.setdefault(tier, []).append(node)
    above = {cable.lower: cable.upper for cable in network.cables}
    group_of: dict[int, int] = {}
    groups: list[dict[str, Any]] = []
    for tier in sorted(by_tier):
        nodes = sorted(by_tier[tier])
        parts = (_by_switch(nodes, above, group_of) if tier == NIC and len(nodes) > MOST_NICS
                 else _by_number(nodes, MOST_NICS if tier == NIC else MOST_SWITCHES))
        for part in parts:
            group_of.update(dict.fromkeys(part, len(groups)))
            groups.append(_group(network, tier, part))
    return group_of, groups


def _by_number(nodes: list[int], most: int) -> list[list[int]]:
    """Each by itself; more than `most` in GROUPS runs of equally many neighbours."""
    each = 1 if len(nodes) <= most else -(-len(nodes) // GROUPS)
    return [nodes[begin:begin + each] for begin in range(0, len(nodes), each)]


def _by_switch(nodes: list[int], above: dict[int, int], group_of: dict[int, int]) -> list[list[int]]:
    """NICs by the group of the switch that they hang off; by number where that is not known."""
    parts: dict[int, list[int]] = {}
    for node in nodes:
        if node not in above:
            return _by_number(nodes, MOST_SWITCHES)
        parts.setdefault(group_of[above[node]], []).append(node)
    return list(parts.values())


def _group(network: Network, tier: int, nodes: list[int]) -> dict[str, Any]:
    first, last = network.names[nodes[0]], network.names[nodes[-1]]
    name = first if len(nodes) == 1 else f"{first} to {last}"
    return {"tier": tier, "name": name, "count": len(nodes)}
