"""How `verify` reads a state: columns as lists, lists and rings walked with a guard, a sentence for what is broken."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, NoReturn

import numpy as np

from . import tables as t
from .view import State


def fail(sentence: str) -> NoReturn:
    """A broken invariant."""
    raise AssertionError(sentence)


class Columns:
    """The first rows of a table of either form (structured array, or the twin's row objects), column by column.

    `columns.name` is a list of Python numbers, read when it is first asked for.
    """

    def __init__(self, table: Any, rows: int | None = None) -> None:
        self._rows = table if rows is None else table[:rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getattr__(self, name: str) -> list[Any]:
        rows = self._rows
        values = rows[name].tolist() if isinstance(rows, np.ndarray) else [getattr(row, name) for row in rows]
        self.__dict__[name] = values
        return values


def numbers(table: Any) -> list[int]:
    """A table of one number a row, as a list."""
    return table.tolist() if isinstance(table, np.ndarray) else list(table)


class Fetch(NamedTuple):
    """A first transmission in a NIC's fetch ring."""

    time_ps: int
    pdc: int
    psn: int
    handed: bool          # it waits for the port
    credited: bool        # its payload has left the host's transmit buffer


class Snapshot:
    """All that `verify` reads. Of tables with a pool only the rows below the high-water mark."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.pools = Columns(state.pools)
        self.packets = self._pooled("packets", t.P_PACKET)
        self.groups = self._pooled("groups", t.P_GROUP)
        self.tx = self._pooled("tx", t.P_TX)
        self.rx = self._pooled("rx", t.P_RX)
        self.slots = self._pooled("slots", t.P_SLOT)
        self.words = self._pooled("words", t.P_WORD)
        self.rings = self._pooled("rings", t.P_RING)
        for name, pool in (("perf", t.P_PERF), ("events", t.P_EVENT), ("monitor", t.P_MONITOR), ("chosen", t.P_CHOSEN),
                           ("oplog", t.P_OPLOG)):
            self._check_log(name, pool)
        for name in ("ports", "queues", "pfc", "shares", "buffers", "buffer_stats", "losses", "ins", "nodes", "swpar",
                     "nicpar", "nics", "rxmsg", "ops", "heap", "counters", "buff", "units", "works"):
            setattr(self, name, Columns(getattr(state, name)))
        clock = Columns(state.clock)
        self.clock = {name: getattr(clock, name)[0] for name in t.CLOCK.names or ()}
        self.next_ps = numbers(state.next_ps)
        self.group_hash = numbers(state.group_hash)
        self.order = numbers(state.order)
        self.node_of_host = numbers(state.node_of_host)
        self.link_of_in = numbers(state.link_of_in)
        self.listed: dict[int, list[int]] = {}      # packets of each QUEUE row, by `verify_network`
        self.fetches = [self._fetches(nic) for nic in range(len(self.nics))]
        # by sending PDC: first transmissions on their way from the host
        self.fetching = Counter(entry.pdc for fetches in self.fetches for entry in fetches if not entry.handed)

    ports: Columns
    queues: Columns
    pfc: Columns
    shares: Columns
    buffers: Columns
    buffer_stats: Columns
    losses: Columns
    ins: Columns
    nodes: Columns
    swpar: Columns
    nicpar: Columns
    nics: Columns
    rxmsg: Columns
    ops: Columns
    heap: Columns
    counters: Columns
    buff: Columns
    units: Columns
    works: Columns

    def loss_rows(self, port: int) -> list[int]:
        """LOSS rows of a port's link: of what it loses as it sends, and of what cuts lose; none without faults."""
        return [] if len(self.losses) == 1 else [port, len(self.ports) + self.ports.in_row[port]]

    def _pooled(self, name: str, pool: int) -> Columns:
        table = getattr(self.state, name)
        room, high = self.pools.room[pool], self.pools.high[pool]
        if room != len(table):
            fail(f"pool of {name}: room is {room}, but the table has {len(table)} rows")
        if not 0 <= self.pools.used[pool] <= high <= room:
            fail(f"pool of {name}: not 0 <= used {self.pools.used[pool]} <= high {high} <= room {room}")
        return Columns(table, high)

    def _check_log(self, name: str, pool: int) -> None:
        """A table that only grows, row by row."""
        room, used, rows = self.pools.room[pool], self.pools.used[pool], len(getattr(self.state, name))
        if not 0 <= used <= room or room != rows:
            fail(f"table {name}: {used} rows used, room is {room} and it has {rows}")

    def _fetches(self, nic: int) -> list[Fetch]:
        """The entries of a NIC's fetch ring, oldest first."""
        nics = self.nics
        first, handed, credit, last = (getattr(nics, f"fetch_{name}")[nic] for name in ("head", "handed", "credit",
                                                                                        "tail"))
        if not first <= handed <= credit <= last <= first + nics.fetch_room[nic]:
            fail(f"NIC {nic}: its fetch ring of {nics.fetch_room[nic]} has head {first}, handed {handed}, credit "
                 f"{credit} and tail {last}")
        rows = self.ring(nics.fetch_begin[nic], nics.fetch_room[nic], first, last, f"fetch ring of NIC {nic}")
        return [Fetch(*entry, handed=at < handed, credited=at < credit)
                for at, entry in zip(range(first, last), rows, strict=True)]

    def ring(self, begin: int, room: int, head: int, tail: int, what: str) -> list[tuple[int, int, int]]:
        """(time, a, b) of the entries of a ring of RING rows."""
        if room & (room - 1) or not 0 <= tail - head <= room:
            fail(f"{what}: {tail - head} entries in {room} rows")
        if room and not 0 <= begin <= len(self.rings) - room:
            fail(f"{what}: rows {begin} to {begin + room - 1} are not below the high-water mark {len(self.rings)}")
        rows = [begin + (at & (room - 1)) for at in range(head, tail)]
        return [(self.rings.time_ps[row], self.rings.a[row], self.rings.b[row]) for row in rows]

    def parameters(self, nic: int) -> int:
        """NICPAR row of a NIC row."""
        return int(self.nodes.param[self.nics.node[nic]])

    def queue(self, port: int, number: int) -> list[int]:
        """Packets of a port's queue, first to leave first."""
        return self.listed[self.ports.queue_begin[port] + number]

    @property
    def pauses(self) -> bool:
        """Whether the tables of PFC have rows for every port."""
        return len(self.pfc) == len(self.queues)


def walk(first: int, following: list[int], what: str) -> list[int]:
    """Rows of an intrusive list from `first` on; `following` is its column of links."""
    rows: list[int] = []
    row = first
    while row >= 0:
        if row >= len(following):
            fail(f"{what}: row {row} is not below the high-water mark {len(following)}")
        if len(rows) >= len(following):
            fail(f"{what} runs in a circle")
        rows.append(row)
        row = following[row]
    return rows


def live_rows(shot: Snapshot, pool: int, name: str, following: list[int]) -> list[int]:
    """Rows of a pool that are not on its free list."""
    high, used = shot.pools.high[pool], shot.pools.used[pool]
    free = walk(shot.pools.free_head[pool], following, f"free list of {name}")
    if len(set(free)) != len(free):
        fail(f"free list of {name} holds a row twice")
    if used + len(free) != high:
        fail(f"pool of {name}: {used} used and {len(free)} free rows are not the {high} below the high-water mark")
    away = set(free)
    return [row for row in range(high) if row not in away]


def check_rings(shot: Snapshot, arena: int, first_class: int, least: int, name: str, following: list[int],
                live: list[tuple[int, int, str]]) -> None:
    """Live rings (first row, rows, owner) and free ones tile the arena up to its high-water mark.

    following : for the first row of a free ring the first row of the next one.
    """
    high = shot.pools.high[arena]
    rings = list(live)
    for number in range(t.RING_CLASSES):
        head = shot.pools.free_head[first_class + number]
        rings += [(row, least << number, f"free list of {least << number} {name}")
                  for row in walk(head, following, f"free list of {least << number} {name}")]
    used = sum(room for _, room, _ in live)
    if used != shot.pools.used[arena]:
        fail(f"{name}: used is {shot.pools.used[arena]}, but the live rings hold {used}")
    at, before = 0, "nothing"
    for first, room, owner in sorted(rings):
        if room & (room - 1) or room < least:
            fail(f"{name} of {owner}: a ring of {room} rows")
        if first < at:
            fail(f"{name} of {owner} from row {first} overlap those of {before}")
        if first > at:
            fail(f"{name} {at} to {first - 1} belong to nothing")
        if room > shot.pools.free_head[arena]:
            fail(f"{name}: a ring of {room} is larger than the largest noted, {shot.pools.free_head[arena]}")
        at, before = first + room, owner
    if at != high:
        fail(f"{name}: rings end at {at}, the high-water mark is {high}")
