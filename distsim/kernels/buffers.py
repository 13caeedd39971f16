"""The shared buffer of a switch: classes and their pools, charges and their release, the frames that a pool draws.

scala-computing/docs models/scala-switch/shared-buffer (Run-time accounting). `shared` says when these happen.
"""

from __future__ import annotations

from ..state.tables import (
    B_IN_DOWN,
    B_IN_UP,
    B_OUT_DOWN,
    B_OUT_UP,
    B_POOL,
    BUFFER_KINDS,
    CLASSES,
    CONTROL,
    INF_PS,
    Q_PFC,
    TC_DATA,
    TC_TRIMMED,
    TRIMMABLE_RTX,
    TRIMMED,
    TRIMMED_LAST_HOP,
)
from .jit import kernel, small
from .links import append, charge_bytes
from .pfc import make_frame


@small
def class_of(par, p):
    """Traffic class of a packet, by its codepoint role."""
    if p.role == CONTROL:
        return par.control_tc
    if p.role == TRIMMED or p.role == TRIMMED_LAST_HOP:
        return TC_TRIMMED
    return TC_DATA


@small
def lossless(par, tc):
    """Whether PFC protects the class."""
    if tc == 0:
        return par.pfc_0 != 0
    return (par.pfc_1 if tc == 1 else par.pfc_2) != 0


@small
def slot_of(par, tc):
    """Slot of the class's pool."""
    if tc == 0:
        return par.slot_0
    return par.slot_1 if tc == 1 else par.slot_2


@small
def sample(s, row, kind, change):
    """Bytes held changed: one more sample of a buffer record."""
    stats = s.buffer_stats[row * BUFFER_KINDS + kind]
    stats.now_bytes += change
    stats.samples += 1
    stats.sum_bytes += stats.now_bytes
    stats.least_bytes = min(stats.least_bytes, stats.now_bytes)
    stats.most_bytes = max(stats.most_bytes, stats.now_bytes)


@kernel
def charge_in(s, node, par, port, slot, charge):
    """Charge (or, negative, release) a pool and a port's ingress occupancy."""
    row = node.buffer_begin + slot
    s.shares[port.queue_begin + slot].in_bytes += charge
    s.buffers[row].in_bytes += charge
    if par.buffer_stats != 0:
        sample(s, row, B_IN_UP if port.last_hop & 2 else B_IN_DOWN, charge)
        sample(s, row, B_POOL, charge)


@kernel
def charge_out(s, node, par, port, slot, charge):
    """Charge (or release) a pool at egress and a port's queue in it."""
    row = node.buffer_begin + slot
    s.shares[port.queue_begin + slot].out_bytes += charge
    s.buffers[row].out_bytes += charge
    if par.buffer_stats != 0:
        sample(s, row, B_OUT_UP if port.last_hop & 2 else B_OUT_DOWN, charge)


@kernel
def send_frames(s, node, par, port, slot, quanta, now_ps):
    """One PFC frame for each lossless class of the pool waits for the port, ahead of all."""
    for tc in range(CLASSES):
        if lossless(par, tc) and slot_of(par, tc) == slot:
            i = make_frame(s, node.id, port, tc, quanta, now_ps)
            append(s, s.queues[port.queue_begin + Q_PFC], i, s.packets[i])
            port.queued += 1


@kernel
def release(s, node, par, port):
    """The frame in service has gone: its charges end, headroom first; that may draw a resume frame."""
    port.service_state = 0
    tc = port.service_tc
    slot = slot_of(par, tc)
    charge = charge_bytes(port.service_bytes)
    charge_out(s, node, par, port, slot, -charge)
    source = s.ports[node.port_begin + port.service_in]
    share = s.shares[source.queue_begin + slot]
    first = 0
    if lossless(par, tc):
        first = min(charge, share.headroom_bytes)
        share.headroom_bytes -= first
    if first < charge:
        charge_in(s, node, par, source, slot, first - charge)
    if share.refresh_ps < INF_PS and share.headroom_bytes == 0 and share.in_bytes <= par.xon_bytes:
        share.refresh_ps = INF_PS
        node.pauses -= 1
        send_frames(s, node, par, source, slot, 0, port.free_ps)


@kernel
def drop_in(s, node, par, source, p, slot, charge):
    """Release the ingress charge of a packet that goes no further, wherever it was charged."""
    share = s.shares[source.queue_begin + slot]
    first = 0
    if lossless(par, p.tc):
        first = min(charge, share.headroom_bytes)
        share.headroom_bytes -= first
    if first < charge:
        charge_in(s, node, par, source, slot, first - charge)


@small
def fits(s, node, par, port, p, slot, charge):
    """Whether a lossy packet is within the egress limit of the port's queue and the pool."""
    pool = s.buffers[node.buffer_begin + slot]
    held = s.shares[port.queue_begin + slot].out_bytes + charge
    if pool.out_bytes + charge > pool.size_bytes:
        return False
    if pool.limit_bytes == 0:
        return held <= par.alpha * (pool.size_bytes - pool.out_bytes)
    if par.uet_policy != 0 and p.role == TRIMMABLE_RTX and p.tc == TC_DATA:
        return held <= par.rtx_limit_bytes
    return held <= pool.limit_bytes
