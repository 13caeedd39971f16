"""Spraying types: the registry, and one ladder a hook. Added like a congestion control (see `cc`).

scala-computing/docs models/scala-uet-nic/multipath. A type that listens gets path feedback: from data ACKs and NACKs
(`feedback`), timeouts and early failures (`failure`).
"""

from __future__ import annotations

from .. import plugin
from ..jit import small
from . import one_path, reps, round_robin

DEFAULT, NONE, REPS, PLUGIN = 0, 1, 2, 3
REGISTRY = {"Default Packet Spraying": DEFAULT, "None": NONE, "Recycled Entropy Packet Spraying": REPS,
            "plug-in": PLUGIN}


@small
def start(g, par, pdc_id):
    """A group begins, made by the PDC `pdc_id`."""
    if par.spraying == NONE:
        one_path.start(g, pdc_id)
    elif par.spraying == REPS:
        reps.start(g)
    else:
        round_robin.start(g, par)
        if par.spraying == PLUGIN:
            plugin.spray_start(g, par)


@small
def end(s, g):
    """A group ends."""
    if g.reps_begin >= 0:
        reps.end(s, g)


@small
def pick(s, nic_row, g, par):
    """Entropy value of the next data packet of the group."""
    if par.spraying == DEFAULT:
        return round_robin.pick(g, par)
    if par.spraying == NONE:
        return one_path.pick(g)
    if par.spraying == REPS:
        return reps.pick(s, nic_row, g, par)
    return int(plugin.spray_pick(g, par)) & 0xFFFF


@small
def listens(par):
    """Whether the type takes feedback."""
    return par.spraying >= REPS


@small
def feedback(s, nic_row, g, par, entropy, good, now_ps):
    """An answer brought an entropy value back; `good`: unmarked, or trimmed on the last hop only."""
    if par.spraying == REPS:
        reps.feedback(s, g, par, entropy, good, now_ps)
    elif par.spraying == PLUGIN:
        plugin.spray_feedback(g, par, entropy, good)


@small
def failure(g, par, now_ps):
    """A packet timed out, or was still unacknowledged at its early-failure deadline."""
    if par.spraying == REPS:
        reps.failure(g, now_ps)
