"""Which receive a send belongs to.

The k-th send of (sender, receiver, tag), in the order of the sender's nodes, is what the k-th receive of the same
three, in the order of the receiver's nodes, waits for. A receive from any rank gets its sender from what the named
receives leave of its rank and tag, by sender and the sender's order; then it is one of that sender's receives, and the
k-th send meets the k-th of them. A match does not depend on simulated time, so receives from any rank that must take
whichever of several senders comes first may never end. Rule: scala-computing/docs,
models/chakra-workload/workload-execution.md (communication tag between the same sender and receiver); any source:
LogGOPSim.
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
    peers = nodes["peer"][receives]
    send, recv = _pair_named(nodes, sends, receives, peers)
    if (peers < 0).any():
        left, open_ = np.setdiff1d(sends, send, assume_unique=True), receives[peers < 0]
        given, taken = _pair([nodes["peer"][left], nodes["tag"][left]], [nodes["rank"][open_], nodes["tag"][open_]])
        peers[np.searchsorted(receives, open_[taken])] = nodes["rank"][left[given]]
        send, recv = _pair_named(nodes, sends, receives, peers)
    left = np.setdiff1d(sends, send, assume_unique=True)
    lost = np.setdiff1d(receives, recv, assume_unique=True)
    warnings = [*_sizes(graph, send, recv, strict_sizes), *_leftovers(graph, left, lost)]
    return Matches(send, recv, lost, warnings)


def _pair_named(nodes: np.ndarray, sends: np.ndarray, receives: np.ndarray,
                peers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(node rows of sends, of receives), i8[m] each, where receive i waits for rank `peers[i]`; -1 for any rank."""
    at = _pair([nodes["rank"][sends], nodes["peer"][sends], nodes["tag"][sends]],
               [peers, nodes["rank"][receives], nodes["tag"][receives]])
    return sends[at[0]], receives[at[1]]


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
