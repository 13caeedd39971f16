"""Collectives on idle fabrics through the real kernels, and the time of a message between ranks worked out by hand.

At 400 Gb/s a byte takes 20 ps. A message is posted when the rank's last receipt is complete, and counts as received
with its last bit. Inside a rack (two links of 100 ns) the first of its packets is in

    doorbell 15,000 + read request 1,555 + payload over PCIe + 2 * (payload + 106 B) * 20 + 200,000 ps

after the post (engine_cases.py: READY is the first three for 4096 B), and every further full packet FRAME = 84,040 ps
after the one before: the fetches (69,290 ps) are faster than the wire. Besides:

TURN : a read request cannot pass the write of the packet that has just come in, which takes WRITE = 69,290 ps for 4096
    B (8 transfers of 546 B), longer than the doorbell. So a message posted at the receipt of a full packet is 54,290 ps
    later than one posted on an idle NIC. Packets of up to 877 B (945 B there) are written within the doorbell.
ACK : when a rank sends and receives at once, its port also carries an ACK (78 B) for every packet that comes in. The
    first packet's ACK is ready 2 * 84,040 + 200,000 + HOLD = 434,451 ps after it was started at the other side, which
    is while the sixth packet (from 420,200 on) is sent: it goes before the seventh, and so on. Of K packets the last
    one has K - 6 ACKs before it.
PROBE : the first ACK of a group draws a probe (62 B) that goes ahead of data; where both sides send at once, the answer
    to the peer's probe (78 B) does too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from engine_cases import DOORBELL, FRAME, GBPS, NS, READY, lanes_ps, ready_ps, switch
from engine_cases import nic as make_nic
from lower_cases import coll, graph
from simkit import FOREVER, Rank, run_rank

from distsim.config.nic import Nic
from distsim.fabric import build as build_fabric
from distsim.fabric import leaf_spine
from distsim.fabric.links import uniform_rules
from distsim.fabric.routing import build_routes
from distsim.fabric.types import Fabric, Routes
from distsim.kernels.mode import COMPILED
from distsim.parameters import nic_row, switch_row
from distsim.state import tables as t
from distsim.state.allocate import cell, to_array
from distsim.state.model import Model, number_messages
from distsim.workload.collectives import Options
from distsim.workload.graph import Graph
from distsim.workload.lower import Settings, lower
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import ROLE_BEGIN, ROLE_END, Workload

Network = tuple[Fabric, Routes]
WHOLE = Options()

PACKET = 4096
WRITE = 69_290                            # 4368 B on PCIe
TURN = WRITE - DOORBELL                   # 54,290
ACK = 78 * 20                             # 1,560
PROBE = 62 * 20                           # 1,240
BOTH = PROBE + ACK                        # a probe, and the answer to the peer's
WIRE = 2 * 100 * NS                       # two links in a rack
FIRST = READY + FRAME + WIRE              # 369,885: K full packets are in FIRST + K * FRAME after the post


# ---- by hand ---------------------------------------------------------------------------------------------------------
def one_ps(payload: int) -> int:
    """From the post to the receipt of a message of one packet in an idle rack."""
    return ready_ps(payload) + 2 * (payload + 106) * 20 + WIRE


def turn_ps(payload: int) -> int:
    """How much later a message starts because a packet of this payload is still being written to the host."""
    return max(0, lanes_ps(payload + 34 * -(-payload // 512)) - DOORBELL)


def one_way_ps(packets: int) -> int:
    """K >= 9 full packets to a member that sends none meanwhile: one probe goes ahead of the last."""
    return FIRST + packets * FRAME + PROBE


def both_ways_ps(packets: int) -> int:
    """K >= 15 full packets from each of two neighbours, or round a ring: with K - 6 ACKs, a probe and an answer."""
    return FIRST + packets * FRAME + (packets - 6) * ACK + BOTH


# ---- runs ------------------------------------------------------------------------------------------------------------
@cache
def leaves(racks: int, per_rack: int, spines: int = 0) -> Network:
    """Leaf-spine at 400 Gb/s, 100 ns to a NIC, 500 ns to a spine."""
    spec = leaf_spine.Spec(kind="leaf-spine", racks=racks, nics_per_rack=per_rack, spines=spines)
    fabric = build_fabric(spec, uniform_rules(400 * GBPS, 100 * NS, 500 * NS))
    return fabric, build_routes(fabric)


def rack(members: int) -> Network:
    """All at one switch."""
    return leaves(1, members)


def servers(members: int, local: int, rate_bps: int = 800 * GBPS) -> ScaleUp:
    """Runs of `local` members share a scale-up fabric: 100 ns a hop, 25 ns a cable, so 150 ns between any two."""
    count = -(-members // local)
    return ScaleUp(np.arange(members, dtype="i4") // local, np.zeros(members, "i4"), tuple(range(count)),
                   (rate_bps,) * count, (100 * NS,) * count, (25 * NS,) * count)


def lowered(case: Graph, algorithms: dict[int, str], hosts: int, options: Options = WHOLE,
            scale_up: ScaleUp | None = None, log_ops: str = "collectives") -> Workload:
    """Rank i on host i."""
    settings = Settings(algorithms, options, scale_up=scale_up, log_messages=False, log_ops=log_ops)
    return lower(case, settings, np.arange(case.ranks, dtype="i4"), hosts)


def simulate(network: Network, workload: Workload, nic: Nic | None = None, *, trimming: bool = False) -> Rank:
    """Everything to the end, on one shard. trimming : switches trim instead of drop (the NIC must know it too)."""
    fabric, routes = network
    switches = len(fabric.nodes) - fabric.hosts
    rate = int(fabric.links["rate_bps"][routes.up_link[0]])
    kind = nic or make_nic({"TrimmingEnabled": trimming})
    made = Model(fabric, routes, number_messages(workload), nic_row(kind, rate), np.zeros(fabric.hosts, "i4"),
                 switch_row(switch(trimming=trimming)), np.zeros(switches, "i4"), workload=workload)
    rank = Rank(made, np.zeros(len(fabric.nodes), "i4"), 0, least=not COMPILED)
    run_rank(rank, FOREVER, None)
    clock = rank.holder.state.clock
    assert cell(clock, 0, "created") == cell(clock, 0, "delivered") + cell(clock, 0, "dropped")
    return rank


def oplog(rank: Rank) -> tuple[np.ndarray, np.ndarray]:
    """OPLOG rows, and the workload's LABELS of each."""
    state, model = rank.holder.state, rank.model
    rows = to_array(state.oplog, t.OPLOG)[:cell(state.pools, t.P_OPLOG, "used")]
    assert model.workload is not None and model.workload.labels is not None
    return rows, model.workload.labels[model.messages.order[rows["op"]]]


