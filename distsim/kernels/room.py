"""Whether every growing table has the rows that one event can need; checked before each (`nic`, `transmit`)."""

from __future__ import annotations

from ..state.tables import (
    P_CHOSEN,
    P_EVENT,
    P_GROUP,
    P_MONITOR,
    P_OPLOG,
    P_PACKET,
    P_PERF,
    P_RING,
    P_RX,
    P_SLOT,
    P_TX,
    P_WORD,
)
from .jit import small

# Rows that one event may need beside a packet for every notice.
PACKET_MARGIN, LOG_MARGIN = 6, 8
LEAST_RING = 256
RINGS_AN_EVENT = 4        # rings that one event may have to double


@small
def short_of_packets(s):
    """Whether the packet table is nearly full."""
    packets = s.pools[P_PACKET]
    return packets.room - packets.used < PACKET_MARGIN + packets.margin


@small
def short_of_log(s):
    """Whether the table of uet-monitor rows is nearly full."""
    pool = s.pools[P_MONITOR]
    return pool.used + LOG_MARGIN > pool.room


@small
def short_of(s):
    """The pool that has not the rows one event can need, or -1."""
    if short_of_packets(s):
        return P_PACKET
    pool = s.pools[P_GROUP]
    if pool.used + 2 > pool.room:
        return P_GROUP
    pool = s.pools[P_TX]
    if pool.used + 1 > pool.room:
        return P_TX
    pool = s.pools[P_RX]
    if pool.used + 1 > pool.room:
        return P_RX
    pool = s.pools[P_SLOT]
    if pool.high + 2 * max(pool.free_head, LEAST_RING) > pool.room:
        return P_SLOT
    pool = s.pools[P_WORD]
    if pool.high + pool.margin > pool.room:
        return P_WORD
    pool = s.pools[P_PERF]
    if pool.used + 1 > pool.room:
        return P_PERF
    pool = s.pools[P_RING]
    if pool.high + RINGS_AN_EVENT * 2 * max(pool.free_head, pool.margin) > pool.room:
        return P_RING
    if s.clock[0].logging != 0:
        if short_of_log(s):
            return P_MONITOR
        pool = s.pools[P_EVENT]
        if pool.used + LOG_MARGIN > pool.room:
            return P_EVENT
        pool = s.pools[P_CHOSEN]
        if pool.used + LOG_MARGIN > pool.room:
            return P_CHOSEN
        pool = s.pools[P_OPLOG]
        if pool.used + LOG_MARGIN > pool.room:
            return P_OPLOG
    return -1
