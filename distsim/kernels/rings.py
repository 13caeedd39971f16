"""Rings of a NIC or group inside the `rings` table: fetches, PCIe transfers, charges of the receive pool, REPS cache.

A ring is (begin, room, head, tail): rows begin + (position & (room - 1)) for the positions head..tail; room is 0 or a
power of two. Whoever pushes has checked that the table has room for the rings to double (`nic.short_of`).
"""

from __future__ import annotations

from ..state.tables import NIC_RING, P_NIC_RINGS, P_RING
from .jit import kernel, small
from .pools import ring_class

WRAP = 1 << 29      # positions are brought back by this when they have passed it


@kernel
def take_ring(s, room):
    """First row of a ring of `room` rows (a power of two, at least NIC_RING)."""
    arena = s.pools[P_RING]
    free = s.pools[P_NIC_RINGS + ring_class(room, NIC_RING)]
    first = free.free_head
    if first >= 0:
        free.free_head = s.rings[first].a
    else:
        first = arena.high
        arena.high = first + room
    if room > arena.free_head:
        arena.free_head = room
    arena.used += room
    return first


@kernel
def give_ring(s, first, room):
    """Return a ring."""
    free = s.pools[P_NIC_RINGS + ring_class(room, NIC_RING)]
    s.rings[first].a = free.free_head
    free.free_head = first
    s.pools[P_RING].used -= room


@kernel
def grow_ring(s, begin, room, head, tail):
    """A ring twice as large with the same entries at the same positions; returns its first row."""
    larger = max(2 * room, NIC_RING)
    first = take_ring(s, larger)
    for at in range(head, tail):
        old = s.rings[begin + (at & (room - 1))]
        new = s.rings[first + (at & (larger - 1))]
        new.time_ps = old.time_ps
        new.a = old.a
        new.b = old.b
    if room > 0:
        give_ring(s, begin, room)
    return first


@small
def write_entry(s, row, time_ps, a, b):
    """Fill a RING row."""
    entry = s.rings[row]
    entry.time_ps = time_ps
    entry.a = a
    entry.b = b
