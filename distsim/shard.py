"""What a rank tells its records: who is on it, which are on, and the state at an instant, in the records' order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import records
from .fabric.types import NIC
from .parallel.comm import Communicator
from .parameters import class_slots
from .state import tables as t
from .state.allocate import to_array
from .state.model import Model
from .state.network import Placement
from .state.view import State

if TYPE_CHECKING:
    from .config import Config

SWITCHES = ("EnableNetDeviceStatLogging", "EnablePFCECNStatsLogging", "EnableNetworkBufferStatsReporting",
            "EnablePCIeStatsLogging", "EnableTopologyReport", "EnableTierHop", "EnableMPIStats", "EnableMPIProfiling",
            "EnableCPUMemStats", "EnableSwitchBufferStats")


@dataclass(frozen=True)
class Places:
    """A shard, and where its NICs, ports and switches stand in the state's tables.

    nics, switches : rows of `nics` (`buffers` by CLASSES) in order of node id; ports : PORT rows in order of (node id,
    ifid), ins : the IN row of the same interface.
    """

    shard: records.Shard
    nics: np.ndarray
    ports: np.ndarray
    ins: np.ndarray
    switches: np.ndarray


def clocks(config: Config) -> dict[str, int]:
    """Interval of each kind of periodic instant, ps."""
    return {"nd": config.interval_ps, "buffers": config.buffers_interval_ps,
            "switch-buffers": config.switch_buffers_interval_ps}


def switches(config: Config, model: Model) -> dict[str, bool]:
    """Which records are on, by the name of their switch; NIC attributes count when any NIC of the run has them."""
    stats = model.nicpar["stats"][np.unique(model.nic_param)]
    return {name: bool(getattr(config.parameters, name)) for name in SWITCHES} | {
        "EnableEventLogging": bool((stats & t.STAT_EVENTS).any()),
        "EnableUETMonitor": bool((stats & t.STAT_MONITOR).any())}


def shard_of(config: Config, model: Model, here: Placement, comm: Communicator, directory: str) -> Places:
    """The shard of a rank."""
    fabric = model.fabric
    kinds = fabric.nodes["kind"][here.nodes]
    nic_ids, switch_ids = here.nodes[kinds == NIC], here.nodes[kinds != NIC]
    nic_order, switch_order = np.argsort(nic_ids), np.argsort(switch_ids)
    nic_ids, switch_ids = nic_ids[nic_order], switch_ids[switch_order]
    links = fabric.links[here.ports]
    port_order = np.lexsort([links["src_port"], links["src"]])
    links = links[port_order]
    src, dst = links["src"], links["dst"]
    par = model.nicpar[model.nic_param[nic_ids]]
    nics = [config.nic_for(int(i), int(fabric.nodes["rack"][i]), fabric.names[i]) for i in nic_ids]
    ends = [(nic.HostInterface.NICSide.pcie.NicDeviceLayer.NicPCIeInterface.PhysicalLayer,
             nic.HostInterface.HostSide.pcie.ScalaHostPCIeDeviceLayer.HostPCIeInterface.PhysicalLayer) for nic in nics]
    found = [config.switch_for(fabric.names[i], int(fabric.nodes["tier"][i])) for i in switch_ids]
    parameters = config.parameters
    shard = records.Shard(
        simulation=config.simulation, index=comm.rank, count=comm.size, directory=directory,
        nic_node_id=nic_ids, nic_name=[fabric.names[i] for i in nic_ids],
        nic_stats=np.array([nic.EnableTransportStats for nic in nics], bool),
        port_node_id=src, port_ifid=links["src_port"], port_tier=fabric.nodes["tier"][src],
        port_uplink=links["uplink"], port_is_nic=fabric.nodes["kind"][src] == NIC,
        port_rate_bps=links["rate_bps"], port_name=[fabric.names[i] for i in src],
        interval_ps=config.interval_ps, start_ps=config.workload_start_ps, names=fabric.names,
        nic_buffers=par["stats"] & t.STAT_BUFFERS != 0, nic_events=par["stats"] & t.STAT_EVENTS != 0,
        nic_pcie=par["stats"] & t.STAT_PCIE != 0,
        nic_ingress_pools=np.stack([par["ingress_bytes"], par["ingress_control_bytes"]], axis=1),
        nic_egress_pools=np.stack([par["egress_bytes"], par["egress_control_bytes"]], axis=1),
        nic_lanes=np.array([[end.LaneCount for end in pair] for pair in ends], "i8").reshape(-1, 2),
        nic_lane_gbps=np.array([[end.LaneBps / 1e9 for end in pair] for pair in ends], "f8").reshape(-1, 2),
        port_peer_name=[fabric.names[i] for i in dst], port_peer_node_id=dst, port_peer_ifid=links["dst_port"],
        port_peer_tier=fabric.nodes["tier"][dst], port_delay_ps=links["delay_ps"],
        switch_node_id=switch_ids, switch_name=[fabric.names[i] for i in switch_ids],
        switch_tier=fabric.nodes["tier"][switch_ids],
        switch_pools=np.array([pools_of(switch) for switch in found], "i8").reshape(-1, t.CLASSES),
        buffers_interval_ps=config.buffers_interval_ps,
        switch_buffers_interval_ps=config.switch_buffers_interval_ps, max_rows=parameters.MaxRecordRows)
    return Places(shard, nic_order, port_order, here.in_of[links["reverse"]], switch_order)


def pools_of(switch: Any) -> list[int]:
    """Number of the pool behind each slot of a switch's BUFFER rows."""
    _, pools = class_slots(switch)
    return [*pools, *[-1] * t.CLASSES][:t.CLASSES]


