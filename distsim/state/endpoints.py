"""Tables of the NICs on one rank: operations, messages, notices, pending operations."""

from __future__ import annotations

import numpy as np

from ..fabric.types import NIC
from ..workload.types import ON_RECV_DONE
from . import tables as t
from .allocate import zeros
from .model import Model
from .network import Placement


def runs(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The numbers first[k] .. first[k] + count[k] - 1 for every k, one after another. i8."""
    total = int(count.sum())
    begin = np.cumsum(count) - count
    return np.repeat(first - begin, count) + np.arange(total)


def nics_table(model: Model, here: Placement) -> np.ndarray:
    """NICROW rows, in order of node row."""
    ids = here.nodes[model.fabric.nodes["kind"][here.nodes] == NIC]
    ops, messages = model.messages.ops, model.messages
    rows = zeros(len(ids), t.NICROW)
    rows["node"] = here.row_of[ids]
    rows["port"] = here.port_of[model.routes.up_link[ids]]
    for name in ("ready_head", "ready_tail", "pdc_head", "pdc_tail"):
        rows[name] = -1
    for name in ("rto_ps", "data_ps", "handoff_ps", "held_ps", "pass_ps", "wake_ps", "fail_ps", "police_ps",
                 "release_ps"):
        rows[name] = t.INF_PS
    rows["up_read_ps"] = rows["wait_head"] = rows["wait_tail"] = -1
    par = model.nicpar[model.nic_param[ids]]
    rows["turn_class"] = t.NIC_CONTROL
    rows["turn_left"] = np.where(par["scheduling"] == t.S_WEIGHTED, par["weight_1"], 1)
    rows["op_first"] = np.searchsorted(ops["host"], ids)
    rows["op_count"] = np.searchsorted(ops["host"], ids, side="right") - rows["op_first"]
    rows["op_begin"] = np.cumsum(rows["op_count"]) - rows["op_count"]
    receivers = ops["dst"][messages.rx_op]
    rows["rx_first"] = np.searchsorted(receivers, ids)
    rows["rx_count"] = np.searchsorted(receivers, ids, side="right") - rows["rx_first"]
    rows["rx_begin"] = np.cumsum(rows["rx_count"]) - rows["rx_count"]
    rows["next_tx_id"] = 1
    rows["next_rx_id"] = 32769
    return rows


def ops_table(model: Model, here: Placement, nics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """OP rows of this rank's NICs and the global id of each."""
    ids = runs(nics["op_first"].astype("i8"), nics["op_count"].astype("i8"))
    source = model.messages.ops[ids]
    rows = zeros(len(ids), t.OP)
    rows["global_op"] = ids
    rows["kind"] = source["kind"]
    rows["any_of"] = source["any_of"]
    rows["nic"] = np.repeat(np.arange(len(nics)), nics["op_count"])
    rows["dst"] = source["dst"]
    rows["rx_message"] = model.messages.rx_message[ids]
    rows["deps_left"] = source["deps"]
    rows["length_bytes"] = source["size_bytes"]
    rows["user_id"] = source["user_id"]
    rows["ready_ps"] = source["start_ps"] + model.start_ps
    rows["state"] = np.where(source["deps"] == 0, t.OP_QUEUED, t.OP_WAITING)
    rows["pdc"] = rows["wait_next"] = -1
    rows["monitor_ps"] = t.INF_PS
    return rows, ids


def rxmsg_table(model: Model, nics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RXMSG rows of this rank's NICs and the global op of each."""
    ids = runs(nics["rx_first"].astype("i8"), nics["rx_count"].astype("i8"))
    rows = np.zeros(len(ids), t.RXMSG)
    rows["pdc"] = -1
    rows["last"] = -1
    rows["op"] = model.messages.rx_op[ids]
    rows["monitor_ps"] = t.INF_PS
    return rows, rows["op"].astype("i8")


def edges_table(model: Model, here: Placement, ops: np.ndarray, op_ids: np.ndarray, rxmsg: np.ndarray,
                rx_ops: np.ndarray) -> np.ndarray:
    """EDGE rows told by this rank; fills the slices of `ops` and `rxmsg`."""
    edges = model.messages.edges
    received = edges["when"] == ON_RECV_DONE
    at_send, at_recv = edges[~received], edges[received]
    parts: list[np.ndarray] = []
    offset = 0
    for table, ids, chosen in ((ops, op_ids, at_send), (rxmsg, rx_ops, at_recv)):
        first = np.searchsorted(chosen["src"], ids)
        count = np.searchsorted(chosen["src"], ids, side="right") - first
        table["edge_begin"] = offset + np.cumsum(count) - count
        table["edge_count"] = count
        parts.append(chosen["dst"][runs(first, count)])
        offset += len(parts[-1])
    told = np.concatenate(parts).astype("i8")
    rows = np.zeros(len(told), t.EDGE)
    rows["op"] = told
    host = model.messages.ops["host"][told]
    rows["node"] = host
    local = here.row_of[host]
    nic_of_row = np.full(len(here.nodes) + 1, -1, "i8")
    nic_rows = np.flatnonzero(model.fabric.nodes["kind"][here.nodes] == NIC)
    nic_of_row[nic_rows] = np.arange(len(nic_rows))
    rows["nic"] = np.where(local >= 0, nic_of_row[local], -1)
    last = np.array([first + count - 1 for first, count in here.departures], "i8")
    rows["departures"] = last[here.owner[host]]
    return rows


def pending_table(model: Model, nics: np.ndarray, ops: np.ndarray, op_ids: np.ndarray) -> np.ndarray:
    """PENDING rows: every NIC's slice holds all it can ever have pending; filled with what waits for nothing."""
    fan_in = np.bincount(model.messages.edges["dst"], minlength=len(model.messages.ops))[op_ids]
    room = np.where(ops["any_of"] != 0, np.maximum(fan_in, 1), 1)
    per_nic = np.bincount(ops["nic"], weights=room, minlength=len(nics)).astype("i8")
    nics["heap_room"] = per_nic
    nics["heap_begin"] = np.cumsum(per_nic) - per_nic
    rows = np.zeros(max(1, int(per_nic.sum())), t.PENDING)
    queued = np.flatnonzero(ops["state"] == t.OP_QUEUED)
    queued = queued[np.lexsort([queued, ops["ready_ps"][queued], ops["nic"][queued]])]
    sizes = np.bincount(ops["nic"][queued], minlength=len(nics))
    nics["heap_size"] = sizes
    at = runs(nics["heap_begin"].astype("i8"), sizes.astype("i8"))
    rows["time_ps"][at] = ops["ready_ps"][queued]
    rows["op"][at] = queued
    return rows