def taken_ps(rank: Rank) -> int:
    """From the last member's entry to the last member's end, as run.json tells (rank_records.collective_times)."""
    rows, labels = oplog(rank)
    begin, end = (rows["time_ps"][labels["role"] == role] for role in (ROLE_BEGIN, ROLE_END))
    assert rank.model.workload is not None and len(begin) == len(end) == rank.model.workload.graph.ranks
    return int(end.max() - begin.max())


def collective_graph(collective: int, members: int, size: int, root: int = 0) -> Graph:
    """One collective of all ranks."""
    return graph(members, [coll(rank, collective, size, root=root) for rank in range(members)], (),
                 [list(range(members))])


def timed(network: Network, collective: int, algorithm: str, members: int, size: int, options: Options = WHOLE, *,
          scale_up: ScaleUp | None = None, nic: Nic | None = None, trimming: bool = False) -> int:
    """Time of one collective of the first `members` hosts, ps. size : comm_size (collectives/README.md)."""
    case = collective_graph(collective, members, size)
    made = lowered(case, {collective: algorithm}, network[0].hosts, options, scale_up)
    return taken_ps(simulate(network, made, nic, trimming=trimming))


def busbw(factor: float, size: int, time_ps: int) -> float:
    """GB/s (10^9 bytes) as nccl-tests counts them: size over time, times the collective's factor."""
    return size * factor / time_ps * 1000


__all__: Sequence[str] = [
    "ACK", "BOTH", "FIRST", "FRAME", "PACKET", "PROBE", "TURN", "WHOLE", "WIRE", "WRITE", "Network", "both_ways_ps",
    "busbw", "collective_graph", "leaves", "lowered", "one_ps", "one_way_ps", "oplog", "rack", "servers", "simulate",
    "taken_ps", "timed", "turn_ps",
]
