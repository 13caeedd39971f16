"""Tables of the network on one rank: nodes, ports, link FIFOs, routes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..fabric.types import NIC, SWITCH
from . import tables as t
from .allocate import zeros
from .lookahead import influence_graph, rate_fraction
from .model import Model
from .units import WIDEST_PS, build_units

# In-links a node may have: the field of the merge key in kernels.switch.
MOST_IN_LINKS = 1 << 16


@dataclass(frozen=True)
class Placement:
    """Where everything is on this rank.

    nodes : i8[n], node id of each local row (units contiguous). row_of : i8[all nodes], local row or -1.
    owner : i4[all nodes], rank of each. ports : link row of each PORT row; port_of : i8[links], PORT row or -1.
    in_of : i4[links], IN row of links that end here, or -1. departures : (first IN row, count) for each rank, its
    notices last; departing : link of each of these rows, -1 for notices.
    window_ps : least lookahead of an edge between ranks (WIDEST_PS with one rank).
    """

    rank: int
    ranks: int
    owner: np.ndarray
    nodes: np.ndarray
    row_of: np.ndarray
    units: np.ndarray
    ports: np.ndarray
    port_of: np.ndarray
    in_links: np.ndarray
    in_of: np.ndarray
    departures: list[tuple[int, int]]
    departing: np.ndarray
    window_ps: int


def place(model: Model, owner: np.ndarray, rank: int) -> Placement:
    """Order this rank's nodes, ports and link FIFOs."""
    links = model.fabric.links
    ranks = int(owner.max()) + 1
    a, b, lookahead = influence_graph(model)
    crossing = owner[a] != owner[b]
    window = min(int(lookahead[crossing].min()), WIDEST_PS) if crossing.any() else WIDEST_PS
    mine = np.flatnonzero(owner == rank)
    inside = (owner[a] == rank) & (owner[b] == rank)
    number = np.full(len(owner), -1, "i8")
    number[mine] = np.arange(len(mine))
    order, units = build_units(len(mine), number[a[inside]], number[b[inside]], lookahead[inside])
    nodes = mine[order]
    row_of = np.full(len(owner), -1, "i8")
    row_of[nodes] = np.arange(len(nodes))
    out = np.flatnonzero(owner[links["src"]] == rank)
    ports = out[np.lexsort([links["src_port"][out], row_of[links["src"][out]]])]
    port_of = np.full(len(links), -1, "i8")
    port_of[ports] = np.arange(len(ports))
    into = np.flatnonzero(owner[links["dst"]] == rank)
    in_links = into[np.lexsort([links["dst_port"][into], row_of[links["dst"][into]]])]
    in_of = np.full(len(links), -1, "i4")
    in_of[in_links] = np.arange(len(in_links))
    leaving = ports[owner[links["dst"][ports]] != rank]
    departures, departing, first = [], [], len(in_links)
    for other in range(ranks):
        cut = leaving[owner[links["dst"][leaving]] == other]
        departures.append((first, len(cut) + 1))
        departing += [*cut.tolist(), -1]
        first += len(cut) + 1
    return Placement(rank, ranks, owner, nodes, row_of, units, ports, port_of, in_links, in_of, departures,
                     np.array(departing, "i8"), window)


def ins_table(model: Model, here: Placement) -> np.ndarray:
    """IN rows: links that end here, then for each rank its cut links and its notices."""
    rows = zeros(len(here.in_links) + len(here.departing), t.IN)
    rows["head"] = rows["tail"] = -1
    local = len(here.in_links)
    rows["node"][:local] = here.row_of[model.fabric.links["dst"][here.in_links]]
    for other, (first, count) in enumerate(here.departures):
        rows["node"][first:first + count] = len(here.nodes) + other
    return rows