def tick_of(clock: str, time_ps: int, state: State, places: Places, run: dict[str, Any]) -> records.Tick:
    """The state at an instant as the records of its clock take it."""
    if clock == "buffers":
        buff = to_array(state.buff, t.BUFF).reshape(-1, t.NIC_BUFFERS)
        return records.Tick(time_ps, clock, buff=_rows(buff, places.nics))
    if clock == "switch-buffers":
        count = len(places.switches) * t.CLASSES        # a rank without switches has one row, of nobody
        buffers = to_array(state.buffers, t.BUFFER)[:count].reshape(-1, t.CLASSES)
        stats = to_array(state.buffer_stats, t.BUFFER_STATS)
        kept = count * t.BUFFER_KINDS if len(stats) >= count * t.BUFFER_KINDS else 0
        stats = stats[:kept].reshape(-1, t.CLASSES, t.BUFFER_KINDS)
        return records.Tick(time_ps, clock, buffers=_rows(buffers, places.switches),
                            buffer_stats=_rows(stats, places.switches))
    ports = to_array(state.ports, t.PORT)[places.ports]
    queues = to_array(state.queues, t.QUEUE)["packets"].reshape(-1, t.QUEUES)
    pcie = pcie_of(state, time_ps)
    return records.Tick(
        time_ps, clock, counters=to_array(state.counters, t.COUNTERS)[places.nics],
        ports=records.port_counters(ports, to_array(state.ins, t.IN)[places.ins], time_ps),
        pfc=pfc_of(state, places, ports), waiting=queues[places.ports], pcie=_rows(pcie, places.nics), run=run)


def pcie_of(state: State, time_ps: int) -> np.ndarray:
    """PCIE[nics, PCIE_ENDS], in table order, without what is queued for the lanes but has not gone at `time_ps`.

    The kernels count a segment when it is offered, and know when its last transfer will have gone; the lanes never
    pause in between, so the bytes to go follow from the time to go. Their payload is taken as that of full segments.
    """
    rows = to_array(state.pcie, t.PCIE).reshape(-1, t.PCIE_ENDS).copy()
    nics = to_array(state.nics, t.NICROW)
    if len(rows) < len(nics) or not len(nics):
        return rows
    par = to_array(state.nicpar, t.NICPAR)[to_array(state.nodes, t.NODE)["param"][nics["node"]]]
    segments = -(-par["mss_bytes"] // 512)
    share = par["mss_bytes"] / (par["mss_bytes"] + 34 * segments)
    for end, way in ((t.PCIE_NIC, "up"), (t.PCIE_HOST, "down")):
        to_go = np.maximum(nics[f"{way}_free_ps"] - time_ps, 0) * par[f"{way}_den"] // par[f"{way}_num"]
        rows["bytes"][:, end] -= to_go
        rows["payload_bytes"][:, end] -= np.minimum((to_go * share).astype("i8"), rows["payload_bytes"][:, end])
        rows["transfers"][:, end] -= to_go // 546
    return rows


def pfc_of(state: State, places: Places, ports: np.ndarray) -> np.ndarray:
    """PFC[ports, QUEUES] in the records' order; marks of switches that keep no PFC rows come from their ports."""
    rows = to_array(state.pfc, t.PFC)
    if len(rows) == len(ports) * t.QUEUES:       # kept; a rank of one port has as many rows when they are not, all zero
        rows = rows.reshape(-1, t.QUEUES)[places.ports]
    else:
        rows = np.zeros((len(ports), t.QUEUES), t.PFC)
        rows["xoff_since_ps"] = rows["occupied_since_ps"] = -1
    counted = rows["ecn_marks"].sum(axis=1)
    rows["ecn_marks"][:, t.TC_DATA] += ports["ecn_marks"] - counted
    return rows


def _rows(table: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Rows of a table in the records' order; a table that is not kept has fewer rows and nobody reads it."""
    return table[order] if len(table) >= len(order) and len(order) else table[:0]
