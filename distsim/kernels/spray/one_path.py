"""Spraying type None: one entropy value for a group's whole life, the local UDP port of the PDC that made it.

scala-computing/docs models/scala-uet-nic/multipath, None. The application sets that port; here it is a port of the
dynamic range (RFC 6335) chosen by the PDC's id.
"""

from __future__ import annotations

from ..jit import small

FIRST_PORT, PORTS = 49152, 16384


@small
def start(g, pdc_id):
    """The group takes its PDC's port."""
    g.spray_step = FIRST_PORT + (pdc_id & (PORTS - 1))


@small
def pick(g):
    """Entropy value of every data packet."""
    return g.spray_step