def ports_table(model: Model, here: Placement) -> np.ndarray:
    """PORT rows of this rank's directed links."""
    fabric, links = model.fabric, model.fabric.links
    rows = zeros(len(here.ports), t.PORT)
    link = links[here.ports]
    rows["ps_num"], rows["ps_den"] = rate_fraction(link["rate_bps"])
    rows["ps_num"][rows["ps_den"] != 1] *= -1
    rows["delay_ps"] = link["delay_ps"]
    rows["link"] = here.ports
    rows["node"] = here.row_of[link["src"]]
    rows["ifid"] = link["src_port"]
    rows["last_hop"] = (fabric.nodes["kind"][link["dst"]] == NIC) + 2 * link["uplink"]
    if model.failed is not None:
        rows["last_hop"] += (4 * model.failed[here.ports]).astype("u1")
    if model.faults is not None:
        rows["last_hop"] += (t.LOSES * model.faults.lossy[here.ports]).astype("u1")
    rows["queue_begin"] = np.arange(len(rows)) * t.QUEUES
    far = here.owner[link["dst"]]
    local = far == here.rank
    rows["in_row"] = here.in_of[here.ports]
    rows["peer"] = here.row_of[link["dst"]]
    departure_row = np.full(len(links), -1, "i8")
    real = here.departing >= 0
    departure_row[here.departing[real]] = len(here.in_links) + np.flatnonzero(real)
    rows["in_row"][~local] = departure_row[here.ports[~local]]
    rows["peer"][~local] = len(here.nodes) + far[~local]
    return rows


def nodes_table(model: Model, here: Placement) -> np.ndarray:
    """NODE rows; ports and in-links of a node are runs of the port and link tables."""
    fabric, routes = model.fabric, model.routes
    hosts = fabric.hosts
    rows = zeros(len(here.nodes), t.NODE)
    ids = here.nodes
    rows["id"] = ids
    rows["kind"] = fabric.nodes["kind"][ids]
    port_node = here.row_of[fabric.links["src"][here.ports]]
    in_node = here.row_of[fabric.links["dst"][here.in_links]]
    rows["port_begin"] = np.searchsorted(port_node, np.arange(len(ids)))
    rows["port_count"] = np.bincount(port_node, minlength=len(ids))
    rows["in_begin"] = np.searchsorted(in_node, np.arange(len(ids)))
    rows["in_count"] = np.bincount(in_node, minlength=len(ids))
    most = int(rows["in_count"].max(initial=0))
    if most >= MOST_IN_LINKS:
        name = fabric.names[int(ids[int(rows["in_count"].argmax())])]
        raise InputError(f"{name} has {most} links; at most {MOST_IN_LINKS - 1} are possible", where="fabric")
    is_nic = rows["kind"] == NIC
    rows["nic"] = -1
    rows["nic"][is_nic] = np.arange(np.count_nonzero(is_nic))
    rows["param"][is_nic] = model.nic_param[ids[is_nic]]
    switches = rows["kind"] == SWITCH
    rows["param"][switches] = model.switch_param[ids[switches] - hosts]
    rows["eager"][switches] = model.swpar["eager"][rows["param"][switches]]
    rows["salt"] = (ids.astype("i8") * 0x9E3779B1 + 0x7F4A7C15) & 0xFFFFFFFF      # from the node id alone
    rows["leaf"] = -1
    rows["leaf"][switches] = routes.leaf_index[ids[switches]]
    rows["route_begin"][switches] = np.arange(np.count_nonzero(switches)) * routes.table.shape[1]
    rows["last_ps"] = -1
    rows["wake_ps"] = t.INF_PS
    if model.shared is not None:
        rows["shared"][switches] = model.shared[ids[switches] - hosts]
    rows["buffer_begin"][switches] = np.arange(np.count_nonzero(switches)) * t.CLASSES
    par = model.swpar[rows["param"][switches]]
    rows["eager"][switches] |= (par["buffer_stats"] | par["flowlet"]) & rows["shared"][switches]
    return rows


