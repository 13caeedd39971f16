"""`pcie-stats`: one row an end of a NIC's PCIe link, the NIC's and the host's, every NDStatsReportInterval.

The pages name the record and its rows (scala-computing/docs, models/scala-uet-nic/records, pcie-stats), not its
columns: these are ours. An end sends transfers of at most 512 B of payload and 34 B of overhead: the NIC read requests
and posted writes of received payload, the host completions with the payload that was asked for. What one end sends is
what the other receives, at the rate of the sender's lanes.

Decisions: bytes and transfers count as sent once they have gone over the lanes, so a utilisation is at most 100 %; the
payload of what waits for the lanes at a tick is taken as that of full segments (`distsim/shard.py`). Reads and writes
count when they are offered. Waits are segments that found no room in a buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, microseconds, seconds
from distsim.records.types import ND, Shard, Tick
from distsim.state.tables import PCIE, PCIE_ENDS, PCIE_HOST, PCIE_NIC

SIDES = {PCIE_NIC: "nic", PCIE_HOST: "host"}

SCHEMA = RecordSchema(
    name="pcie-stats",
    row_for="each end of a NIC's PCIe link",
    written="every NDStatsReportInterval",
    switch="EnablePCIeStatsLogging",
    default=False,
    global_switch=True,
    order=("sim_time_sec", "node_id", "side"),
    clock=ND,
    component="node_id",
    columns=(
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("component_name", TEXT, "", "name of the NIC"),
        Column("node_id", INT, "", "FEP id of the NIC, which is its node id"),
        Column("side", TEXT, "", "nic or host: the end that the row is about"),
        Column("lane_count", INT, "", "lanes of this end"),
        Column("lane_Gbps", FLOAT, "Gb/s", "rate of one of its lanes"),
        Column("total_transfers_tx", INT, "transfers", "transfers sent since the start"),
        Column("ivl_transfers_tx", INT, "transfers", "transfers sent since the previous row"),
        Column("total_transfers_rx", INT, "transfers", "transfers received since the start"),
        Column("ivl_transfers_rx", INT, "transfers", "transfers received since the previous row"),
        Column("total_bytes_tx", INT, "B", "bytes sent since the start, overhead included"),
        Column("ivl_bytes_tx", INT, "B", "the same since the previous row"),
        Column("total_bytes_rx", INT, "B", "bytes received since the start, overhead included"),
        Column("ivl_bytes_rx", INT, "B", "the same since the previous row"),
        Column("ivl_payload_bytes_tx", INT, "B", "payload sent since the previous row"),
        Column("ivl_payload_bytes_rx", INT, "B", "payload received since the previous row"),
        Column("tx_rate_Gbps", FLOAT, "Gb/s", "ivl_bytes_tx over the interval"),
        Column("rx_rate_Gbps", FLOAT, "Gb/s", "ivl_bytes_rx over the interval"),
        Column("tx_link_percent_util", FLOAT, "%", "tx_rate_Gbps of this end's lanes"),
        Column("rx_link_percent_util", FLOAT, "%", "rx_rate_Gbps of the other end's lanes"),
        Column("read_requests", INT, "requests", "read requests sent since the start; 0 at the host"),
        Column("ivl_read_requests", INT, "requests", "the same since the previous row"),
        Column("completions", INT, "completions", "reads answered since the start; 0 at the NIC"),
        Column("ivl_completions", INT, "completions", "the same since the previous row"),
        Column("mem_writes", INT, "writes", "posted writes sent since the start; 0 at the host"),
        Column("ivl_mem_writes", INT, "writes", "the same since the previous row"),
        Column("ivl_buffer_waits", INT, "segments", "segments that waited for buffer room since the previous row"),
        Column("ivl_buffer_wait_usec", FLOAT, "us", "how long they waited"),
        Column("ivl_max_tx_data_buf_B", INT, "B", "most payload in the transmit buffer since the previous row"),
    ),
)


class PcieStats(Record):
    """Keeps the previous tick's counters."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._chosen = np.flatnonzero(np.asarray(shard.nic_pcie, bool))
        self._previous = np.zeros((len(self._chosen), PCIE_ENDS), PCIE)
        self._previous_ps = shard.start_ps

    def on_tick(self, tick: Tick) -> Columns | None:
        """Two rows a NIC, its own end first, in order of node id."""
        if not len(self._chosen) or not len(tick.pcie):
            return None
        now, before = tick.pcie[self._chosen], self._previous  # fancy indexing: a copy
        elapsed_ps = tick.time_ps - self._previous_ps
        self._previous, self._previous_ps = now, tick.time_ps
        lanes_gbps = (self._shard.nic_lanes * self._shard.nic_lane_gbps)[self._chosen]
        columns: dict[str, Any] = {**self._who(), "sim_time_sec": seconds(tick.time_ps)}
        # ends stand along axis 1: an end receives what the other sends
        for way, seen, seen_before, rate in (("tx", now, before, lanes_gbps),
                                             ("rx", now[:, ::-1], before[:, ::-1], lanes_gbps[:, ::-1])):
            bytes_ = seen["bytes"] - seen_before["bytes"]
            columns |= {
                f"total_transfers_{way}": seen["transfers"],
                f"ivl_transfers_{way}": seen["transfers"] - seen_before["transfers"],
                f"total_bytes_{way}": seen["bytes"],
                f"ivl_bytes_{way}": bytes_,
                f"ivl_payload_bytes_{way}": seen["payload_bytes"] - seen_before["payload_bytes"],
                f"{way}_rate_Gbps": bytes_ * 8000 / elapsed_ps,
                f"{way}_link_percent_util": 100 * (bytes_ * 8000 / elapsed_ps) / rate,
            }
        at_nic = np.arange(PCIE_ENDS) == PCIE_NIC
        for name, field, counts in (("read_requests", "reads", at_nic), ("completions", "reads", ~at_nic),
                                    ("mem_writes", "writes", at_nic)):
            columns |= {name: now[field] * counts, "ivl_" + name: (now[field] - before[field]) * counts}
        columns |= {"ivl_buffer_waits": now["waits"] - before["waits"],
                    "ivl_buffer_wait_usec": microseconds(now["wait_ps"] - before["wait_ps"]),
                    "ivl_max_tx_data_buf_B": now["ivl_most_bytes"]}
        return {name: values.ravel() if isinstance(values, np.ndarray) else values for name, values in columns.items()}

    def _who(self) -> dict[str, Any]:
        shard, nics = self._shard, self._chosen
        return {
            "component_name": [shard.nic_name[nic] for nic in nics for _ in SIDES],
            "node_id": np.repeat(np.asarray(shard.nic_node_id)[nics], PCIE_ENDS),
            "side": list(SIDES.values()) * len(nics),
            "lane_count": shard.nic_lanes[nics],
            "lane_Gbps": shard.nic_lane_gbps[nics],
        }
