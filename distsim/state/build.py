"""The state of one rank at time 0, from a model and a partition."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ..workload.types import LOG_OP, SEND
from . import tables as t
from .allocate import set_cell, to_array, to_twin, zeros
from .endpoints import edges_table, nics_table, ops_table, pending_table, rxmsg_table
from .faults import loss_tables
from .model import Model
from .network import (
    Placement,
    flow_tables,
    ins_table,
    nodes_table,
    place,
    ports_table,
    route_tables,
    shared_tables,
)
from .view import DTYPES, State

# Rows at first; every table doubles when it runs short. Untouched rows cost no memory.
PACKETS_PER_NIC, PDCS_PER_NIC = 256, 4
LEAST_PACKETS, LEAST_ROWS = 4096, 1024
WORDS_MARGIN = 1 << 16
RINGS_PER_NIC, LEAST_LOG = 128, 64
LEAST_BUCKETS, MOST_BUCKETS = 16, 1 << 24


def power_of_two(value: int) -> int:
    """Least power of two >= value."""
    return 1 << max(0, int(value - 1).bit_length())


def build(model: Model, owner: np.ndarray, rank: int, *, twin: bool = False,
          least: bool = False) -> tuple[State, Placement]:
    """Tables of this rank.

    owner : i4[nodes], rank of every node. twin : as lists of row objects, for uncompiled kernels. least : start with as
    few rows as possible, so that every table has to grow (tests).
    """
    here = place(model, owner, rank)
    nics = nics_table(model, here)
    ops, op_at = ops_table(model, nics)
    rxmsg, rx_at = rxmsg_table(model, nics)
    edges = edges_table(model, here, ops, op_at, rxmsg, rx_at)
    heap = pending_table(model, nics, ops, op_at)
    nodes = nodes_table(model, here)
    ports = ports_table(model, here)
    next_ps = np.full(len(nodes) + here.ranks, t.INF_PS, "i8")
    busy = np.flatnonzero(nics["heap_size"] > 0)
    next_ps[nics["node"][busy]] = heap["time_ps"][nics["heap_begin"][busy]]
    pools, tables = pool_tables(model, len(nics), ops, rxmsg, least)
    tables |= route_tables(model, here)
    tables |= flow_tables(model, here, nodes, tables["route"])
    ins = ins_table(model, here)
    tables |= loss_tables(model.faults, here.ports, len(ins))
    tables |= shared_tables(model, here, nodes, len(ports)) | record_tables(model, len(nics))
    state = State(
        ports=ports, queues=empty_queues(len(ports)), ins=ins, nodes=nodes, next_ps=next_ps,
        swpar=model.swpar, nicpar=with_attention(model.nicpar), nics=nics,
        group_hash=np.full(buckets(model, nics), -1, "i4"),
        rxmsg=rxmsg, ops=ops, edges=at_least_one(edges), heap=heap, counters=empty_counters(len(nics)), pools=pools,
        works=empty_works(len(nics)), clock=clock_row(model), outbox=np.zeros(1, t.PACKET),
        inbox=np.zeros(1, t.PACKET), in_of_link=here.in_of,
        link_of_in=np.concatenate([here.in_links, here.departing]).astype("i4"),
        keys=np.zeros(int(nodes["in_count"].max(initial=1)) + 1, "i8"), units=here.units,
        order=np.arange(len(nodes), dtype="i4"), **tables)
    if twin:
        state = to_twin(state)
    return state, here


def buckets(model: Model, nics: np.ndarray) -> int:
    """Hash buckets for all groups that this rank's NICs can ever have: one for each peer, at most one a message."""
    messages = int(nics["op_count"].sum() + nics["rx_count"].sum())
    pairs = len(nics) * model.fabric.hosts
    return power_of_two(max(LEAST_BUCKETS, min(messages, pairs, MOST_BUCKETS)))


def at_least_one(rows: np.ndarray) -> np.ndarray:
    """The table, with one zero row if it is empty."""
    return rows if len(rows) else np.zeros(1, rows.dtype)


def empty_queues(ports: int) -> np.ndarray:
    """QUEUE rows of `ports` ports."""
    rows = zeros(ports * t.QUEUES, t.QUEUE)
    rows["head"] = rows["tail"] = -1
    return rows


