"""The records there are. To add one: its file, and one row here."""

from __future__ import annotations

from distsim.records.nd_stats import NdStats
from distsim.records.perf import Perf
from distsim.records.schema import Record
from distsim.records.uet_transport_stats import UetTransportStats

RECORDS: dict[str, type[Record]] = {
    UetTransportStats.schema.name: UetTransportStats,
    NdStats.schema.name: NdStats,
    Perf.schema.name: Perf,
}
