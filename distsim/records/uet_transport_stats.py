"""`uet-transport-stats`: one row a UET NIC every NDStatsReportInterval, all its PDCs and windows together.

Columns: scala-computing/docs, models/scala-uet-nic/records (names and meanings). Order of the columns (a decision, the
pages give none): identity, each counter followed by its `ivl_` twin, then the blocks of samples.

Decisions: a total is write + ack + nack, in both directions. `max_tx_count` is the greatest number of transmissions of
one packet. The bytes in flight are sampled with the window, at each first transmission. Where there is no sample (in
the interval, or since the start) a column writes 0. Extremes since the start are kept here, from the intervals'.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distsim.records.schema import FLOAT, INT, PS_PER_US, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import ND, Shard, Tick
from distsim.state.tables import COUNTERS

LEAST, MEAN, GREATEST = "least", "mean", "greatest"
SUM_OF = {"total_pkts_sent": ("write_pkts_sent", "ack_pkts_sent", "nack_pkts_sent"),
          "total_pkts_rcvd": ("write_pkts_rcvd", "ack_pkts_rcvd", "nack_pkts_rcvd")}
MAXIMA = ("max_out_of_order_on_flow", "max_tx_count")
COUNTER_COLUMNS = {
    "total_pkts_sent": "write, ack and nack packets sent",
    "total_pkts_rcvd": "write, ack and nack packets received",
    "write_pkts_sent": "data packets sent, retransmissions included",
    "write_pkts_rcvd": "data packets received, trimmed ones included",
    "ack_pkts_sent": "ACKs sent, answers to probes included",
    "ack_pkts_rcvd": "ACKs received, answers to probes included",
    "nack_pkts_sent": "NACKs sent",
    "nack_pkts_rcvd": "NACKs received",
    "wqes_created": "messages posted by the host",
    "wqes_completed": "messages whose every byte has been acknowledged",
    "num_out_of_order_events_on_nic": "data packets received ahead of the next expected PSN",
    "max_out_of_order_on_flow": "most packets that one PDC held beyond a gap",
    "num_dup_events_on_nic": "data packets received again",
    "probe_sent": "base-RTT probes sent",
    "probe_ack_rcvd": "answers to probes received",
    "num_rto": "retransmission timers that expired",
    "num_rtx": "data packets retransmitted",
    "max_tx_count": "greatest number of transmissions of one packet",
    "m_marked_pkts_sent": "ACKs sent with the ECN echo set, answers to probes included",
    "m_marked_pkts_rcvd": "data ACKs received with the ECN echo set that gave an RTT sample",
    "num_quick_adapt": "windows cut by Quick Adapt",
}


class Sample(NamedTuple):
    """A sampled quantity: its fields in COUNTERS, `samples` the counter of its samples, unit and scale of its columns.

    columns : (name, whether over the interval, LEAST, MEAN or GREATEST), in file order.
    """

    field: str
    samples: str
    unit: str
    per_unit: int
    what: str
    columns: tuple[tuple[str, bool, str], ...]


SAMPLES = (
    Sample("penalty", "ack_samples", "", 1, "receiver penalty, 0 to 127, at each data ACK with an RTT sample", (
        ("ivl_calc_min_rcvr_cwnd_pen", True, LEAST),
        ("calc_mean_rcvr_cwnd_pen", False, MEAN), ("ivl_calc_mean_rcvr_cwnd_pen", True, MEAN),
        ("ivl_calc_max_rcvr_cwnd_pen", True, GREATEST))),
    Sample("cwnd", "tx_samples", "B", 1, "congestion window, at each first transmission", (
        ("calc_min_cwnd_bytes", False, LEAST), ("ivl_calc_min_cwnd_bytes", True, LEAST),
        ("calc_mean_cwnd_bytes", False, MEAN), ("ivl_calc_mean_cwnd_bytes", True, MEAN),
        ("ivl_calc_max_cwnd_bytes", True, GREATEST))),
    Sample("delay", "ack_samples", "us", PS_PER_US, "average queueing delay, at each data ACK with an RTT sample", (
        ("ivl_min_calc_avg_q_delay_usec", True, LEAST),
        ("avg_calc_avg_q_delay_usec", False, MEAN), ("ivl_avg_calc_avg_q_delay_usec", True, MEAN),
        ("max_calc_avg_q_delay_usec", False, GREATEST), ("ivl_max_calc_avg_q_delay_usec", True, GREATEST))),
    Sample("rtt", "ack_samples", "us", PS_PER_US, "RTT of each data ACK that gives a sample", (
        ("ivl_min_calc_rtt_usec", True, LEAST),
        ("max_calc_rtt_usec", False, GREATEST), ("ivl_max_calc_rtt_usec", True, GREATEST),
        ("avg_calc_rtt_usec", False, MEAN), ("ivl_avg_calc_rtt_usec", True, MEAN))),
    Sample("inflight", "tx_samples", "B", 1, "bytes in flight, at each first transmission", (
        ("ivl_calc_min_bytes_in_flight", True, LEAST),
        ("calc_mean_bytes_in_flight", False, MEAN), ("ivl_calc_mean_bytes_in_flight", True, MEAN),
        ("ivl_calc_max_bytes_in_flight", True, GREATEST))),
)


def _counter_columns() -> list[Column]:
    columns = []
    for name, meaning in COUNTER_COLUMNS.items():
        unit = "" if name.startswith("max_") else "count"
        columns.append(Column(name, INT, unit, meaning + ", since the start"))
        columns.append(Column("ivl_" + name, INT, unit, meaning + ", since the previous row"))
    return columns


def _sample_columns() -> list[Column]:
    return [Column(name, FLOAT if kind == MEAN or _is_real(sample) else INT, sample.unit,
                   f"{kind} {sample.what}; " + ("since the previous row" if interval else "since the start"))
            for sample in SAMPLES for name, interval, kind in sample.columns]


def _is_real(sample: Sample) -> bool:
    """Whether an extreme of the sample is written as a float."""
    return sample.per_unit != 1 or COUNTERS[f"ivl_{sample.field}_min"].kind == "f"


SCHEMA = RecordSchema(
    name="uet-transport-stats",
    row_for="each UET NIC",
    written="every NDStatsReportInterval",
    switch="EnableTransportStats",
    default=True,
    global_switch=False,
    order=("sim_time_sec", "fep_id"),
    clock=ND,
    component="fep_id",
    columns=(
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("component_name", TEXT, "", "name of the NIC"),
        Column("fep_id", INT, "", "FEP id of the NIC, which is its node id"),
        *_counter_columns(),
        *_sample_columns(),
    ),
)


class UetTransportStats(Record):
    """Keeps the previous tick's counters and the extremes since the start."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._chosen = np.flatnonzero(np.asarray(shard.nic_stats, bool))
        self._names = [shard.nic_name[i] for i in self._chosen]
        self._fep_id = np.asarray(shard.nic_node_id, np.int64)[self._chosen]
        self._previous = np.zeros(len(self._chosen), COUNTERS)
        self._maxima = {name: np.zeros(len(self._chosen), np.int64) for name in MAXIMA}
        self._least = {s.field: np.full(len(self._chosen), np.inf) for s in SAMPLES}
        self._greatest = {s.field: np.full(len(self._chosen), -np.inf) for s in SAMPLES}

    def on_tick(self, tick: Tick) -> Columns | None:
        """One row a NIC whose EnableTransportStats is true, in order of node id."""
        if not len(self._chosen):
            return None
        now = tick.counters[self._chosen]  # fancy indexing: a copy
        columns: dict[str, Any] = {"sim_time_sec": seconds(tick.time_ps), "component_name": self._names,
                                   "fep_id": self._fep_id}
        for name in COUNTER_COLUMNS:
            columns[name], columns["ivl_" + name] = self._counter(name, now)
        for sample in SAMPLES:
            columns.update(self._sample(sample, now))
        self._previous = now
        return columns

    def _counter(self, name: str, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values since the start and since the previous row."""
        if name in MAXIMA:
            interval = np.maximum(now["ivl_" + name], 0)
            self._maxima[name] = np.maximum(self._maxima[name], interval)
            return self._maxima[name], interval
        parts = SUM_OF.get(name, (name,))
        total = sum((now[part] for part in parts), np.zeros(len(now), np.int64))
        before = sum((self._previous[part] for part in parts), np.zeros(len(now), np.int64))
        return total, total - before

    def _sample(self, sample: Sample, now: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of one block of samples."""
        field, sums, previous = sample.field, now[f"{sample.field}_sum"], self._previous
        total, count = now[sample.samples], now[sample.samples] - previous[sample.samples]
        any_total, any_count = total > 0, count > 0
        low, high = now[f"ivl_{field}_min"], now[f"ivl_{field}_max"]
        self._least[field] = np.where(any_count, np.minimum(self._least[field], low), self._least[field])
        self._greatest[field] = np.where(any_count, np.maximum(self._greatest[field], high), self._greatest[field])
        values = {
            (True, LEAST): np.where(any_count, low, 0),
            (True, MEAN): np.where(any_count, (sums - previous[f"{field}_sum"]) / np.maximum(count, 1), 0.0),
            (True, GREATEST): np.where(any_count, high, 0),
            (False, LEAST): np.where(any_total, self._least[field], 0.0),
            (False, MEAN): np.where(any_total, sums / np.maximum(total, 1), 0.0),
            (False, GREATEST): np.where(any_total, self._greatest[field], 0.0),
        }
        return {name: values[interval, kind] / sample.per_unit if sample.per_unit != 1 else values[interval, kind]
                for name, interval, kind in sample.columns}
