"""Congestion controls: the registry, and one ladder a hook that picks the NIC's.

A congestion control is a module with the hooks of `nscc`; it gets a number here, a branch in each ladder below, and its
parameters in NICPAR (`plug_a`..) and state in GROUP (`state_a`..). Literal ladders: numba caches neither closures nor
function tables on disk.
"""

from __future__ import annotations

from .. import plugin
from ..jit import small
from . import nscc

NSCC, PLUGIN = 0, 1
REGISTRY = {"NSCC": NSCC, "plug-in": PLUGIN}


@small
def start(g, par, now_ps):
    """A group begins; a plug-in starts from NSCC's state: the window at its maximum."""
    nscc.start(g, par, now_ps)
    if par.cc == PLUGIN:
        plugin.start(g, par, now_ps)


@small
def on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps):
    """An ACK of data; True when Quick Adapt cut the window."""
    if par.cc == NSCC:
        return nscc.on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps)
    return bool(plugin.on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps))


@small
def on_nack(g, par, nominal_bytes, rtt_ps, now_ps):
    """A NACK for an outstanding packet; True when Quick Adapt cut the window."""
    if par.cc == NSCC:
        return nscc.on_nack(g, par, nominal_bytes, rtt_ps, now_ps)
    return bool(plugin.on_nack(g, par, nominal_bytes, rtt_ps, now_ps))


@small
def on_timeout(g, par, nominal_bytes):
    """A packet's retransmission timer expired."""
    if par.cc == NSCC:
        nscc.on_timeout(g, par, nominal_bytes)
    else:
        plugin.on_timeout(g, par, nominal_bytes)


@small
def offer_rtt(g, par, rtt_ps):
    """A round trip that is no data ACK's: a probe's."""
    if par.cc == NSCC:
        nscc.offer_rtt(g, par, rtt_ps)
    else:
        plugin.offer_rtt(g, par, rtt_ps)
