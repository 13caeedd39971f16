"""Which receive a send belongs to.

The k-th send of (sender, receiver, tag), in the order of the sender's nodes, is what the k-th receive of the same
three, in the order of the receiver's nodes, waits for. A receive from any rank takes what is left of its rank and tag,
by sender and the sender's order. Rule: scala-computing/docs, models/chakra-workload/workload-execution.md
(communication tag between the same sender and receiver); any source: LogGOPSim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.workload.graph import RECV, SEND, Graph
from distsim.workload.lower.check import MOST_NAMED, fail, name, some, source


@dataclass(frozen=True)
class Matches:
    """send, recv : i8[m], node rows that belong together; lost : i8[k], node rows of receives that nothing is sent to;
    warnings : lines for the user."""

    send: np.ndarray
    recv: np.ndarray
    lost: np.ndarray
    warnings: list[str]


def match(graph: Graph, strict_sizes: bool) -> Matches:
    """Pair the sends and receives of a graph. InputError for two sizes, when `strict_sizes`."""
    nodes = graph.nodes
    sends = np.flatnonzero(nodes["kind"] == SEND)
    receives = np.flatnonzero(nodes["kind"] == RECV)
    anywhere = nodes["peer"][receives] < 0
    named = receives[~anywhere]
    first = _pair([nodes["rank"][sends], nodes["peer"][sends], nodes["tag"][sends]],
                  [nodes["peer"][named], nodes["rank"][named], nodes["tag"][named]])
    send, recv = sends[first[0]], named[first[1]]
    left = np.setdiff1d(sends, send, assume_unique=True)
    if anywhere.any():
        open_ = receives[anywhere]
        second = _pair([nodes["peer"][left], nodes["tag"][left]], [nodes["rank"][open_], nodes["tag"][open_]])
        send, recv = np.concatenate([send, left[second[0]]]), np.concatenate([recv, open_[second[1]]])
        left = np.setdiff1d(left, send, assume_unique=True)
    lost = np.setdiff1d(receives, recv, assume_unique=True)
    warnings = [*_sizes(graph, send, recv, strict_sizes), *_leftovers(graph, left, lost)]
    return Matches(send, recv, lost, warnings)


def _pair(left: list[np.ndarray], right: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(places in left, places in right), i8[m] each: the k-th of each key with the k-th of the same key."""
    count = len(left[0])
    keys = [np.concatenate([a, b]) for a, b in zip(left, right)]
    total = len(keys[0])
    order = np.lexsort(keys[::-1])
    new = np.ones(total, bool)
    if total:
        new[1:] = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
    starts = np.flatnonzero(new)
    # Within a key the left ones come first, each side in its order; the k-th of both meet.
    is_left = order < count
    lefts = np.add.reduceat(is_left, starts, dtype="i8") if total else np.zeros(0, "i8")
    sizes = np.diff(np.append(starts, total))
    pairs = np.minimum(lefts, sizes - lefts)
    at = np.repeat(starts, pairs) + np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    return order[at], order[at + np.repeat(lefts, pairs)] - count


def _sizes(graph: Graph, send: np.ndarray, recv: np.ndarray, strict: bool) -> list[str]:
    sizes = graph.nodes["size_bytes"]
    differ = np.flatnonzero((sizes[send] != sizes[recv]) & (sizes[recv] >= 0))
    if not len(differ):
        return []
    texts = [f"{name(graph, send[i])} sends {sizes[send[i]]} bytes, {name(graph, recv[i])} expects {sizes[recv[i]]}"
             for i in differ[:MOST_NAMED].tolist()]
    text = f"sizes of send and receive differ: {some(texts, len(differ))}"
    if strict:
        fail(graph, text)
    return [f"{source(graph)}{text}; what is sent counts"]


def _leftovers(graph: Graph, sends: np.ndarray, receives: np.ndarray) -> list[str]:
    tags, peers = graph.nodes["tag"], graph.nodes["peer"]

    def texts(rows: np.ndarray, way: str) -> list[str]:
        return [f"{name(graph, row)} {way} {f'rank {peers[row]}' if peers[row] >= 0 else 'any rank'} tag {tags[row]}"
                for row in rows[:MOST_NAMED].tolist()]

    lines = []
    if len(sends):
        lines.append(f"{source(graph)}nobody receives what is sent by {some(texts(sends, 'to'), len(sends))}")
    if len(receives):
        lines.append(f"{source(graph)}receives without a send never end, and the run does not finish: "
                     f"{some(texts(receives, 'from'), len(receives))}")
    return lines