def empty_counters(nics: int) -> np.ndarray:
    """COUNTERS rows with the interval extremes unset."""
    rows = zeros(max(1, nics), t.COUNTERS)
    reset_extremes(rows)
    return rows


def reset_extremes(rows: np.ndarray) -> None:
    """Start a new interval: no sample yet."""
    for name in rows.dtype.names or ():
        if name.startswith(("ivl_max", "ivl_longest", "ivl_most")):
            rows[name] = 0
        elif name.startswith("ivl_"):
            rows[name] = t.NO_SAMPLE_MIN if name.endswith("_min") else t.NO_SAMPLE_MAX


def reset_after(clock: str, state: State) -> None:
    """Start a new interval of a kind of periodic instant in what counts by interval: no sample yet.

    clock : "nd", "buffers" or "switch-buffers".
    """
    if clock == "nd":
        for name in ("counters", "pfc", "pcie"):
            table = getattr(state, name)
            rows = to_array(table, DTYPES[name]).copy()
            reset_extremes(rows)
            copy_fields(table, rows, [field for field in rows.dtype.names or () if field.startswith("ivl_")])
    elif clock == "buffers":
        rows = to_array(state.buff, t.BUFF).copy()
        rows["ivl_most_bytes"] = rows["now_bytes"]
        copy_fields(state.buff, rows, ["ivl_most_bytes"])
    else:
        rows = to_array(state.buffer_stats, t.BUFFER_STATS).copy()
        rows["least_bytes"], rows["most_bytes"] = t.NO_SAMPLE_MIN, t.NO_SAMPLE_MAX
        copy_fields(state.buffer_stats, rows, ["least_bytes", "most_bytes"])


def close_pauses(state: State, time_ps: int) -> None:
    """End, in the books, the pauses that ran out at or before `time_ps` (a port does so only at its next PFC frame)."""
    rows = to_array(state.pfc, t.PFC)
    over = np.flatnonzero((rows["xoff_since_ps"] >= 0) & (rows["pause_end_ps"] <= time_ps))
    for k in over:
        row = rows[k]
        length = int(row["pause_end_ps"] - row["xoff_since_ps"])
        occupied = int(row["pause_end_ps"] - row["occupied_since_ps"]) if row["occupied_since_ps"] >= 0 else 0
        figures = {"xoff_ps": int(row["xoff_ps"]) + length, "occupied_ps": int(row["occupied_ps"]) + occupied,
                   "ivl_longest_ps": max(int(row["ivl_longest_ps"]), length),
                   "ivl_longest_occupied_ps": max(int(row["ivl_longest_occupied_ps"]), occupied),
                   "xoff_since_ps": -1, "occupied_since_ps": -1}
        for name, value in figures.items():
            set_cell(state.pfc, int(k), name, value)


def copy_fields(table: Any, rows: np.ndarray, names: list[str]) -> None:
    """Write some fields of `rows` into a table of either form."""
    for name in names:
        if isinstance(table, np.ndarray):
            table[name] = rows[name]
        else:
            for row, value in zip(table, rows[name].tolist(), strict=True):
                setattr(row, name, value)


def with_attention(nicpar: np.ndarray) -> np.ndarray:
    """NICPAR rows that say whether charges of the receive pools have to be looked at one by one."""
    rows = nicpar.copy()
    rows["attends"] = (rows["stats"] != 0) | (rows["pfc_0"] != 0) | (rows["pfc_1"] != 0)
    return rows


def clock_row(model: Model) -> np.ndarray:
    row = np.zeros(1, t.CLOCK)
    row["seed"] = model.seed if model.seed < 1 << 31 else zlib.crc32(str(model.seed).encode()) >> 1
    row["trigger_delay_ps"] = model.trigger_delay_ps
    row["need"] = -1
    row["logging"] = logging_bits(model)
    return row


def logging_bits(model: Model) -> int:
    """Which logs are written: CLOCK.logging."""
    packets = bool((model.nicpar["stats"] & (t.STAT_EVENTS | t.STAT_MONITOR)).any())
    return packets + 2 * bool((model.messages.ops["flags"] & LOG_OP).any())


