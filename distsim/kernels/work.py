"""What a rank's operations share: its NPU, and both ways of its scale-up port.

scala-computing/docs models/chakra-workload/workload-execution (Compute, Scale-up groups). Operations served at once get
equal parts of the rate. A virtual time says how much work each of them has got since the start: it advances by the time
gone by over the number served, so nothing has to be changed when that number changes. A scale-up port serves one
transfer a peer at a time, in order; its rate is divided among the peers. When the next one will be done is in the NIC's
heap; an entry that a change has made too early is recognised by the virtual time and ignored.
"""

from __future__ import annotations

from ..state.tables import COMPUTE, LOCAL, LOG_OP, P_OPLOG, W_IN, W_NPU, W_OUT, WORKS
from .jit import kernel, once, small
from .pending import push_pending

NEVER = 1 << 62


@small
def log_op(s, op, what, start_ps, now_ps):
    """A row of the log of operations, if this one is to be logged."""
    if op.log_bits & LOG_OP:
        pool = s.pools[P_OPLOG]
        row = s.oplog[pool.used]
        pool.used += 1
        row.time_ps = now_ps
        row.start_ps = start_ps
        row.op = op.global_op
        row.what = what


@small
def virtual_now(w, now_ps):
    """The virtual time at `now_ps`."""
    if w.running == 0:
        return w.virtual_ps
    return w.virtual_ps + (now_ps - w.last_ps) // w.running


@kernel
def schedule(s, nic, w):
    """Put the end of the one that will be done first into the heap, as things are."""
    best = w.head
    row = w.head
    while row >= 0:
        if s.ops[row].mark_ps < s.ops[best].mark_ps or (s.ops[row].mark_ps == s.ops[best].mark_ps and row < best):
            best = row
        row = s.ops[row].wait_next
    if best >= 0:
        push_pending(s, nic, w.last_ps + (s.ops[best].mark_ps - w.virtual_ps) * w.running, best)


@small
def enter(s, w, row):
    """Begin to serve an operation; the virtual time is that of now."""
    op = s.ops[row]
    op.mark_ps = w.virtual_ps + op.work_ps
    op.wait_next = w.head
    w.head = row
    w.running += 1


@small
def resource_of(kind):
    """What an operation of a kind is served by."""
    if kind == COMPUTE:
        return W_NPU
    return W_OUT if kind == LOCAL else W_IN


@once
def begin_work(s, nic_row, row, now_ps):
    """Serve an operation, or let it wait for the transfer before it between the same two hosts."""
    op = s.ops[row]
    w = s.works[WORKS * nic_row + resource_of(op.kind)]
    op.queue_next = -1
    if op.kind != COMPUTE:
        other = w.head
        while other >= 0 and s.ops[other].dst != op.dst:
            other = s.ops[other].wait_next
        if other >= 0:
            while s.ops[other].queue_next >= 0:
                other = s.ops[other].queue_next
            s.ops[other].queue_next = row
            op.mark_ps = NEVER
            return False
    w.virtual_ps = virtual_now(w, now_ps)
    w.last_ps = now_ps
    enter(s, w, row)
    schedule(s, s.nics[nic_row], w)
    return True


@once
def end_work(s, nic_row, row, now_ps):
    """An entry of the heap came up: True if the operation has been served by now."""
    op = s.ops[row]
    w = s.works[WORKS * nic_row + resource_of(op.kind)]
    if op.mark_ps > virtual_now(w, now_ps):
        return False
    w.virtual_ps = virtual_now(w, now_ps)
    w.last_ps = now_ps
    w.running -= 1
    if w.head == row:
        w.head = op.wait_next
    else:
        before = w.head
        while s.ops[before].wait_next != row:
            before = s.ops[before].wait_next
        s.ops[before].wait_next = op.wait_next
    op.mark_ps = NEVER
    if op.queue_next >= 0:
        enter(s, w, op.queue_next)
    schedule(s, s.nics[nic_row], w)
    return True
