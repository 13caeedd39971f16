"""What the tests of collectives share: all cases, and a slow, obvious execution of a Schedule."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from distsim.workload.collectives import ALGORITHMS_OF, Options, Schedule, expand
from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCATTER,
)

CASES = [(collective, name) for collective, names in ALGORITHMS_OF.items() for name in names]
POWERS_ONLY = {"halving-doubling", "halving", "hypercube"}
WHOLE = Options()
CUT = Options(channels=2, chunk_bytes=60, slices=2)
CHANNELS = Options(channels=2)


def fits(algorithm: str, members: int) -> bool:
    return algorithm not in POWERS_ONLY or members & (members - 1) == 0


def with_server(options: Options, algorithm: str, members: int) -> Options:
    """Servers of the largest proper divisor, so that hierarchical has both levels where it can."""
    if algorithm != "hierarchical":
        return options
    server = max((d for d in range(1, members) if members % d == 0), default=1)
    return Options(options.channels, options.chunk_bytes, options.slices, options.protocol, server)


def check_waits(schedule: Schedule) -> list[int]:
    """Asserts that rows and waits are well formed and returns the transfers in an order in which they can run."""
    t = schedule.transfers
    count = len(t)
    assert (t["src"] != t["dst"]).all()
    for name in ("src", "dst"):
        assert ((t[name] >= 0) & (t[name] < schedule.members)).all()
    assert (t["size_bytes"] >= 0).all() and (t["step"] >= 0).all() and (t["channel"] >= 0).all()
    for pairs in (schedule.after_received, schedule.after_sent):
        assert ((pairs["transfer"] >= 0) & (pairs["transfer"] < count)).all()
        assert ((pairs["on"] >= 0) & (pairs["on"] < count)).all()
        assert len(np.unique(pairs)) == len(pairs)
    received, sent = schedule.after_received, schedule.after_sent
    assert (t["dst"][received["on"]] == t["src"][received["transfer"]]).all()
    assert (t["src"][sent["on"]] == t["src"][sent["transfer"]]).all()
    left = np.zeros(count, int)
    followers = defaultdict(list)
    for pairs in (received, sent):
        for transfer, on in pairs.tolist():
            followers[on].append(transfer)
            left[transfer] += 1
    ready = np.flatnonzero(left == 0).tolist()
    for row in ready:                                   # grows while it is read
        for follower in followers[row]:
            left[follower] -= 1
            if left[follower] == 0:
                ready.append(follower)
    assert len(ready) == count, "a cycle"
    return ready


def carried(schedule: Schedule, order: list[int]) -> list[int]:
    """Of each transfer the members whose contributions its sender is sure to have when it starts, as bits."""
    waits = defaultdict(list)
    for transfer, on in schedule.after_received.tolist():
        waits[transfer].append(on)
    for transfer, on in schedule.after_sent.tolist():
        waits[transfer].append(on)                      # what the sender had then, it has now
    src = schedule.transfers["src"].tolist()
    known = [0] * len(src)
    for row in order:
        known[row] = 1 << src[row]
        for on in waits[row]:
            known[row] |= known[on]
    return known


def pieces(schedule: Schedule) -> list[list[int]]:
    """Transfers that are joined by waits for receipts: each list is the way of one piece of data."""
    head = list(range(len(schedule.transfers)))

    def find(row: int) -> int:
        while head[row] != row:
            head[row] = head[head[row]]
            row = head[row]
        return row

    for transfer, on in schedule.after_received.tolist():
        head[find(transfer)] = find(on)
    found = defaultdict(list)
    for row in range(len(head)):
        found[find(row)].append(row)
    return list(found.values())


def got(schedule: Schedule, known: list[int], rows: list[int] | range | None = None) -> list[int]:
    """Of each member the contributions that it has once `rows` (default: all) have come, its own among them."""
    has = [1 << member for member in range(schedule.members)]
    dst = schedule.transfers["dst"].tolist()
    for row in range(len(dst)) if rows is None else rows:
        has[dst[row]] |= known[row]
    return has


def bytes_in(schedule: Schedule) -> np.ndarray:
    return np.bincount(schedule.transfers["dst"], schedule.transfers["size_bytes"], schedule.members).astype("i8")


def bytes_out(schedule: Schedule) -> np.ndarray:
    return np.bincount(schedule.transfers["src"], schedule.transfers["size_bytes"], schedule.members).astype("i8")


def total(schedule: Schedule) -> int:
    return int(schedule.transfers["size_bytes"].sum())


def least_in(collective: int, members: int, size: int, root: int) -> np.ndarray:
    """Bytes that must at least come into each member, where blocks are rounded down as far as they can be."""
    floor = max(0, size - (members - 1) * -(-size // members))         # the smallest block
    everyone = np.ones(members, "i8")
    only_root = np.arange(members) == root
    return {
        ALL_REDUCE: everyone * size, BARRIER: everyone * 0, ALL_GATHER: everyone * size * (members - 1),
        REDUCE: only_root * size, GATHER: only_root * size * (members - 1), BROADCAST: ~only_root * size,
        SCATTER: ~only_root * floor, REDUCE_SCATTER: everyone * floor, REDUCE_SCATTER_BLOCK: everyone * floor,
        ALL_TO_ALL: everyone * floor * (members - 1),
    }[collective]


def made(collective: int, algorithm: str, members: int, size: int, options: Options = WHOLE, root: int = 0) -> Schedule:
    return expand(collective, algorithm, members, size, root, with_server(options, algorithm, members))
