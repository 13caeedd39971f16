"""Invariants of what operations of a rank share: its NPU and its scale-up port."""

from __future__ import annotations

from ..workload.types import COMPUTE, LOCAL, LOCAL_IN
from . import tables as t
from .verify_rows import Snapshot, fail, walk

KIND_OF = {t.W_NPU: COMPUTE, t.W_OUT: LOCAL, t.W_IN: LOCAL_IN}


def check_work(shot: Snapshot) -> None:
    """Every shared resource of every NIC serves or queues exactly the operations that are under way."""
    ops, served = shot.ops, set[int]()
    for nic in range(len(shot.nics)):
        for number, kind in KIND_OF.items():
            served |= check_resource(shot, nic, number, kind)
    for row in range(len(ops)):
        under_way = ops.state[row] == t.OP_ACTIVE and ops.kind[row] in KIND_OF.values()
        if under_way and row not in served and not (ops.kind[row] == LOCAL_IN and ops.mark_ps[row] >= t.INF_PS):
            fail(f"operation {row} of kind {ops.kind[row]} is under way, but nothing serves it")


def check_resource(shot: Snapshot, nic: int, number: int, kind: int) -> set[int]:
    """One resource: its list, and an entry of the heap for the next end. Returns the operations that it knows."""
    ops, works = shot.ops, shot.works
    at = t.WORKS * nic + number
    running = walk(works.head[at], ops.wait_next, f"what resource {number} of NIC {nic} serves")
    if works.running[at] != len(running):
        fail(f"resource {number} of NIC {nic} counts {works.running[at]} operations and serves {len(running)}")
    known: set[int] = set()
    for row in running:
        known |= {row, *walk(ops.queue_next[row], ops.queue_next, f"what waits for operation {row}")}
    for row in known:
        if ops.kind[row] != kind or ops.nic[row] != nic or ops.state[row] != t.OP_ACTIVE:
            fail(f"operation {row} of kind {ops.kind[row]} and state {ops.state[row]} is served by resource {number} "
                 f"of NIC {nic}")
    peers = [ops.dst[row] for row in running]
    if kind != COMPUTE and len(set(peers)) != len(peers):
        fail(f"resource {number} of NIC {nic} serves two transfers of one peer at once: {peers}")
    if running:
        first = min(running, key=lambda row: (ops.mark_ps[row], row))
        end_ps = works.last_ps[at] + (ops.mark_ps[first] - works.virtual_ps[at]) * len(running)
        begin, size = shot.nics.heap_begin[nic], shot.nics.heap_size[nic]
        if not any(shot.heap.op[k] == first and shot.heap.time_ps[k] == end_ps for k in range(begin, begin + size)):
            fail(f"operation {first} will be done at {end_ps}, but nothing wakes NIC {nic} then")
    return known
