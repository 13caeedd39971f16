"""Rows and rings: take and give back. Free rows are last-in first-out over a high-water mark, so memory that was never
used is never touched. Whoever takes has checked that there is room (`nic.room_for_event`)."""

from __future__ import annotations

from ..state.tables import (
    P_GROUP,
    P_PACKET,
    P_RX,
    P_SLOT,
    P_SLOT_RINGS,
    P_TX,
    P_WORD,
    P_WORD_RINGS,
    SLOT_RING,
    WORD_RING,
)
from .jit import kernel, small


@small
def take_packet(s):
    """A free PACKET row; counted as created by the caller."""
    pool = s.pools[P_PACKET]
    row = pool.free_head
    if row >= 0:
        pool.free_head = s.packets[row].next
    else:
        row = pool.high
        pool.high = row + 1
    pool.used += 1
    return row


@small
def give_packet(s, row):
    """Return a PACKET row."""
    pool = s.pools[P_PACKET]
    s.packets[row].next = pool.free_head
    pool.free_head = row
    pool.used -= 1


@small
def take_group(s):
    pool = s.pools[P_GROUP]
    row = pool.free_head
    if row >= 0:
        pool.free_head = s.groups[row].hash_next
    else:
        row = pool.high
        pool.high = row + 1
    pool.used += 1
    return row


@small
def give_group(s, row):
    pool = s.pools[P_GROUP]
    s.groups[row].hash_next = pool.free_head
    pool.free_head = row
    pool.used -= 1


@small
def take_tx(s):
    pool = s.pools[P_TX]
    row = pool.free_head
    if row >= 0:
        pool.free_head = s.tx[row].all_next
    else:
        row = pool.high
        pool.high = row + 1
    pool.used += 1
    return row


@small
def give_tx(s, row):
    pool = s.pools[P_TX]
    s.tx[row].all_next = pool.free_head
    pool.free_head = row
    pool.used -= 1


@small
def take_rx(s):
    pool = s.pools[P_RX]
    row = pool.free_head
    if row >= 0:
        pool.free_head = s.rx[row].next_free
    else:
        row = pool.high
        pool.high = row + 1
    pool.used += 1
    return row


@small
def give_rx(s, row):
    pool = s.pools[P_RX]
    s.rx[row].next_free = pool.free_head
    pool.free_head = row
    pool.used -= 1


@small
def ring_class(room, least):
    """Class of a ring of `room` rows (a power of two times `least`)."""
    number = 0
    while least << number < room:
        number += 1
    return number


@kernel
def take_slots(s, room):
    """First row of a cleared ring of `room` SLOT rows."""
    arena = s.pools[P_SLOT]
    free = s.pools[P_SLOT_RINGS + ring_class(room, SLOT_RING)]
    first = free.free_head
    if first >= 0:
        free.free_head = s.slots[first].rtx_next
    else:
        first = arena.high
        arena.high = first + room
    if room > arena.free_head:
        arena.free_head = room
    arena.used += room
    for i in range(first, first + room):
        s.slots[i].state = 0
        s.slots[i].tries = 0
    return first


@kernel
def give_slots(s, first, room):
    free = s.pools[P_SLOT_RINGS + ring_class(room, SLOT_RING)]
    s.slots[first].rtx_next = free.free_head
    free.free_head = first
    s.pools[P_SLOT].used -= room


@kernel
def take_words(s, room):
    """First row of a cleared ring of `room` WORD rows."""
    arena = s.pools[P_WORD]
    free = s.pools[P_WORD_RINGS + ring_class(room, WORD_RING)]
    first = free.free_head
    if first >= 0:
        free.free_head = s.words[first].seen - 1     # stored plus one: the field is unsigned
    else:
        first = arena.high
        arena.high = first + room
    if room > arena.free_head:
        arena.free_head = room
    arena.used += room
    for i in range(first, first + room):
        s.words[i].seen = 0
    return first


@kernel
def give_words(s, first, room):
    free = s.pools[P_WORD_RINGS + ring_class(room, WORD_RING)]
    s.words[first].seen = free.free_head + 1
    free.free_head = first
    s.pools[P_WORD].used -= room
