"""`nd-stats`: one row a port every NDStatsReportInterval, NICs (tier 3) and every switch port.

Columns and units: scala-computing/docs, simulation-output-files, Network Device Statistics; what a NIC's row counts:
models/scala-uet-nic/records. Bytes are the size on the wire (Ethernet header and FCS), GB and MB decimal, a rate is
the interval's bytes over the interval, utilisation the rate as a percentage of the port's link rate.

Decisions: `component_type` is ``NIC`` or ``Switch``, `nd_name` the device class of this simulator, `subtier` always
4294967295 (none), `uldl` ``ul`` for a port towards the spines (a NIC's only port) and ``dl`` otherwise. Only complete
frames are counted as sent: a frame in serialization at the tick belongs to the next row, so a rate never exceeds the
link's by more than one frame an interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import ND, PORT_COUNTERS, Shard, Tick

NO_SUBTIER = 2**32 - 1
NIC_DEVICE, SWITCH_DEVICE = "distsim::UetNicDevice", "distsim::SwitchPortDevice"
MB, GB = 1e6, 1e9

SCHEMA = RecordSchema(
    name="nd-stats",
    row_for="each NIC port and each switch port",
    written="every NDStatsReportInterval",
    switch="EnableNetDeviceStatLogging",
    default=True,
    global_switch=True,
    order=("sim_time_sec", "node_id", "ifid"),
    clock=ND,
    component="node_id",
    columns=(
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("component_name", TEXT, "", "name of the NIC or switch"),
        Column("nd_name", TEXT, "", f"device class: {NIC_DEVICE} or {SWITCH_DEVICE}"),
        Column("component_type", TEXT, "", "NIC or Switch"),
        Column("ifid", INT, "", "interface index on the component, from 0"),
        Column("uldl", TEXT, "", "ul: towards the spines; dl: away from them"),
        Column("node_id", INT, "", "node id of the component"),
        Column("tier", INT, "", "0 spine, 1 fabric, 2 rack, 3 NIC"),
        Column("subtier", INT, "", f"always {NO_SUBTIER}: none"),
        Column("total_packets_tx", INT, "frames", "frames sent since the start"),
        Column("total_packets_rx", INT, "frames", "frames received since the start"),
        Column("total_bytes_tx_GB", FLOAT, "GB", "bytes sent since the start, on the wire"),
        Column("total_bytes_rx_GB", FLOAT, "GB", "bytes received since the start, on the wire"),
        Column("interval_bytes_tx_MB", FLOAT, "MB", "bytes sent since the previous row"),
        Column("interval_bytes_rx_MB", FLOAT, "MB", "bytes received since the previous row"),
        Column("tx_rate_Gbps", FLOAT, "Gb/s", "interval_bytes_tx_MB over the interval"),
        Column("rx_rate_Gbps", FLOAT, "Gb/s", "interval_bytes_rx_MB over the interval"),
        Column("tx_link_percent_util", FLOAT, "%", "tx_rate_Gbps of the link's rate"),
        Column("rx_link_percent_util", FLOAT, "%", "rx_rate_Gbps of the link's rate"),
        Column("tx_drops", INT, "packets", "packets dropped before sending, since the start"),
        Column("rx_drops", INT, "packets", "packets dropped on reception, since the start"),
    ),
)


def port_counters(ports: np.ndarray, ins: np.ndarray, time_ps: int) -> np.ndarray:
    """The counters of ports at an instant.

    ports : state.tables.PORT[n], brought up to `time_ps`; they count a frame when its serialization starts.
    ins : state.tables.IN[n], the receiving side of the same interfaces in the same order.
    Returns PORT_COUNTERS[n] in which a frame counts as sent once its last bit has left, at `time_ps` or before.
    """
    out = np.zeros(len(ports), PORT_COUNTERS)
    in_service = ports["free_ps"] > time_ps
    out["tx_packets"] = ports["tx_packets"] - in_service
    out["tx_bytes"] = ports["tx_bytes"] - np.where(in_service, ports["service_bytes"], 0)
    out["tx_drops"] = ports["tx_drops"]
    for name in ("rx_packets", "rx_bytes", "rx_drops"):
        out[name] = ins[name]
    return out


class NdStats(Record):
    """Keeps the previous tick's byte counts, for the interval columns."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._rate_gbps = np.asarray(shard.port_rate_bps, np.float64) / 1e9
        self._tx_bytes = np.zeros(len(self._rate_gbps), np.int64)
        self._rx_bytes = np.zeros(len(self._rate_gbps), np.int64)
        self._previous_ps = shard.start_ps
        self._identity: dict[str, Any] | None = None

    def on_tick(self, tick: Tick) -> Columns | None:
        """One row a port. ValueError when the tick is not later than the previous one."""
        elapsed_ps = tick.time_ps - self._previous_ps
        if elapsed_ps <= 0:
            raise ValueError(f"nd-stats: tick at {tick.time_ps} ps is not after {self._previous_ps} ps")
        ports = tick.ports
        columns = dict(self._who())
        columns["sim_time_sec"] = seconds(tick.time_ps)
        self._direction(columns, "tx", ports["tx_bytes"] - self._tx_bytes, ports, elapsed_ps)
        self._direction(columns, "rx", ports["rx_bytes"] - self._rx_bytes, ports, elapsed_ps)
        self._tx_bytes, self._rx_bytes = ports["tx_bytes"].copy(), ports["rx_bytes"].copy()
        self._previous_ps = tick.time_ps
        return columns

    def _direction(self, columns: dict[str, Any], way: str, bytes_: np.ndarray, ports: np.ndarray,
                   elapsed_ps: int) -> None:
        rate_gbps = bytes_ * 8000 / elapsed_ps  # bits a picosecond are Tb/s
        columns[f"total_packets_{way}"] = ports[f"{way}_packets"]
        columns[f"total_bytes_{way}_GB"] = ports[f"{way}_bytes"] / GB
        columns[f"interval_bytes_{way}_MB"] = bytes_ / MB
        columns[f"{way}_rate_Gbps"] = rate_gbps
        columns[f"{way}_link_percent_util"] = 100 * rate_gbps / self._rate_gbps
        columns[f"{way}_drops"] = ports[f"{way}_drops"]

    def _who(self) -> dict[str, Any]:
        """The identity columns, which are the same in every batch, as polars Series built once."""
        if self._identity is None:
            import polars as pl

            shard, is_nic = self._shard, np.asarray(self._shard.port_is_nic, bool)
            self._identity = {
                "component_name": pl.Series(shard.port_name, dtype=pl.String),
                "nd_name": _either(is_nic, NIC_DEVICE, SWITCH_DEVICE),
                "component_type": _either(is_nic, "NIC", "Switch"),
                "ifid": pl.Series(np.asarray(shard.port_ifid, np.int64)),
                "uldl": _either(np.asarray(shard.port_uplink, bool), "ul", "dl"),
                "node_id": pl.Series(np.asarray(shard.port_node_id, np.int64)),
                "tier": pl.Series(np.asarray(shard.port_tier, np.int64)),
                "subtier": NO_SUBTIER,
            }
        return self._identity


def _either(mask: np.ndarray, yes: str, no: str) -> Any:
    import polars as pl

    return pl.Series([yes if one else no for one in mask], dtype=pl.String)
