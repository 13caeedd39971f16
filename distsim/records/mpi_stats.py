"""`mpi-stats`: what each rank exchanged with the others, every NDStatsReportInterval.

Columns: scala-computing/docs, simulation-output-files, MPI Statistics. Differences from that page: `core`, the rank, is
ours, so that rows of several shards can be told apart; `mpi_bytes_tx` is ours; `mpi_app_tag_tx` and `mpi_app_tag_rx`
are left out, since no message between ranks belongs to an application. A rank talks to the others only in the exchange
at the end of a window, in which every rank sends to and receives from all: one transaction each way. What crosses is
packets on links between ranks and the notices between dependent operations; both count as packets.

The figures depend on the number of ranks and on the partition: the record stands outside the equality over ranks.
"""

from __future__ import annotations

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import ND, Shard, Tick

# Column: key of Tick.run, all since the start.
FIGURES = {
    "mpi_pkt_tx": "packets_sent",
    "mpi_pkt_rx": "packets_received",
    "mpi_tr_tx": "windows",
    "mpi_tr_rx": "windows",
    "mpi_null": "idle_windows",
    "mpi_bytes_tx": "bytes_sent",
}

SCHEMA = RecordSchema(
    name="mpi-stats",
    row_for="each rank",
    written="every NDStatsReportInterval",
    switch="EnableMPIStats",
    default=False,
    global_switch=True,
    order=("sim_time_sec", "core"),
    clock=ND,
    wall_clock=True,
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("core", INT, "", "rank (ours)"),
        Column("mpi_pkt_tx", INT, "packets", "packets and notices sent to other ranks, since the start"),
        Column("mpi_pkt_rx", INT, "packets", "packets and notices received from other ranks, since the start"),
        Column("mpi_tr_tx", INT, "count", "exchanges this rank sent in, since the start; 0 with one rank"),
        Column("mpi_tr_rx", INT, "count", "exchanges this rank received in, since the start: the same"),
        Column("mpi_null", INT, "count", "exchanges in which this rank had nothing to send, since the start"),
        Column("mpi_bytes_tx", INT, "B", "bytes of packets and notices sent to other ranks, since the start (ours)"),
    ),
)


class MpiStats(Record):
    """Keeps nothing: the figures are totals."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._job, self._rank = shard.simulation, shard.index

    def on_tick(self, tick: Tick) -> Columns | None:
        """The rank's row."""
        return {"job_id": self._job, "sim_time_sec": seconds(tick.time_ps), "core": [self._rank],
                **{column: int(tick.run.get(key, 0)) for column, key in FIGURES.items()}}
