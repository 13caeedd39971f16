"""The records there are. To add one: its file, and its class here."""

from __future__ import annotations

from distsim.records.chakra.schemas import SCHEMAS as _CHAKRA
from distsim.records.cpu_mem_stats import CpuMemStats
from distsim.records.ecn_pfc_stats import EcnPfcStats
from distsim.records.mpi_profiling import MpiProfiling
from distsim.records.mpi_stats import MpiStats
from distsim.records.nd_stats import NdStats
from distsim.records.net_buff_stats import NetBuffStats
from distsim.records.pcie_stats import PcieStats
from distsim.records.perf import Perf
from distsim.records.schema import Record, RecordSchema
from distsim.records.switch_buffer_stats import SwitchAggBuffStats, SwitchBuffStats
from distsim.records.tier_hop import TierHop
from distsim.records.topology_report import TopologyReport
from distsim.records.uet_events import UetEvents
from distsim.records.uet_monitor import UetMonitor
from distsim.records.uet_transport_stats import UetTransportStats

_CLASSES: tuple[type[Record], ...] = (
    UetTransportStats, NdStats, EcnPfcStats, Perf, NetBuffStats, UetEvents, UetMonitor, PcieStats,
    TopologyReport, TierHop, MpiStats, MpiProfiling, CpuMemStats, SwitchAggBuffStats, SwitchBuffStats,
)
RECORDS: dict[str, type[Record]] = {record.schema.name: record for record in _CLASSES}

# Records that are equal for every number of ranks: all but those that hold figures of the machine.
COMPARED: tuple[str, ...] = tuple(name for name, record in RECORDS.items() if not record.schema.wall_clock)

# All files of rows that a run may leave: those of every rank, and those that rank 0 writes of a workload of ranks.
SCHEMAS: dict[str, RecordSchema] = {name: record.schema for name, record in RECORDS.items()}
SCHEMAS |= {schema.name: schema for schema in _CHAKRA}
WHOLE_RUN: tuple[str, ...] = tuple(schema.name for schema in _CHAKRA)
