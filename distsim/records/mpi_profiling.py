"""`mpi-profiling`: what each rank has done and where its wall time went, every NDStatsReportInterval.

Columns: scala-computing/docs, simulation-output-files, MPI Profiling. Of that page's columns those are written
that have a counterpart in this engine: `cntWhile` calls of the kernel (the main loop), `cntCalcGrantedTime` windows
that the ranks agreed on, `num_processed_events` packet-hops, `timeGather_sec` the exchange, one collective call that
sends and receives and waits for the slowest rank, and `timeEvents_sec` the kernels. The counters of a null-message loop
and the split of sending and receiving have none. `timeRecords_sec` is ours.

Counts and times are totals since the start. They depend on the machine and on the number of ranks: the record stands
outside the equality over ranks.
"""

from __future__ import annotations

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import ND, Shard, Tick

# Column: key of Tick.run, all since the start.
COUNTS = {"cntWhile": "calls", "cntCalcGrantedTime": "windows", "num_processed_events": "hops"}
TIMES = {"timeGather_sec": "exchange_s", "timeEvents_sec": "kernels_s", "timeRecords_sec": "records_s"}

SCHEMA = RecordSchema(
    name="mpi-profiling",
    row_for="each rank",
    written="every NDStatsReportInterval",
    switch="EnableMPIProfiling",
    default=False,
    global_switch=True,
    order=("sim_time_sec", "core"),
    clock=ND,
    wall_clock=True,
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("core", INT, "", "rank"),
        Column("cntWhile", INT, "count", "kernel calls, since the start"),
        Column("cntCalcGrantedTime", INT, "count", "windows agreed with the other ranks, since the start; 0 with one"),
        Column("num_processed_events", INT, "count", "packet-hops simulated, since the start"),
        Column("timeGather_sec", FLOAT, "s", "wall time in exchanges, waiting included, since the start"),
        Column("timeEvents_sec", FLOAT, "s", "wall time in kernels, since the start"),
        Column("timeRecords_sec", FLOAT, "s", "wall time in records, up to this instant's (ours)"),
    ),
)


class MpiProfiling(Record):
    """Keeps nothing: the figures are totals."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._job, self._rank = shard.simulation, shard.index

    def on_tick(self, tick: Tick) -> Columns | None:
        """The rank's row."""
        return {"job_id": self._job, "sim_time_sec": seconds(tick.time_ps), "core": [self._rank],
                **{column: int(tick.run.get(key, 0)) for column, key in COUNTS.items()},
                **{column: float(tick.run.get(key, 0)) for column, key in TIMES.items()}}
