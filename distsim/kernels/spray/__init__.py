"""Spraying types: the registry, and one ladder a hook. Added like a congestion control (see `cc`)."""

from __future__ import annotations

from ..jit import small
from . import round_robin

DEFAULT = 0
REGISTRY = {"Default Packet Spraying": DEFAULT}


@small
def start(g, par):
    """A group begins."""
    if par.spraying == DEFAULT:
        round_robin.start(g, par)


@small
def pick(g, par):
    """Entropy value of the next data packet of the group."""
    if par.spraying == DEFAULT:
        return round_robin.pick(g, par)
    return 0
