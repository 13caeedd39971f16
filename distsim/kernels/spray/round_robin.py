"""Default Packet Spraying: a range of UDP source ports in turn, one turn a group, retransmissions included.

scala-computing/docs models/scala-uet-nic/multipath: (StartingPortOffset + step mod 2**EntropyMaskBits) mod 65536; no
feedback.
"""

from __future__ import annotations

from ..jit import small


@small
def start(g, par):
    """A group begins at the first port."""
    g.spray_step = 0


@small
def pick(g, par):
    """Entropy value of the next data packet."""
    value = (par.entropy_offset + (g.spray_step & par.entropy_mask)) & 0xFFFF
    g.spray_step = (g.spray_step + 1) & 0x3FFFFFFF
    return value
