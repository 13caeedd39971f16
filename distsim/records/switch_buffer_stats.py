"""`scala-switch-agg-buff-stats`, `scala-switch-buff-stats`: shared buffers, every BufferStatsReportInterval.

Columns: scala-computing/docs, simulation-output-files, Switch Buffer Statistics and Per-Port Switch Buffer Statistics;
what a row holds: models/scala-switch/packet-handling, Records a simulation writes. One switch of ours turns both on.

scala-switch-agg-buff-stats has five rows a pool: the egress queues of uplink and of downlink ports, what came in by
uplink and by downlink ports, and the whole pool. A sample is taken at every change of the bytes held. Decisions:
`buffer_limit` is the pool's size in every row. `total_bytes` is the sum of all samples since the start: the page calls
it the bytes that passed through, but in its example row it is ivl_count times ivl_mean_bytes. The `_pct_` columns are
percentages of the pool's size, as in the example row, where the page's table says fraction. An interval without a
sample has ivl_count 0 and the bytes held throughout as its least, greatest and mean.

scala-switch-buff-stats differs from its page: instead of samples a port it has the bytes that a pool holds at the
instant of the row, counted as packets come in (ingressUsage) and as they queue for transmission (egressQueue), over all
ports; so it has no `ifid` nor `ivl_` columns, `uldl` is ``-``, and `bytes` and `pct_util` are ours.

Bytes held in a port's headroom belong to no pool and are not counted. Only pools that a class uses have rows;
`pool_num` is the number of the pool in the switch's attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import SWITCH_BUFFERS, Shard, Tick
from distsim.state.tables import B_IN_DOWN, B_IN_UP, B_OUT_DOWN, B_OUT_UP, B_POOL

UP, DOWN, ALL = "ul", "dl", "-"
# The rows of a pool: kind of sample, buff_id, uldl.
KINDS = (
    (B_OUT_UP, "egressQueue", UP), (B_OUT_DOWN, "egressQueue", DOWN),
    (B_IN_UP, "ingressUsage", UP), (B_IN_DOWN, "ingressUsage", DOWN),
    (B_POOL, "sharedBuffer", ALL),
)
# The rows of a pool now: buff_id, field of BUFFER.
NOW = (("egressQueue", "out_bytes"), ("ingressUsage", "in_bytes"))

_WHO = (
    Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
    Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
    Column("component_name", TEXT, "", "name of the switch"),
    Column("tier", INT, "", "0 spine, 1 fabric, 2 rack"),
    Column("node_id", INT, "", "node id of the switch"),
)
_ORDER = ("sim_time_sec", "node_id", "pool_num", "buff_id", "uldl")

AGGREGATE = RecordSchema(
    name="scala-switch-agg-buff-stats",
    row_for="each switch, pool and kind of use",
    written="every BufferStatsReportInterval",
    switch="EnableSwitchBufferStats",
    default=False,
    global_switch=True,
    order=_ORDER,
    clock=SWITCH_BUFFERS,
    component="node_id",
    columns=(
        *_WHO,
        Column("buff_id", TEXT, "", "egressQueue, ingressUsage or sharedBuffer"),
        Column("uldl", TEXT, "", "ports counted: ul towards the spines, dl away from them, - all"),
        Column("pool_num", INT, "", "number of the pool"),
        Column("total_bytes", INT, "B", "sum of all samples, since the start"),
        Column("buffer_limit", INT, "B", "size of the pool"),
        Column("ivl_count", INT, "count", "samples since the previous row"),
        Column("ivl_min_bytes", INT, "B", "least bytes held, since the previous row"),
        Column("ivl_max_bytes", INT, "B", "greatest bytes held, since the previous row"),
        Column("ivl_mean_bytes", FLOAT, "B", "mean of the samples, since the previous row"),
        Column("ivl_max_pct_util", FLOAT, "%", "ivl_max_bytes of the pool's size"),
        Column("ivl_mean_pct_util", FLOAT, "%", "ivl_mean_bytes of the pool's size"),
    ),
)

PRESENT = RecordSchema(
    name="scala-switch-buff-stats",
    row_for="each switch, pool and side of the switch",
    written="every BufferStatsReportInterval",
    switch="EnableSwitchBufferStats",
    default=False,
    global_switch=True,
    order=_ORDER,
    clock=SWITCH_BUFFERS,
    component="node_id",
    columns=(
        *_WHO,
        Column("buff_id", TEXT, "", "egressQueue: queued or being sent; ingressUsage: come in and not yet sent"),
        Column("uldl", TEXT, "", "always -: all ports"),
        Column("pool_num", INT, "", "number of the pool"),
        Column("buff_limit", INT, "B", "size of the pool"),
        Column("bytes", INT, "B", "bytes held at the instant of the row (ours)"),
        Column("pct_util", FLOAT, "%", "bytes of the pool's size (ours)"),
    ),
)


class _Pools:
    """The pools in use of a shard's switches: (row of the switch, slot) of each, ascending, and who they are."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._who: dict[str, Any] | None = None
        self.at: tuple[np.ndarray, ...] = ()

    def who(self, tick: Tick, rows: int) -> dict[str, Any]:
        """The identity columns with `rows` rows a pool; found at the first tick, since pools never change size."""
        if self._who is None:
            shard = self._shard
            self.at = np.nonzero(tick.buffers["size_bytes"] > 0)
            switch, slot = self.at
            pools = np.asarray(shard.switch_pools, np.int64)
            names = [name for row in switch.tolist() for name in [shard.switch_name[row]] * rows]
            self._who = {"component_name": names,
                         "tier": np.repeat(np.asarray(shard.switch_tier, np.int64)[switch], rows),
                         "node_id": np.repeat(np.asarray(shard.switch_node_id, np.int64)[switch], rows),
                         "pool_num": np.repeat(pools[switch, slot] if len(pools) else slot, rows)}
        return self._who


