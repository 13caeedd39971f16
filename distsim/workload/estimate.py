"""How many transfers and bytes a workload comes to, told without making them."""

from __future__ import annotations

from dataclasses import dataclass

from distsim.errors import InputError
from distsim.workload import collectives
from distsim.workload.graph import COLLECTIVES
from distsim.workload.lower.settings import Settings


@dataclass(frozen=True)
class Estimate:
    """transfers : messages, over the fabric and over scale-up networks; size_bytes : what they carry, the protocol's
    overhead included; nodes : of the graph; collectives : instances."""

    transfers: int
    size_bytes: int
    nodes: int = 0
    collectives: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.transfers + other.transfers, self.size_bytes + other.size_bytes, self.nodes + other.nodes,
                        self.collectives + other.collectives)


def of_collective(collective: int, members: int, size_bytes: int, settings: Settings, times: int = 1) -> Estimate:
    """`times` collectives among `members`. Raises InputError when the algorithm does not fit."""
    if members < 2:
        return Estimate(0, 0, collectives=times)
    algorithm = settings.algorithms.get(collective) or collectives.ALGORITHMS_OF[collective][0]
    try:
        messages = collectives.message_count(collective, algorithm, members, size_bytes, 0, settings.options)
        carried = collectives.wire_bytes(collective, algorithm, members, size_bytes, 0, settings.options)
    except ValueError as error:
        raise InputError(f"{COLLECTIVES[collective]} by {algorithm} among {members} ranks: {error}") from error
    return Estimate(times * int(messages), times * int(carried), collectives=times)
