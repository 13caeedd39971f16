"""Small simulations whose figures can be worked out by hand, and a `Run` that stops them at any picosecond.

Everything goes through the real kernels; `verify` is called at every stop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from simkit import FOREVER, KERNELS, Rank, run_rank
from simmodels import edge_rows, op_rows

from distsim.config.nic import Nic
from distsim.config.switch import Switch
from distsim.fabric import build as build_fabric
from distsim.fabric import fat_tree, leaf_spine
from distsim.fabric.links import uniform_rules
from distsim.fabric.routing import build_routes
from distsim.fabric.types import Fabric
from distsim.fault_steps import lost_by_link
from distsim.kernels import status
from distsim.kernels.mode import COMPILED
from distsim.parameters import buffer_rows, nic_row, switch_row
from distsim.state import tables as t
from distsim.state.allocate import cell, set_cell
from distsim.state.faults import INTERVALS, FaultPlan, merged, survival_of
from distsim.state.model import Model, number_messages
from distsim.state.verify import verify
from distsim.workload.types import SEND, Workload

GBPS = 10**9
NS, US, MS = 10**3, 10**6, 10**9          # in picoseconds

# What a NIC takes, ps, with 16 PCIe lanes of 31.52 Gb/s: 504.32 Gb/s, 3125 / 197 ps a byte, rounded up once a transfer.
DOORBELL = 15_000                         # from the post to the transmit process
READ = 1_555                              # a read request of 98 B: 1554.6
FETCH = 69_290                            # 4096 B of payload, 8 transfers of 546 B: 4368 B, 69,289.3
READY = DOORBELL + READ + FETCH           # the first full packet after the post: 85,845
HOLD = 66_371                             # an ACK waits for 4184 B to reach the host: 66,370.6
FRAME = 84_040                            # 4202 B at 400 Gb/s


def lanes_ps(size_bytes: int) -> int:
    """Time of these bytes on the default PCIe lanes."""
    return -(-size_bytes * 3125 // 197)


def ready_ps(payload_bytes: int) -> int:
    """From the post to the first packet's start on an idle port: doorbell, read request, completion."""
    if payload_bytes == 0:
        return DOORBELL                   # nothing to fetch
    return DOORBELL + READ + lanes_ps(payload_bytes + 34 * -(-payload_bytes // 512))


def hold_ps(payload_bytes: int) -> int:
    """How long an idle receiver holds the ACK of a packet: its IP size on the lanes."""
    return lanes_ps(payload_bytes + 88)


# ---- fabrics ---------------------------------------------------------------------------------------------------------
def one_rack(hosts: int = 3, *, rate_bps: int = 400 * GBPS) -> Fabric:
    """Hosts at one switch, 100 ns links."""
    return two_tiers(racks=1, per_rack=hosts, spines=0, rate_bps=rate_bps)


def two_tiers(racks: int = 2, per_rack: int = 1, spines: int = 1, *, rate_bps: int = 400 * GBPS) -> Fabric:
    """Leaf-spine: 100 ns to a NIC, 500 ns to a spine, one rate."""
    spec = leaf_spine.Spec(kind="leaf-spine", racks=racks, nics_per_rack=per_rack, spines=spines)
    return build_fabric(spec, uniform_rules(rate_bps, 100 * NS, 500 * NS))


def three_tiers(k: int = 2, *, rate_bps: int = 400 * GBPS) -> Fabric:
    """k-ary fat tree: 100 ns to a NIC, 500 ns between switches."""
    return build_fabric(fat_tree.Spec(kind="fat-tree", k=k), uniform_rules(rate_bps, 100 * NS, 500 * NS))


# ---- attributes ------------------------------------------------------------------------------------------------------
def nic(pds: dict[str, Any] | None = None, cc: dict[str, Any] | None = None, spraying: dict[str, Any] | None = None,
        mss: int = 4096, *, ingress: dict[str, Any] | None = None, egress: dict[str, Any] | None = None,
        nic_lanes: int = 16, host_lanes: int = 16) -> Nic:
    """A NIC with defaults but for these attributes. nic_lanes, host_lanes : PCIe lanes at either end."""
    near, far = {"PhysicalLayer": {"LaneCount": nic_lanes}}, {"PhysicalLayer": {"LaneCount": host_lanes}}
    return Nic.model_validate({
        "TransportProcessingLayers": {
            "ScalaUETPdsManager": pds or {}, "ScalaUETCongestionControl": cc or {},
            "PacketSpraying": {"DefaultPacketSpraying": spraying or {}}, "SemanticLayer": {"RdmaDataMSS": mss}},
        "NetworkInterface": {"IngressBufferManager": ingress or {}, "EgressBufferManager": egress or {}},
        "HostInterface": {
            "NICSide": {"PCIeGen3.0": {"NicDeviceLayer": {"NicPCIeInterface": near}}},
            "HostSide": {"PCIeGen3.0": {"ScalaHostPCIeDeviceLayer": {"HostPCIeInterface": far}}}}})


def switch(limit_bytes: int = 1_500_000, *, trimming: bool = False, ecn: dict[str, Any] | None = None,
           **buffer: Any) -> Switch:
    """A switch under the UET policy, without PFC, whose queues hold `limit_bytes`; buffer : of its shared buffer."""
    return Switch.model_validate({
        "PacketTrimmer": {"TrimmingEnabled": trimming}, "EcnHandler": ecn or {},
        "SharedBufferManager": {"UETPolicyEnabled": True, "EnablePFC": [0] * 8, "PlaneBDP": f"{limit_bytes}B",
                                "QueueDropThreshold": 1, **buffer}})


uet_switch = switch           # where a parameter has the name


# ---- workloads -------------------------------------------------------------------------------------------------------
def send(host: int, dst: int, size_bytes: int, start_ps: int = 0, *, deps: int = 0, any_of: int = 0,
         kind: int = SEND) -> tuple:
    """An operation; its user id is its place in the list, from 1."""
    return (0, kind, any_of, host, dst, size_bytes, start_ps, deps)


def workload(ops: list[tuple], edges: list[tuple] | None = None) -> Workload:
    """Operations, and edges (from, to, when) between places in the list."""
    rows = [(number, *op[1:]) for number, op in enumerate(ops, start=1)]
    return Workload(op_rows(rows), edge_rows(edges or []))


def model(fabric: Fabric, ops: list[tuple], edges: list[tuple] | None = None, *, nic: Nic | None = None,
          switch: Switch | None = None, shared: bool = False, **more: Any) -> Model:
    """A model with one kind of NIC, and an SWPAR row for every switch (UET policy) so that a test can change one.

    shared : the switches count their shared buffers, as they must where anything can pause.
    """
    routes = build_routes(fabric)
    kind = switch or uet_switch()
    switches = len(fabric.nodes) - fabric.hosts
    rate = int(fabric.links["rate_bps"][routes.up_link[0]])
    nicpar = nic_row(nic or Nic(), rate)
    swpar = np.concatenate([switch_row(kind)] * switches)
    if shared:
        ports = np.bincount(fabric.links["src"], minlength=len(fabric.nodes))[fabric.hosts:]
        more |= {"shared": np.ones(switches, bool), "buffers": np.stack([buffer_rows(kind, int(n)) for n in ports])}
    return Model(fabric, routes, number_messages(workload(ops, edges)), nicpar, np.zeros(fabric.hosts, "i4"), swpar,
                 np.arange(switches, dtype="i4"), **more)


def faults(fabric: Fabric, *events: tuple[Any, ...], keep: float = 1.0, bit_errors: float = 0.0) -> FaultPlan:
    """Cables that are down: (one end, other end, from, until, routed from, routed until), ps; keep and bit_errors : of
    every link."""
    names, links = fabric.names, fabric.links
    down, routed = [], []
    for one, two, begin, end, begin_routed, end_routed in events:
        a, b = names.index(one), names.index(two)
        for link in np.flatnonzero(((links["src"] == a) & (links["dst"] == b)) | ((links["src"] == b)
                                                                                & (links["dst"] == a))).tolist():
            down.append((link, begin, end))
            routed.append((link, begin_routed, end_routed))
    bits = np.full(len(links), 0 if bit_errors else -1, "i4")
    return FaultPlan(np.full(len(links), keep), bits, survival_of(bit_errors)[None], merged(np.array(down, INTERVALS)),
                     merged(np.array(routed, INTERVALS)))


# ---- runs ------------------------------------------------------------------------------------------------------------
class Run:
    """One rank that stops where it is told to."""

    def __init__(self, model: Model, owner: np.ndarray | None = None, rank: int = 0) -> None:
        self.model = model
        owner = np.zeros(len(model.fabric.nodes), "i4") if owner is None else owner
        self.rank = Rank(model, owner, rank, least=not COMPILED)      # the twin is quicker with small tables

    @property
    def state(self) -> Any:
        return self.rank.holder.state

    def to(self, time_ps: int) -> Run:
        """Do all that happens before `time_ps`, what happens by itself at the NICs too."""
        while self.rank.faults.next_ps < time_ps:
            run_rank(self.rank, self.rank.faults.next_ps, None)
            self.rank.fail_until(self.rank.faults.next_ps)
        run_rank(self.rank, time_ps, None)
        while (code := KERNELS.settle_nics(self.rank.ref, time_ps, 1 << 40)) != status.OK:
            assert code == status.NEED
            self.rank.grow()
        verify(self.state)
        return self

    def end(self) -> Run:
        """Do all that is left."""
        self.to(FOREVER)
        assert self.clock("created") == self.clock("delivered") + self.clock("dropped")
        return self

    def clock(self, name: str) -> int:
        return cell(self.state.clock, 0, name)

    def node(self, name: str) -> int:
        """NODE row of a device."""
        return int(self.rank.here.row_of[self.model.fabric.names.index(name)])

    def nic_row(self, host: int) -> int:
        return cell(self.state.nodes, self.node(f"NIC-{host}"), "nic")

    def nic(self, host: int, name: str) -> int:
        """A field of a NIC's NICROW."""
        return cell(self.state.nics, self.nic_row(host), name)

    def pfc(self, src: str, dst: str, tc: int, name: str) -> int:
        """A field of the PFC row of a class of the port from one device to another."""
        return cell(self.state.pfc, self.port(src, dst, "queue_begin") + tc, name)

    def counter(self, host: int, name: str) -> int:
        """A counter of a NIC."""
        return cell(self.state.counters, self.nic_row(host), name)

    def op(self, number: int) -> int:
        """OP row of an operation by its place in the list."""
        count = int(sum(cell(self.state.nics, k, "op_count") for k in range(len(self.state.nics))))
        return next(row for row in range(count) if cell(self.state.ops, row, "user_id") == number + 1)

    def done_ps(self, number: int = 0) -> int:
        """When an operation was done."""
        row = self.op(number)
        assert cell(self.state.ops, row, "state") == t.OP_DONE
        return cell(self.state.ops, row, "done_ps")

    def started_ps(self, number: int) -> int:
        """When an operation started."""
        row = self.op(number)
        assert cell(self.state.ops, row, "state") >= t.OP_ACTIVE
        return cell(self.state.ops, row, "ready_ps")

    def pdc(self, number: int = 0) -> int:
        """TXPDC row of an operation under way."""
        row = cell(self.state.ops, self.op(number), "pdc")
        assert row >= 0
        return row

    def sender(self, name: str, number: int = 0) -> int:
        """A field of an operation's sending PDC."""
        return cell(self.state.tx, self.pdc(number), name)

    def slot(self, psn: int, name: str, number: int = 0) -> int:
        """A field of an outstanding PSN."""
        ring = self.sender("slot_room", number)
        return cell(self.state.slots, self.sender("slot_begin", number) + (psn & (ring - 1)), name)

    def group(self, name: str, number: int = 0) -> Any:
        """A field of an operation's group."""
        row = self.sender("group", number)
        groups = self.state.groups
        return groups[name][row].item() if isinstance(groups, np.ndarray) else getattr(groups[row], name)

    def receiver(self, name: str, number: int = 0) -> int:
        """A field of an operation's receiving PDC."""
        message = self.model.messages
        op = int(np.flatnonzero(message.ops["user_id"] == number + 1)[0])
        nic_row = self.nic_row(int(message.ops["dst"][op]))
        begin, first = (cell(self.state.nics, nic_row, field) for field in ("rx_begin", "rx_first"))
        return cell(self.state.rx, cell(self.state.rxmsg, begin + int(message.rx_message[op]) - first, "pdc"), name)

    def link(self, src: str, dst: str) -> int:
        """Global link row."""
        names, links = self.model.fabric.names, self.model.fabric.links
        hit = (links["src"] == names.index(src)) & (links["dst"] == names.index(dst))
        return int(np.flatnonzero(hit)[0])

    def port(self, src: str, dst: str, name: str) -> Any:
        """A field of the port from one device to another."""
        row = int(self.rank.here.port_of[self.link(src, dst)])
        ports = self.state.ports
        return ports[name][row].item() if isinstance(ports, np.ndarray) else getattr(ports[row], name)

    def lost(self, src: str, dst: str) -> int:
        """Packets that a directed link has lost."""
        return lost_by_link(self.state, self.rank.here).get(self.link(src, dst), (0, 0))[0]

    def under_way(self, src: str, dst: str, *names: str) -> list[tuple[int, ...]]:
        """Fields of the packets on a link, in order of arrival."""
        row = cell(self.state.ins, int(self.rank.here.in_of[self.link(src, dst)]), "head")
        found = []
        while row >= 0:
            found.append(tuple(cell(self.state.packets, row, name) for name in names))
            row = cell(self.state.packets, row, "next")
        return found

    def set_limit(self, device: str, limit_bytes: int, kind: str = "data") -> None:
        """Change a queue limit of one switch from here on; 0 loses (or trims) all that comes."""
        row = cell(self.state.nodes, self.node(device), "param")
        for name in (f"{kind}_limit_bytes", *(["rtx_limit_bytes"] if kind == "data" else [])):
            set_cell(self.state.swpar, row, name, limit_bytes)


def run(*arguments: Any, **named: Any) -> Run:
    """A `Run` of `model(...)`."""
    return Run(model(*arguments, **named))
