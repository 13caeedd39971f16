"""Dissemination barrier: in step k every member tells the one 2^k places after it; ceil(log2 N) steps.

Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988; any number of members.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.layout import in_order, place, schedule, waits
from distsim.workload.collectives.pieces import Runs
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule


def expand(request: Request) -> Schedule:
    """A step begins when the step before has been sent and received. Grid: step, member."""
    members = request.members
    member, step = np.arange(members), np.arange(_steps(request))[:, None]
    peer = (member + (1 << step)) % members
    transfers, index = place(np.zeros(peer.shape, "i8"), member, peer, step, 0, True)
    sender = (member - (1 << step[:-1])) % members
    received = waits(index[1:], np.take_along_axis(index[:-1], sender, axis=1))
    return schedule(members, [transfers], [received], [in_order(index.T)])


def _steps(request: Request) -> int:
    return (request.members - 1).bit_length()


def tally(request: Request) -> Runs:
    """N messages a step."""
    return {0: request.members * _steps(request)}


def ideal_bytes(request: Request) -> Fraction:
    """None."""
    return Fraction(0)
