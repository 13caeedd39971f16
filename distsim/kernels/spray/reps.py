"""Recycled Entropy Packet Spraying: send again on the entropy values that ACKs reported uncongested.

scala-computing/docs models/scala-uet-nic/multipath (Recycled entropy packet spraying; Freezing and exploration). A
group's cache is a ring of RING rows, made when the first value is recycled; values that were taken stay in their rows,
for reuse in turn while frozen.
"""

from __future__ import annotations

from ...state.tables import NIC_RING
from ..jit import kernel, small
from ..rings import give_ring, take_ring
from ..rng import REPS_DRAW, mix32


@small
def start(g):
    """A group begins with an empty cache, exploring."""
    g.reps_begin = -1
    g.reps_head = 0
    g.reps_count = 0
    g.reps_stored = 0
    g.reps_reuse = 0
    g.frozen = 0
    g.explore_left = 0
    g.draws = 0
    g.frozen_ps = 0


@kernel
def end(s, g):
    """The group ends: its cache is returned."""
    give_ring(s, g.reps_begin, max(s.nicpar[g.param].reps_room, NIC_RING))
    g.reps_begin = -1


@kernel
def explore(s, nic_row, g, par):
    """A random value, from (seed, NIC, peer, which of the NIC's groups, how many draws before)."""
    node_id = s.nodes[s.nics[nic_row].node].id
    h = mix32(s.clock[0].seed ^ mix32(REPS_DRAW))
    h = mix32(h ^ mix32(node_id + 0x1000193))
    h = mix32(mix32(h ^ mix32(g.dst)) + g.incarnation)
    h = mix32(h ^ mix32(g.draws))
    g.draws = (g.draws + 1) & 0x3FFFFFFF
    return (h * par.entropy_values) >> 32


@small
def oldest(s, g, par):
    """Take the oldest value out of the cache."""
    value = s.rings[g.reps_begin + g.reps_head].a
    g.reps_head = (g.reps_head + 1) & (par.reps_room - 1)
    g.reps_count -= 1
    return value


@kernel
def pick(s, nic_row, g, par):
    """Entropy value of the next data packet."""
    if g.explore_left > 0:
        g.explore_left -= 1
        if g.explore_left & (par.reps_room - 1) == 0:
            return explore(s, nic_row, g, par)
    if g.reps_count > 0:
        return oldest(s, g, par)
    if g.frozen != 0 and g.reps_stored > 0:
        at = g.reps_reuse
        g.reps_reuse = at + 1 if at + 1 < g.reps_stored else 0
        return s.rings[g.reps_begin + at].a
    return explore(s, nic_row, g, par)


@kernel
def feedback(s, g, par, entropy, good, now_ps):
    """Recycle a good value (the newest takes the oldest's place in a full cache); discard another."""
    if not good:
        return
    if g.frozen != 0 and now_ps - g.frozen_ps >= par.freeze_ps:
        g.frozen = 0
        g.explore_left = par.explore_packets
    if g.reps_begin < 0:
        g.reps_begin = take_ring(s, max(par.reps_room, NIC_RING))
    last = par.reps_room - 1
    s.rings[g.reps_begin + ((g.reps_head + g.reps_count) & last)].a = entropy
    if g.reps_count < par.reps_room:
        g.reps_count += 1
    else:
        g.reps_head = (g.reps_head + 1) & last
    if g.reps_stored < par.reps_room:
        g.reps_stored += 1


@small
def failure(g, now_ps):
    """A path failed: freeze, unless frozen already or in the window of exploration after it."""
    if g.frozen == 0 and g.explore_left == 0:
        g.frozen = 1
        g.frozen_ps = now_ps