def shared_tables(model: Model, here: Placement, nodes: np.ndarray, ports: int) -> dict[str, np.ndarray]:
    """Tables of PFC and shared buffers; one row each where nothing on this rank can need them."""
    switches = here.nodes[model.fabric.nodes["kind"][here.nodes] == SWITCH] - model.fabric.hosts
    shared = bool(nodes["shared"].any())
    counted = model.pauses or shared      # shared switches count marks there
    pfc = zeros(ports * t.QUEUES if counted else t.QUEUES, t.PFC)
    pfc["xoff_since_ps"] = pfc["occupied_since_ps"] = -1
    pfc["refresh_ps"] = t.INF_PS
    shares = zeros(ports * t.QUEUES if shared else t.QUEUES, t.SHARE)
    shares["refresh_ps"] = t.INF_PS
    buffers = np.zeros(max(1, len(switches) * t.CLASSES), t.BUFFER)
    if model.buffers is not None and len(switches):
        buffers = np.ascontiguousarray(model.buffers[switches]).reshape(-1)
    recorded = bool(model.swpar["buffer_stats"].any())
    stats = np.zeros((len(buffers) if recorded else 1) * t.BUFFER_KINDS, t.BUFFER_STATS)
    stats["least_bytes"], stats["most_bytes"] = t.NO_SAMPLE_MIN, t.NO_SAMPLE_MAX
    return {"pfc": pfc, "shares": shares, "buffers": buffers, "buffer_stats": stats}


def flow_tables(model: Model, here: Placement, nodes: np.ndarray, route: np.ndarray) -> dict[str, np.ndarray]:
    """Flow tables of the switches with LoadBalancingMethod flowlet; fills NODE.flow_begin.

    A switch's equal-cost sets of two or more members are numbered in order of the destination leaf; the first FLOW_SETS
    get slots.
    """
    rows = 0
    flow_set = np.full(len(route) if model.swpar["flowlet"].any() else 1, -1, "i4")
    counts, columns = model.routes.set_count, model.routes.table.shape[1]
    for node in nodes[(nodes["kind"] == SWITCH) & (nodes["shared"] != 0)]:
        if not model.swpar["flowlet"][node["param"]]:
            continue
        seen: dict[int, int] = {}
        for at in range(node["route_begin"], node["route_begin"] + columns):
            number = int(route[at])
            if number >= 0 and counts[number] > 1 and (number in seen or len(seen) < t.FLOW_SETS):
                flow_set[at] = seen.setdefault(number, len(seen))
        nodes["flow_begin"][nodes["id"] == node["id"]] = rows
        rows += len(seen) * t.FLOW_SLOTS
    flowlets = np.zeros(max(1, rows), t.FLOWLET)
    flowlets["member"] = -1
    return {"flow_set": flow_set, "flowlets": flowlets}


def crc_table() -> np.ndarray:
    """Table of CRC-32 (reflected polynomial 0xEDB88320): i8[256]."""
    rows = np.arange(256, dtype="i8")
    for _ in range(8):
        rows = np.where(rows & 1, (rows >> 1) ^ 0xEDB88320, rows >> 1)
    return rows


def route_tables(model: Model, here: Placement) -> dict[str, np.ndarray]:
    """Routing tables of this rank's switches; members become PORT rows."""
    fabric, routes = model.fabric, model.routes
    hosts = fabric.hosts
    switches = here.nodes[fabric.nodes["kind"][here.nodes] == SWITCH] - hosts
    down = here.port_of[routes.down_link]
    return {
        "node_of_host": here.row_of[:hosts].astype("i4"),
        "host_leaf": routes.leaf_index[routes.leaf_of_host].astype("i4"),
        "host_port": down.astype("i4"),
        "route": np.ascontiguousarray(routes.table[switches]).reshape(-1).astype("i4"),
        "set_begin": routes.set_begin.astype("i4"),
        "set_count": routes.set_count.astype("i4"),
        "members": here.port_of[routes.members].astype("i4"), "crc": crc_table(),
    }
