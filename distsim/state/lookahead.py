"""The graph of influences between nodes, with the lookahead of each edge."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..workload.types import ON_RECV_DONE, TRIGGER_DELAY
from .model import Model

SHORTEST_FRAME_BYTES = 62      # a NACK, a probe or a trimmed packet


def rate_fraction(rate_bps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Picoseconds a byte as reduced fractions: 8e12 / rate. Returns (numerators, denominators), i8."""
    rate = np.asarray(rate_bps, "i8")
    common = np.gcd(np.int64(8 * 10**12), rate)
    return 8 * 10**12 // common, rate // common


def link_lookahead_ps(links: np.ndarray) -> np.ndarray:
    """Delay plus the serialization of the shortest frame. i8[links]."""
    num, den = rate_fraction(links["rate_bps"])
    return links["delay_ps"] + (SHORTEST_FRAME_BYTES * num + den - 1) // den


def notices_of(model: Model) -> np.ndarray:
    """Pairs of different hosts (from, to) between which notices of `messages` go, and the least delay of each, ps.
    i8[pairs, 3]."""
    edges, ops = model.messages.edges, model.messages.ops
    source = np.where(edges["when"] == ON_RECV_DONE, ops["dst"][edges["src"]], ops["host"][edges["src"]]).astype("i8")
    target = ops["host"][edges["dst"]].astype("i8")
    apart = np.flatnonzero(source != target)
    delay_ps = np.where(edges["delay_ps"][apart] == TRIGGER_DELAY, model.trigger_delay_ps, edges["delay_ps"][apart])
    pair = source[apart] * model.fabric.hosts + target[apart]
    found, which = np.unique(pair, return_inverse=True)
    least = np.full(len(found), np.iinfo("i8").max)
    np.minimum.at(least, which, delay_ps)
    return np.stack([found // model.fabric.hosts, found % model.fabric.hosts, least], axis=1)


def influence_graph(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All edges: (from, to, lookahead_ps), node ids; links first, then notices between hosts.

    Raises InputError for a trigger delay of 0 when there are triggers between hosts.
    """
    links = model.fabric.links
    pairs = notices_of(model) if model.notices is None else model.notices
    if (pairs[:, 2] <= 0).any():
        raise InputError("0 is refused: triggers between hosts need a delay of at least 1 ps",
                         where="SimulationParameters.TriggerDelay")
    a = np.concatenate([links["src"].astype("i8"), pairs[:, 0]])
    b = np.concatenate([links["dst"].astype("i8"), pairs[:, 1]])
    return a, b, np.concatenate([link_lookahead_ps(links), pairs[:, 2]])
