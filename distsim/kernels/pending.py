"""Pending operations of a NIC: a binary heap by (time, operation), so the order of notices decides nothing."""

from __future__ import annotations

from .jit import kernel, small


@small
def before(s, a, b):
    """Order of two PENDING rows: by time, then by operation."""
    x = s.heap[a]
    y = s.heap[b]
    return x.time_ps < y.time_ps or (x.time_ps == y.time_ps and x.op < y.op)


@small
def swap(s, a, b):
    x = s.heap[a]
    y = s.heap[b]
    time_ps = x.time_ps
    op = x.op
    x.time_ps = y.time_ps
    x.op = y.op
    y.time_ps = time_ps
    y.op = op


@kernel
def push_pending(s, nic, time_ps, op):
    """Add an operation (OP row) to the NIC's heap; its slice has room for all it can ever hold."""
    first = nic.heap_begin
    at = nic.heap_size
    nic.heap_size = at + 1
    entry = s.heap[first + at]
    entry.time_ps = time_ps
    entry.op = op
    while at > 0 and before(s, first + at, first + ((at - 1) >> 1)):
        swap(s, first + at, first + ((at - 1) >> 1))
        at = (at - 1) >> 1


@kernel
def pop_pending(s, nic):
    """Remove the first pending operation; returns its OP row."""
    first = nic.heap_begin
    op = s.heap[first].op
    size = nic.heap_size - 1
    nic.heap_size = size
    swap(s, first, first + size)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return op
        if child + 1 < size and before(s, first + child + 1, first + child):
            child += 1
        if before(s, first + at, first + child):
            return op
        swap(s, first + at, first + child)
        at = child
