"""What a collective's schedule comes to as edges, once for all instances of the same shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.workload.collectives.schedule import Schedule


@dataclass(frozen=True)
class Plan:
    """Transfers of a schedule and all that starts them, as places in them (i4) and members (i4).

    src, dst, size_bytes : of each transfer. first : transfers that start at their sender's entry. received, after :
    `after[i]` starts once `received[i]` is in; sent, then : `then[i]` starts once `sent[i]` has left. last_sent,
    last_received : transfers that their sender's or receiver's exit waits for, since nothing later of the same member
    does. idle : members that send nothing, whose exit waits for their entry.
    """

    src: np.ndarray
    dst: np.ndarray
    size_bytes: np.ndarray
    first: np.ndarray
    received: np.ndarray
    after: np.ndarray
    sent: np.ndarray
    then: np.ndarray
    last_sent: np.ndarray
    last_received: np.ndarray
    idle: np.ndarray

    @property
    def transfers(self) -> int:
        """Number of transfers."""
        return len(self.src)

    @property
    def edges(self) -> int:
        """Number of edges of an instance without scale-up."""
        return sum(len(part) for part in (self.first, self.received, self.sent, self.last_sent, self.last_received,
                                          self.idle))


def plan(schedule: Schedule) -> Plan:
    """The plan of a schedule.

    A transfer that waits for no earlier one of its sender waits for the sender's entry, also when it waits for a
    receipt: what is passed on needs the member's own part.
    """
    count = len(schedule.transfers)
    received, sent = schedule.after_received, schedule.after_sent
    begins, sends_last, receives_last = np.ones(count, bool), np.ones(count, bool), np.ones(count, bool)
    begins[sent["transfer"]] = False
    sends_last[sent["on"]] = False
    receives_last[received["on"]] = False
    src = np.ascontiguousarray(schedule.transfers["src"])
    sends = np.zeros(schedule.members, bool)
    sends[src] = True
    return Plan(src, np.ascontiguousarray(schedule.transfers["dst"]),
                np.ascontiguousarray(schedule.transfers["size_bytes"]), _places(begins),
                np.ascontiguousarray(received["on"]), np.ascontiguousarray(received["transfer"]),
                np.ascontiguousarray(sent["on"]), np.ascontiguousarray(sent["transfer"]), _places(sends_last),
                _places(receives_last), _places(~sends))


def _places(chosen: np.ndarray) -> np.ndarray:
    return np.flatnonzero(chosen).astype("i4")
