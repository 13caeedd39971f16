"""Tries in vain that need not be made again: a job that found no nodes finds none as long as nothing has moved.

A placement depends on the job and on how the cluster stands, not on the time, so a session that finds everything as the
last try left it has the same answer. With hundreds of jobs that wait this is what a quiet session costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.session.gang import pending
from distsim.scheduler.types import Job, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State


class Tries:
    """The last try in vain of each job, and how often pods have moved since the beginning."""

    def __init__(self) -> None:
        self._moves = 0
        self._stood: list[tuple[object, ...]] = []
        self._last: dict[str, tuple[tuple[int, ...], Refusal | None]] = {}

    def open(self, state: State) -> None:
        """Begin a session: whatever faults, ends of jobs and hand-made changes did since the last one is a move."""
        self._moves += self._stood != _standing(state)

    def close(self, state: State) -> None:
        """End a session."""
        self._stood = _standing(state)
        self._last = {uid: last for uid, last in self._last.items() if last[0][0] == self._moves}

    def forget(self, job: Job) -> None:
        """Know nothing of a job: it is new."""
        self._last.pop(job.uid, None)

    def moved(self) -> None:
        """Note that pods have got nodes."""
        self._moves += 1

    def in_vain(self, job: Job) -> bool:
        """Whether a try now would end as the last one did."""
        last = self._last.get(job.uid)
        return last is not None and last[0] == self._when(job)

    def refusal(self, job: Job) -> Refusal | None:
        """How the last try of a job ended."""
        return self._last[job.uid][1]

    def note(self, job: Job, refusal: Refusal | None) -> None:
        """Keep how a try ended."""
        self._last[job.uid] = self._when(job), refusal

    def _when(self, job: Job) -> tuple[int, ...]:
        return self._moves, job.level_up, len(pending(job))


def _standing(state: State) -> list[tuple[object, ...]]:
    """All that placements look at and that changes, by node."""
    return [(node.used, node.barred, node.cut, node.healthy, node.enabled, node.sub_healthy, node.bad_score,
             tuple(node.tasks)) for node in state.nodes.values()]
