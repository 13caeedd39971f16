"""Small random simulations, and ways to run them that must all give the same results.

`run_windows` is the product's loop on one or several ranks inside this process, with every freedom it has: extra window
ends, visiting order, forced re-entry, table sizes, lazy or eager switches, any partition. `run_oracle` is a plain
global-queue driver: one instant at a time, every port end an event, nothing lazy. `outcome` is what must be equal.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from simmodels import (
    JOIN,
    feature_nic,
    feature_switch,
    make_fabric,
    make_model,
    make_workload,
    random_feature_model,
    random_model,
    random_nic,
    random_switch,
    with_faults,
)

from distsim.fabric.types import NIC
from distsim.fault_steps import FaultSteps, lost_by_link
from distsim.kernels import entry, nic, shared, status, switch
from distsim.kernels.handle import Holder
from distsim.kernels.mode import COMPILED
from distsim.kernels.native import load_kernels
from distsim.parallel.comm import Serial
from distsim.parallel.exchange import Exchange
from distsim.records.nd_stats import port_counters
from distsim.state import tables as t
from distsim.state.allocate import POOL_TABLE, cell, set_cell, to_array
from distsim.state.build import build, reset_extremes
from distsim.state.model import Model

FOREVER = 1 << 60
KERNELS = load_kernels()


# ---- what must be equal ------------------------------------------------------------------------------------------
@dataclass
class Outcome:
    """Results by entity, in an order that no rank or table decides."""

    ticks: list[Any] = field(default_factory=list)
    perf: list[Any] = field(default_factory=list)
    nics: dict[int, Any] = field(default_factory=dict)
    ports: dict[int, Any] = field(default_factory=dict)
    ops: dict[int, Any] = field(default_factory=dict)
    tables: dict[Any, Any] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)

    def differs(self, other: Outcome) -> str:
        """The first difference, or an empty string."""
        for name in ("totals", "perf", "ops", "nics", "ports", "tables", "ticks"):
            a, b = getattr(self, name), getattr(other, name)
            if a != b:
                keys = a if isinstance(a, dict) else range(max(len(a), len(b)))
                for key in keys:
                    x = a.get(key) if isinstance(a, dict) else a[key] if key < len(a) else None
                    y = b.get(key) if isinstance(b, dict) else b[key] if key < len(b) else None
                    if x != y:
                        return f"{name}[{key}]: {x} != {y}"
                return f"{name} differ"
        return ""


COMMON = ("hops", "created", "delivered", "trimmed", "dropped", "ties", "ops_done", "ops_started", "sends_done",
          "recvs_done")
PORT_FIGURES = ("tx_packets", "tx_bytes", "tx_drops", "trims", "ecn_marks", "draws", "ecn_average", "queued", "free_ps")


class Rank:
    """One shard in this process."""

    def __init__(self, model: Model, owner: np.ndarray, rank: int, least: bool = False) -> None:
        state, self.here = build(model, owner, rank, twin=not COMPILED, least=least)
        self.model = model
        self.holder = Holder(state)
        self.exchange = Exchange(Serial(), self.here, self.holder, KERNELS)
        self.faults = FaultSteps(model, self.here, self.holder, KERNELS)

    @property
    def ref(self) -> Any:
        return self.holder.ref

    def grow(self) -> None:
        number = cell(self.holder.state.clock, 0, "need")
        table = getattr(self.holder.state, POOL_TABLE[number])
        self.holder.ensure_room(number, len(table) + cell(self.holder.state.pools, number, "margin") + 700)

    def nic_ids(self) -> np.ndarray:
        kinds = self.model.fabric.nodes["kind"][self.here.nodes]
        return self.here.nodes[kinds == NIC]

    def settle(self, time_ps: int) -> None:
        """What has happened by itself at the NICs before an instant."""
        while KERNELS.settle_nics(self.ref, time_ps, 1 << 40) == status.NEED:
            self.grow()

    def fail_until(self, time_ps: int) -> None:
        """Faults up to an instant."""
        while self.faults.next_ps <= time_ps:
            self.settle(self.faults.next_ps)
            self.faults.apply()

    def snapshot(self, time_ps: int) -> tuple[dict, dict]:
        """Counters by NIC and port figures by link at a tick; starts a new interval."""
        self.settle(time_ps)
        counters = to_array(self.holder.state.counters, t.COUNTERS).copy()
        ports = to_array(self.holder.state.ports, t.PORT)
        ins = to_array(self.holder.state.ins, t.IN)
        reverse = self.model.fabric.links["reverse"][self.here.ports]
        figures = port_counters(ports, ins[self.here.in_of[reverse]], time_ps)
        found = ({int(i): row.item() for i, row in zip(self.nic_ids(), counters, strict=False)},
                 {int(link): row.item() for link, row in zip(self.here.ports, figures, strict=True)})
        fresh = counters.copy()
        reset_extremes(fresh)
        for k in range(len(fresh)):
            for name in t.COUNTERS.names:
                if name.startswith("ivl_"):
                    set_cell(self.holder.state.counters, k, name, fresh[name][k].item())
        return found

    def add_to(self, out: Outcome) -> None:
        """Final figures of this shard."""
        state = self.holder.state
        for name in COMMON:
            out.totals[name] = out.totals.get(name, 0) + cell(state.clock, 0, name)
        out.totals["alive"] = out.totals.get("alive", 0) + cell(state.pools, t.P_PACKET, "used")
        rows = to_array(state.perf, t.PERF)[:cell(state.pools, t.P_PERF, "used")]
        out.perf = sorted([*out.perf, *(row.item() for row in rows)])
        for row in to_array(state.ops, t.OP)[:int(to_array(state.nics, t.NICROW)["op_count"].sum())]:
            figures = (row[name].item() for name in ("state", "ready_ps", "done_ps", "rtx_packets"))
            out.ops[int(row["global_op"])] = tuple(figures)
        for i, row in zip(self.nic_ids(), to_array(state.counters, t.COUNTERS), strict=False):
            out.nics[int(i)] = row.item()
        for row in to_array(state.ports, t.PORT):
            out.ports[int(row["link"])] = tuple(row[name].item() for name in PORT_FIGURES)
        for link, lost in lost_by_link(state, self.here).items():
            before = out.tables.get(f"lost {link}", (0, 0))
            out.tables[f"lost {link}"] = (before[0] + lost[0], before[1] + lost[1])
        log = to_array(state.oplog, t.OPLOG)[:cell(state.pools, t.P_OPLOG, "used")]
        out.tables["oplog"] = sorted([*out.tables.get("oplog", []), *(row.item() for row in log)])
        self.add_tables(out)

    def add_tables(self, out: Outcome) -> None:
        """What only records read, by entity; rows of logs by node, in the order in which they were written."""
        state = self.holder.state
        for name, dtype, pool in (("events", t.EVENT, t.P_EVENT), ("monitor", t.MONITOR, t.P_MONITOR)):
            for row in to_array(getattr(state, name), dtype)[:cell(state.pools, pool, "used")]:
                out.tables.setdefault(f"{name} {row['node']}", []).append(row.item())
        stats = int(np.bitwise_or.reduce(self.model.nicpar["stats"]))
        kept = (("buff", t.BUFF, t.NIC_BUFFERS, t.STAT_BUFFERS), ("pcie", t.PCIE, t.PCIE_ENDS, t.STAT_PCIE))
        for name, dtype, width, bit in kept:
            if not stats & bit:
                continue
            rows = to_array(getattr(state, name), dtype)
            for k, node in enumerate(self.nic_ids()):
                out.tables[f"{name} {node}"] = rows[k * width:(k + 1) * width].tolist()
        pfc = to_array(state.pfc, t.PFC)
        if len(pfc) == len(self.here.ports) * t.QUEUES and self.model.pauses:
            for k, link in enumerate(self.here.ports):
                out.tables[f"pfc {link}"] = pfc[k * t.QUEUES:(k + 1) * t.QUEUES].tolist()


def finish(ranks: list[Rank], ticks: list[Any], stop_ps: int) -> Outcome:
    out = Outcome(ticks=ticks)
    for rank in ranks:
        rank.settle(stop_ps)
        rank.add_to(out)
    return out


def tick_all(ranks: list[Rank], time_ps: int) -> Any:
    nics: dict = {}
    ports: dict = {}
    for rank in ranks:
        a, b = rank.snapshot(time_ps)
        nics |= a
        ports |= b
    return time_ps, dict(sorted(nics.items())), dict(sorted(ports.items()))


# ---- drivers -----------------------------------------------------------------------------------------------------
def run_windows(model: Model, owner: np.ndarray | None = None, *, seed: int | None = None, least: bool = False,
                tick_ps: int = 20_000_000, stop_ps: int = FOREVER, check: Any = None) -> Outcome:
    """The product's loop. `seed`: random extra window ends, visiting order and re-entry. `check`: called with each
    rank after every window."""
    owner = np.zeros(len(model.fabric.nodes), "i4") if owner is None else owner
    ranks = [Rank(model, owner, r, least) for r in range(int(owner.max()) + 1)]
    rng = random.Random(seed)
    ticks, next_tick = [], model.start_ps + tick_ps
    while True:
        nearest = min(KERNELS.next_event_ps(rank.ref) for rank in ranks)
        while next_tick <= min(nearest, stop_ps - 1) and nearest < FOREVER:
            for rank in ranks:
                rank.fail_until(next_tick - 1)
            ticks.append(tick_all(ranks, next_tick))
            next_tick += tick_ps
        if nearest >= FOREVER:
            ticks.append(tick_all(ranks, next_tick))
        if nearest >= min(stop_ps, FOREVER):
            return finish(ranks, ticks, stop_ps)
        for rank in ranks:
            rank.fail_until(nearest)
        end = min(nearest + ranks[0].here.window_ps, next_tick, ranks[0].faults.next_ps, stop_ps)
        if seed is not None and rng.random() < 0.7:
            end = min(end, nearest + rng.choice([1, 1000, 84_040, 500_000, 3_000_000]))
        for rank in rng.sample(ranks, len(ranks)) if seed is not None else ranks:
            run_rank(rank, end, rng if seed is not None else None)
        swap_packets(ranks, end)
        if check is not None:
            for rank in ranks:
                check(rank)


def run_rank(rank: Rank, end_ps: int, rng: random.Random | None) -> None:
    while True:
        if rng is not None:
            shuffle_order(rank, rng)
        budget = rng.choice([1, 2, 7, 50, 100_000]) if rng is not None else 1_000_000
        code = KERNELS.run_window(rank.ref, end_ps, budget)
        assert code != status.FAULT, status.FAULT_TEXT[cell(rank.holder.state.clock, 0, "fault")]
        if code == status.OK:
            return
        if code == status.NEED:
            rank.grow()


def shuffle_order(rank: Rank, rng: random.Random) -> None:
    """Visit the nodes of every lowest unit in another order."""
    for unit in to_array(rank.holder.state.units, t.UNIT):
        if unit["level"] == 1:
            first, count = int(unit["first"]), int(unit["count"])
            place = rng.sample(range(first, first + count), count)
            for k, row in zip(range(first, first + count), place, strict=True):
                rank.holder.state.order[k] = row


def swap_packets(ranks: list[Rank], end_ps: int) -> None:
    """What an Alltoallv does."""
    sent = [rank.exchange.departures() for rank in ranks]
    for to, rank in enumerate(ranks):
        parts = [buffer[sum(counts[:to]):sum(counts[:to + 1])] for buffer, counts in sent if counts[to]]
        for part in parts:
            rank.exchange.accept(part.copy(), end_ps)
        assert cell(rank.holder.state.clock, 0, "fault") == 0


def run_oracle(model: Model, *, seed: int = 0, tick_ps: int = 20_000_000, stop_ps: int = FOREVER) -> Outcome:
    """A global queue of (time, node): everything due at one instant, node by node, with ports served as events."""
    rng = random.Random(seed)
    rank = Rank(model, np.zeros(len(model.fabric.nodes), "i4"), 0)
    nodes = len(rank.here.nodes)
    for k in range(nodes):
        if cell(rank.holder.state.nodes, k, "shared"):
            set_cell(rank.holder.state.nodes, k, "eager", 1)
    kinds = [cell(rank.holder.state.nodes, k, "kind") for k in range(nodes)]
    queue: list[tuple[int, float, int]] = []
    queued = [FOREVER] * nodes
    ticks, next_tick = [], model.start_ps + tick_ps

    def look(k: int) -> None:
        at = int(rank.holder.state.next_ps[k])
        if at < queued[k]:
            queued[k] = at
            heapq.heappush(queue, (at, rng.random(), k))

    for k in range(nodes):
        look(k)
    while queue and queue[0][0] < min(stop_ps, FOREVER):
        now, _, k = heapq.heappop(queue)
        if queued[k] != now:
            continue
        queued[k] = FOREVER
        if int(rank.holder.state.next_ps[k]) > now:      # what it waited for is off
            look(k)
            continue
        while next_tick <= now:
            rank.fail_until(next_tick - 1)
            ticks.append(tick_all([rank], next_tick))
            next_tick += tick_ps
        rank.fail_until(now)
        set_cell(rank.holder.state.clock, 0, "end_ps", now)
        set_cell(rank.holder.state.clock, 0, "budget", 1 << 40)
        if kinds[k] == NIC:
            nic_instant(rank, k, now)
        else:
            switch_instant(rank, k, now)
        assert cell(rank.holder.state.clock, 0, "fault") == 0
        for other in range(nodes):
            look(other)
    pending = min(int(at) for at in rank.holder.state.next_ps) < FOREVER
    while pending and next_tick < stop_ps:
        ticks.append(tick_all([rank], next_tick))
        next_tick += tick_ps
    if not pending:
        ticks.append(tick_all([rank], next_tick))
    return finish([rank], ticks, stop_ps)


def nic_instant(rank: Rank, k: int, now_ps: int) -> None:
    set_cell(rank.holder.state.clock, 0, "need", -1)
    while not nic.run_nic(rank.ref, k, now_ps + 1):
        rank.grow()
        set_cell(rank.holder.state.clock, 0, "need", -1)


def switch_instant(rank: Rank, k: int, now_ps: int) -> None:
    """Ends and starts of ports, then arrivals by in-link, until nothing is due."""
    if cell(rank.holder.state.nodes, k, "shared"):
        set_cell(rank.holder.state.clock, 0, "need", -1)
        while not shared.run_shared(rank.ref, k, now_ps + 1):
            rank.grow()
            set_cell(rank.holder.state.clock, 0, "need", -1)
        return
    while True:
        due = int(switch.port_end_of(rank.ref, k))
        arrival, link = switch.arrival_of(rank.ref, k)
        rank.holder.state.next_ps[k] = min(due, arrival)
        if min(due, arrival) > now_ps:
            return
        if due == now_ps:
            switch.serve_due(rank.ref, k, now_ps)
        else:
            switch.take_one(rank.ref, k, link, now_ps)


__all__ = [
    "JOIN", "entry", "feature_nic", "feature_switch", "make_fabric", "make_model", "make_workload",
    "random_feature_model", "random_model", "random_nic", "random_switch", "run_oracle", "run_windows",
    "with_faults",
]
