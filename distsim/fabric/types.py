"""What a fabric is: nodes and directed links as NumPy tables, and the routes over them.

Node ids: the NICs are 0..hosts-1 in the order that workloads number them, then the switches. A NIC's node id is its
FEP id. Tiers as documented for nd-stats (scala-computing/docs, simulation-output-files): 0 spine, 1 fabric, 2 rack,
3 NIC; a two-tier fabric has tiers 3, 2 and 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

NIC, SWITCH = 0, 1
TIER_SPINE, TIER_FABRIC, TIER_RACK, TIER_NIC = 0, 1, 2, 3

NODES = np.dtype([
    ("kind", "u1"),      # NIC or SWITCH
    ("tier", "i1"),      # 0 spine, 1 fabric, 2 rack, 3 NIC
    ("rack", "i4"),      # index of the rack (rack switch) the node belongs to; -1 above the racks
    ("pod", "i4"),       # index of the pod; -1 for spines (two tiers: 0 for all racks)
    ("ipv4", "u4"),      # NICs only: address as a number; 0 for switches
])

LINKS = np.dtype([
    ("src", "i4"),       # node id that sends on this directed link
    ("dst", "i4"),       # node id that receives from it
    ("src_port", "i4"),  # interface index (ifid) at src, from 0, shared by both directions of a cable
    ("dst_port", "i4"),  # interface index at dst
    ("reverse", "i4"),   # row of the opposite direction of the same cable
    ("uplink", "u1"),    # 1 when it leads towards the spines
    ("rate_bps", "i8"),  # bits per second, > 0
    ("delay_ps", "i8"),  # propagation delay plus the receiving switch's fixed latency, picoseconds, >= 0
])


@dataclass(frozen=True)
class ServerLinks:
    """Servers of several NICs, as far as the fabric's own description tells.

    nics : NICs of a server, runs of as many hosts from NIC-0 on. rate_bps : of a NIC (GPU) into the server's scale-up
    domain, bit/s in each direction; latency_ps : from one to another of a server. Both 0: not told.
    """

    nics: int
    rate_bps: int = 0
    latency_ps: int = 0


@dataclass
class Fabric:
    """A fabric before routing.

    nodes : NODES[n], NICs first.
    names : n component names, e.g. ``NIC-17``, ``RackSwitch-2``, ``SpineSwitch-0``.
    links : LINKS[m], both directions of every cable.
    warnings : one line each, shown to the user once.
    servers : what the topology says of servers with several NICs, None when it says nothing.
    """

    nodes: np.ndarray
    names: list[str]
    links: np.ndarray
    warnings: list[str] = field(default_factory=list)
    servers: ServerLinks | None = None

    @property
    def hosts(self) -> int:
        """Number of NICs."""
        return int(np.count_nonzero(self.nodes["kind"] == NIC))


@dataclass
class Routes:
    """Equal-cost next hops: a table per switch and destination rack switch, so it stays small on large fabrics.

    leaf_of_host : i4[hosts], node id of the switch that each NIC hangs off.
    leaf_index : i4[nodes], column of a leaf switch in `table`, -1 elsewhere.
    table : i4[switches, leaves], row = switch node id - hosts; value = ECMP set, -1 for the leaf itself.
    set_begin, set_count : i4[sets], slice of `members`.
    members : i4[...], link rows (directed, leaving the switch), ascending.
    down_link : i4[hosts], link row from the leaf to each NIC.
    up_link : i4[hosts], link row from each NIC to its leaf.
    """

    leaf_of_host: np.ndarray
    leaf_index: np.ndarray
    table: np.ndarray
    set_begin: np.ndarray
    set_count: np.ndarray
    members: np.ndarray
    down_link: np.ndarray
    up_link: np.ndarray
