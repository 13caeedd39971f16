"""Tables of the NICs on one rank: operations, messages, notices, pending operations."""

from __future__ import annotations

import numpy as np

from ..fabric.types import NIC
from ..workload.types import (
    COMPUTE,
    DELAY,
    LOCAL,
    LOCAL_IN,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SEND_DONE,
    ON_SENT,
    TRIGGER_DELAY,
)
from . import tables as t
from .allocate import zeros
from .model import Messages, Model
from .network import Placement

# Entries of the heap that one operation can have at once (`kernels.work.schedule` makes one for every begin and end).
PENDING_OF = {COMPUTE: 3, DELAY: 2, LOCAL: 4, LOCAL_IN: 4}
LOCAL_IN_STEPS = 3            # the first byte leaves, the last byte leaves, all has been taken in


def runs(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The numbers first[k] .. first[k] + count[k] - 1 for every k, one after another. i8."""
    total = int(count.sum())
    begin = np.cumsum(count) - count
    return np.repeat(first - begin, count) + np.arange(total)


def nics_table(model: Model, here: Placement) -> np.ndarray:
    """NICROW rows, in order of node row."""
    ids = here.nodes[model.fabric.nodes["kind"][here.nodes] == NIC]
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
    set_ranges(model.messages, rows, ids)
    rows["next_tx_id"] = 1
    rows["next_rx_id"] = 32769
    return rows


def set_ranges(messages: Messages, rows: np.ndarray, ids: np.ndarray) -> None:
    """Which operations and messages of a phase belong to each NIC: fills NICROW rows. ids : node id of each."""
    for name, hosts, first in (("op", messages.ops["host"], messages.first_op),
                               ("rx", messages.ops["dst"][messages.rx_op], messages.first_rx)):
        begin = np.searchsorted(hosts, ids)
        count = np.searchsorted(hosts, ids, side="right") - begin
        rows[f"{name}_first"] = first + begin
        rows[f"{name}_count"] = count
        rows[f"{name}_begin"] = np.cumsum(count) - count


def ops_table(model: Model, nics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """OP rows of this rank's NICs and the position of each in the phase."""
    messages = model.messages
    at = runs(nics["op_first"].astype("i8") - messages.first_op, nics["op_count"].astype("i8"))
    source = messages.ops[at]
    rows = zeros(len(at), t.OP)
    rows["global_op"] = messages.first_op + at
    for name in ("kind", "any_of", "dst", "user_id", "delay_ps", "work_ps"):
        rows[name] = source[name]
    rows["log_bits"] = source["flags"]
    rows["nic"] = np.repeat(np.arange(len(nics)), nics["op_count"])
    rows["rx_message"] = np.where(messages.rx_message[at] >= 0, messages.first_rx + messages.rx_message[at], -1)
    rows["deps_left"] = np.where(source["kind"] == LOCAL_IN, LOCAL_IN_STEPS, source["deps"])
    rows["length_bytes"] = source["size_bytes"]
    rows["ready_ps"] = source["start_ps"] + model.start_ps
    rows["state"] = np.where(rows["deps_left"] == 0, t.OP_QUEUED, t.OP_WAITING)
    rows["pdc"] = rows["wait_next"] = rows["queue_next"] = -1
    rows["monitor_ps"] = t.INF_PS
    return rows, at


def rxmsg_table(model: Model, nics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RXMSG rows of this rank's NICs and the position of each one's operation in the phase."""
    messages = model.messages
    at = runs(nics["rx_first"].astype("i8") - messages.first_rx, nics["rx_count"].astype("i8"))
    rows = np.zeros(len(at), t.RXMSG)
    rows["pdc"] = -1
    rows["last"] = -1
    ops = messages.rx_op[at].astype("i8")
    rows["op"] = messages.first_op + ops
    rows["monitor_ps"] = t.INF_PS
    return rows, ops


def edges_table(model: Model, here: Placement, ops: np.ndarray, op_at: np.ndarray, rxmsg: np.ndarray,
                rx_at: np.ndarray) -> np.ndarray:
    """EDGE rows told by this rank; fills the slices of `ops` and `rxmsg`."""
    messages = model.messages
    edges = messages.edges
    received = edges["when"] == ON_RECV_DONE
    parts: list[np.ndarray] = []
    offset = 0
    for table, at, chosen in ((ops, op_at, edges[~received]), (rxmsg, rx_at, edges[received])):
        first = np.searchsorted(chosen["src"], at)
        count = np.searchsorted(chosen["src"], at, side="right") - first
        table["edge_begin"] = offset + np.cumsum(count) - count
        table["edge_count"] = count
        parts.append(chosen[runs(first, count)])
        offset += len(parts[-1])
    for name, kinds in (("edge_count", (ON_SEND_DONE, ON_FIRE)), ("sent_count", (ON_SENT,))):
        told_by = edges["src"][np.isin(edges["when"], kinds)]
        ops[name] = np.bincount(told_by, minlength=len(messages.ops))[op_at]
    told = np.concatenate(parts)
    host = messages.ops["host"][told["dst"]]
    rows = np.zeros(len(told), t.EDGE)
    rows["op"] = messages.first_op + told["dst"]
    rows["node"] = host
    rows["delay_ps"] = np.where(told["delay_ps"] == TRIGGER_DELAY, model.trigger_delay_ps, told["delay_ps"])
    local = here.row_of[host]
    nic_of_row = np.full(len(here.nodes) + 1, -1, "i8")
    nic_rows = np.flatnonzero(model.fabric.nodes["kind"][here.nodes] == NIC)
    nic_of_row[nic_rows] = np.arange(len(nic_rows))
    rows["nic"] = np.where(local >= 0, nic_of_row[local], -1)
    last = np.array([first + count - 1 for first, count in here.departures], "i8")
    rows["departures"] = last[here.owner[host]]
    return rows


def pending_table(model: Model, nics: np.ndarray, ops: np.ndarray, op_at: np.ndarray) -> np.ndarray:
    """PENDING rows: every NIC's slice holds all it can ever have pending; filled with what waits for nothing."""
    room = np.ones(len(ops), "i8")
    for kind, entries in PENDING_OF.items():
        room[ops["kind"] == kind] = entries
    if ops["any_of"].any():
        fan_in = np.bincount(model.messages.edges["dst"], minlength=len(model.messages.ops))[op_at]
        room = np.where(ops["any_of"] != 0, fan_in + room, room)      # late notices stay until their time
    per_nic = np.bincount(ops["nic"], weights=room, minlength=len(nics)).astype("i8")
    nics["heap_room"] = per_nic
    nics["heap_begin"] = np.cumsum(per_nic) - per_nic
    rows = np.zeros(max(1, int(per_nic.sum())), t.PENDING)
    queued = np.flatnonzero(ops["state"] == t.OP_QUEUED)
    due = ops["ready_ps"][queued] + ops["delay_ps"][queued]
    order = np.lexsort([queued, due, ops["nic"][queued]])
    queued, due = queued[order], due[order]
    sizes = np.bincount(ops["nic"][queued], minlength=len(nics))
    nics["heap_size"] = sizes
    at = runs(nics["heap_begin"].astype("i8"), sizes.astype("i8"))
    rows["time_ps"][at] = due
    rows["op"][at] = queued
    return rows