class SwitchAggBuffStats(Record):
    """Keeps the sums and counts of the previous row."""

    schema = AGGREGATE

    def __init__(self, shard: Shard) -> None:
        self._pools = _Pools(shard)
        self._samples: np.ndarray | None = None
        self._sum_bytes: np.ndarray | None = None

    def on_tick(self, tick: Tick) -> Columns | None:
        """Five rows a pool, in order of (node id, pool).

        BUFFER_STATS: samples and their sum since the start, extremes of the interval (the engine resets them).
        """
        who = self._pools.who(tick, len(KINDS))
        if not len(self._pools.at[0]):
            return None
        kinds = [kind for kind, _, _ in KINDS]
        found = tick.buffer_stats[self._pools.at][:, kinds].reshape(-1)
        size = np.repeat(tick.buffers["size_bytes"][self._pools.at], len(KINDS))
        count, total = found["samples"], found["sum_bytes"]
        samples = count - (0 if self._samples is None else self._samples)
        sum_bytes = total - (0 if self._sum_bytes is None else self._sum_bytes)
        self._samples, self._sum_bytes = count.copy(), total.copy()
        any_sample, now = samples > 0, found["now_bytes"]
        most = np.where(any_sample, found["most_bytes"], now)
        mean = np.where(any_sample, sum_bytes / np.maximum(samples, 1), now)
        pools = len(size) // len(KINDS)
        return {
            **who, "sim_time_sec": seconds(tick.time_ps),
            "buff_id": [name for _, name, _ in KINDS] * pools, "uldl": [way for _, _, way in KINDS] * pools,
            "total_bytes": total.astype(np.int64), "buffer_limit": size, "ivl_count": samples,
            "ivl_min_bytes": np.where(any_sample, found["least_bytes"], now), "ivl_max_bytes": most,
            "ivl_mean_bytes": mean, "ivl_max_pct_util": 100 * most / size, "ivl_mean_pct_util": 100 * mean / size,
        }


class SwitchBuffStats(Record):
    """Keeps who the pools are."""

    schema = PRESENT

    def __init__(self, shard: Shard) -> None:
        self._pools = _Pools(shard)

    def on_tick(self, tick: Tick) -> Columns | None:
        """Two rows a pool, in order of (node id, pool)."""
        who = self._pools.who(tick, len(NOW))
        found = tick.buffers[self._pools.at]
        if not len(found):
            return None
        size = np.repeat(found["size_bytes"], len(NOW))
        held = np.stack([found[name] for _, name in NOW], axis=1).reshape(-1)
        return {
            **who, "sim_time_sec": seconds(tick.time_ps), "buff_id": [name for name, _ in NOW] * len(found),
            "uldl": ALL, "buff_limit": size, "bytes": held, "pct_util": 100 * held / size,
        }
