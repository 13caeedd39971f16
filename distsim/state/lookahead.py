"""The graph of influences between nodes, with the lookahead of each edge."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..workload.types import ON_RECV_DONE
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


def trigger_pairs(model: Model) -> np.ndarray:
    """Pairs of different hosts (from, to) between which notices go. i8[pairs, 2]."""
    edges, ops = model.messages.edges, model.messages.ops
    if not len(edges):
        return np.empty((0, 2), "i8")
    source = np.where(edges["when"] == ON_RECV_DONE, ops["dst"][edges["src"]], ops["host"][edges["src"]])
    pairs = np.stack([source, ops["host"][edges["dst"]]], axis=1).astype("i8")
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def influence_graph(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All edges: (from, to, lookahead_ps), node ids; links first, then triggers.

    Raises InputError for a trigger delay of 0 when there are triggers between hosts.
    """
    links = model.fabric.links
    pairs = trigger_pairs(model)
    if len(pairs) and model.trigger_delay_ps <= 0:
        raise InputError("0 is refused: triggers between hosts need a delay of at least 1 ps",
                         where="SimulationParameters.TriggerDelay")
    a = np.concatenate([links["src"].astype("i8"), pairs[:, 0]])
    b = np.concatenate([links["dst"].astype("i8"), pairs[:, 1]])
    lookahead = np.concatenate([link_lookahead_ps(links), np.full(len(pairs), model.trigger_delay_ps, "i8")])
    return a, b, lookahead
