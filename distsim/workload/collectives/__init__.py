"""Collectives as transfers between the members of a group (README.md)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.layout import schedule
from distsim.workload.collectives.pieces import LINE, Runs, limit, wire
from distsim.workload.collectives.registry import ALGORITHMS, ALGORITHMS_OF, ask, find
from distsim.workload.collectives.schedule import PROTOCOLS, TRANSFERS, WAITS, Options, Schedule

__all__ = ["ALGORITHMS", "ALGORITHMS_OF", "PROTOCOLS", "TRANSFERS", "WAITS", "Options", "Schedule", "expand",
           "ideal_time_ps", "message_count", "wire_bytes"]

PS = 10**12
PLAIN = Options()


def expand(collective: int, algorithm: str, members: int, size_bytes: int, root: int = 0, options: Options = PLAIN,
           counts: np.ndarray | None = None) -> Schedule:
    """The transfers of a collective.

    Parameters
    ----------
    collective : number of graph.COLLECTIVES. algorithm : one of ALGORITHMS_OF[collective].
    members : size of the group; one member makes an empty schedule.
    size_bytes : comm_size as in README.md: each member's data for all_gather, gather, broadcast, reduce and all_reduce;
        what is divided among the members for reduce_scatter, scatter and all_to_all. A barrier has none.
    root : a member, for broadcast, reduce, gather and scatter.
    counts : alltoallv, all_to_all only: i8[members, members], bytes from row to column, or i8[members], the row of
        every member; size_bytes is not looked at, pairs with 0 bytes make no transfer.

    Sizes of transfers are bytes on the wire under options.protocol. ValueError: a value out of range, an algorithm that
    the collective does not have or that does not fit the group, too many transfers.
    """
    module = find(collective, algorithm)
    request = ask(collective, algorithm, members, size_bytes, root, options, counts)
    if members == 1:
        return schedule(1, [])
    limit(sum(module.tally(request).values()))
    made = module.expand(request)
    sent, data = LINE[options.protocol]
    if sent != data:
        size = made.transfers["size_bytes"]
        made.transfers["size_bytes"] = -(-size * sent // data)
    return made


def message_count(collective: int, algorithm: str, members: int, size_bytes: int, root: int = 0,
                  options: Options = PLAIN, counts: np.ndarray | None = None) -> int:
    """len(expand(...).transfers), without making them."""
    return sum(_runs(collective, algorithm, members, size_bytes, root, options, counts).values())


def wire_bytes(collective: int, algorithm: str, members: int, size_bytes: int, root: int = 0, options: Options = PLAIN,
               counts: np.ndarray | None = None) -> int:
    """Bytes of all transfers of expand(...) together, without making them."""
    runs = _runs(collective, algorithm, members, size_bytes, root, options, counts)
    return sum(wire(size, options.protocol) * times for size, times in runs.items())


def _runs(collective: int, algorithm: str, members: int, size_bytes: int, root: int, options: Options,
          counts: np.ndarray | None) -> Runs:
    module = find(collective, algorithm)
    request = ask(collective, algorithm, members, size_bytes, root, options, counts)
    return {} if members == 1 else module.tally(request)


def ideal_time_ps(collective: int, algorithm: str, members: int, size_bytes: int, rate_bps: int,
                  options: Options = PLAIN, counts: np.ndarray | None = None) -> int:
    """Time on a fabric without latency or headers whose every port carries `rate_bps` each way; rounded up.

    The formula of each algorithm stands in its `ideal_bytes` and in README.md. `options` matter for the protocol, for
    servers, and where messages in a row cannot overlap (chain, tree). ValueError as `expand`.
    """
    module = find(collective, algorithm)
    request = ask(collective, algorithm, members, size_bytes, 0, options, counts)
    if members == 1:
        return 0
    sent, data = LINE[options.protocol]
    time = module.ideal_bytes(request) * 8 * PS * Fraction(sent, data) / rate_bps
    return -(-time.numerator // time.denominator)