def empty_works(nics: int) -> np.ndarray:
    """WORK rows of NICs that serve nothing."""
    rows = np.zeros(max(1, nics) * t.WORKS, t.WORK)
    rows["head"] = -1
    return rows


def record_tables(model: Model, nics: int) -> dict[str, np.ndarray]:
    """Tables that only records read; one row each where no record is on."""
    stats = int(np.bitwise_or.reduce(model.nicpar["stats"], initial=0))
    watch = model.watch if model.watch is not None else np.zeros(1, t.WATCH)
    return {"buff": np.zeros(max(1, nics if stats & t.STAT_BUFFERS else 0) * t.NIC_BUFFERS, t.BUFF),
            "pcie": np.zeros(max(1, nics if stats & t.STAT_PCIE else 0) * t.PCIE_ENDS, t.PCIE),
            "service": np.zeros(max(1, nics if stats & t.STAT_MONITOR else 0), t.MONITOR), "watch": watch.copy()}


def pool_tables(model: Model, nics: int, ops: np.ndarray, rxmsg: np.ndarray,
                least: bool) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The growing tables and their bookkeeping."""
    notices = most_notices(ops, rxmsg)
    room = {
        t.P_PACKET: max(LEAST_PACKETS, PACKETS_PER_NIC * nics) + notices,
        t.P_GROUP: max(LEAST_ROWS, PDCS_PER_NIC * nics),
        t.P_TX: max(LEAST_ROWS, PDCS_PER_NIC * nics),
        t.P_RX: max(LEAST_ROWS, PDCS_PER_NIC * nics),
        t.P_SLOT: max(LEAST_PACKETS, 256 * nics),
        t.P_WORD: 2 * WORDS_MARGIN,
        t.P_PERF: LEAST_ROWS, t.P_RING: max(LEAST_PACKETS, RINGS_PER_NIC * nics),
        t.P_EVENT: LEAST_ROWS, t.P_MONITOR: LEAST_ROWS, t.P_CHOSEN: LEAST_LOG, t.P_OPLOG: LEAST_ROWS,
    }
    if least:
        room = {number: 1 for number in room}
    pools = np.zeros(t.POOLS, t.POOL)
    pools["free_head"] = -1
    for number, rows in room.items():
        pools["room"][number] = rows
    pools["margin"][t.P_PACKET] = notices
    pools["margin"][t.P_RING] = max(64, int(model.nicpar["reps_room"].max(initial=0)))
    pools["margin"][t.P_WORD] = word_margin(model)
    tables = {
        "packets": zeros(room[t.P_PACKET], t.PACKET), "groups": zeros(room[t.P_GROUP], t.GROUP),
        "tx": zeros(room[t.P_TX], t.TXPDC), "rx": zeros(room[t.P_RX], t.RXPDC),
        "slots": zeros(room[t.P_SLOT], t.SLOT), "words": zeros(room[t.P_WORD], t.WORD),
        "perf": zeros(room[t.P_PERF], t.PERF), "rings": zeros(room[t.P_RING], t.RING),
        "events": zeros(room[t.P_EVENT], t.EVENT), "monitor": zeros(room[t.P_MONITOR], t.MONITOR),
        "chosen": zeros(room[t.P_CHOSEN], t.CHOSEN), "oplog": zeros(room[t.P_OPLOG], t.OPLOG),
    }
    return pools, tables


def most_notices(ops: np.ndarray, rxmsg: np.ndarray) -> int:
    """Most notices that one event can send."""
    told = ops["edge_count"] + ops["sent_count"] + 1
    return int(max(told.max(initial=0), rxmsg["edge_count"].max(initial=0)))


def word_margin(model: Model) -> int:
    """Rows of receive bits that one event can need."""
    ops = model.messages.ops
    longest_bytes = ops["size_bytes"][ops["kind"] == SEND].max(initial=0)
    packets = int(np.ceil(longest_bytes / int(model.nicpar["mss_bytes"].min())))
    return min(WORDS_MARGIN, 2 * power_of_two(packets // 32 + 2) + 2 * t.WORD_RING)
