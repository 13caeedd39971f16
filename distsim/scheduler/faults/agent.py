"""The Elastic Agent of a node: what the fields of reset.json make of the training processes there (seed 001, Table 3).

- GracefulExit 1: all training processes save a checkpoint and end; 0: nothing.
- FaultFlushing true: no process starts. They start once it is false and RankList has no fault of this node.
- RestartFaultProcess acts only while RankList has a fault of this node. true: only the faulty processes start again;
  false: all processes of the node end, and the agent with them (so does its pod).
- restartType hotReset: the processes wait, the pod stays; Status recovered starts them, failed (or Policy isolate) ends
  the agent. RestartFaultProcess is not looked at.
- RetryTime larger than before: all processes start again from the checkpoint, else they go on where they paused.
- Status recovered, and the policies empty, ignore and free_reset, are no fault to a process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from distsim.scheduler.faults.levels import EMPTY, FREE_RESET, IGNORE, ISOLATE, REQUEST
from distsim.scheduler.faults.reset_json import FAILED, HOT_RESET, RECOVERED, RankFault, ResetConfig

_HARMLESS = (EMPTY, IGNORE, FREE_RESET)


class Act(StrEnum):
    """What an agent has done."""

    STARTED = "started"            # training goes on
    RESTARTED = "restarted"        # only the faulty processes have been started again
    SAVED = "saved"                # all processes have saved a checkpoint and ended
    ENDED = "ended"                # the processes of the node and the agent have ended


@dataclass
class Agent:
    """The agent of a node for a job.

    ranks : RankIds of the processes there. alive : whether the processes exist. training : whether they run; else they
    pause or do not exist. again : how often each rank has been started anew. ended : the agent is gone.
    """

    node: str
    ranks: tuple[int, ...]
    alive: bool = False
    training: bool = False
    ended: bool = False
    again: dict[int, int] = field(default_factory=dict)
    retry: int = 0
    handled: int = -1              # version of the reset.json whose faulty processes have been started again

    def pause(self) -> None:
        """A process of the job has gone: the others cannot go on."""
        self.training = False

    def faults(self, reset: ResetConfig) -> list[RankFault]:
        """The faults of this node in RankList."""
        return [entry for entry in reset.entries
                if entry.rank in self.ranks and entry.status != RECOVERED and entry.policy not in _HARMLESS]

    def read(self, reset: ResetConfig) -> Act | None:
        """Act on reset.json; what was done, None for nothing."""
        if self.ended:
            return None
        if reset.graceful_exit == 1:
            return self._save()
        faults = self.faults(reset)
        if faults:
            return self._hot(faults) if reset.restart_type == HOT_RESET else self._faulty(faults, reset)
        if reset.flushing or (self.training and reset.retry == self.retry):
            return None
        return self._start(reset)

    def _save(self) -> Act | None:
        if not self.alive:
            return None
        self.alive = self.training = False
        return Act.SAVED

    def _hot(self, faults: list[RankFault]) -> Act | None:
        if any(entry.status == FAILED or entry.policy == ISOLATE for entry in faults):
            return self._end()
        self.training = False
        if any(entry.policy != REQUEST for entry in faults):
            self.alive = False
        return None

    def _faulty(self, faults: list[RankFault], reset: ResetConfig) -> Act | None:
        self.training = False
        if not self.alive:
            return None            # a new pod, whose processes have not begun
        if not reset.restart_fault:
            return self._end()
        if self.handled == reset.version:
            return None
        self.handled = reset.version
        self._begin_again(tuple(entry.rank for entry in faults))
        return Act.RESTARTED

    def _end(self) -> Act:
        self.ended, self.alive, self.training = True, False, False
        return Act.ENDED

    def _start(self, reset: ResetConfig) -> Act:
        if self.alive and reset.retry > self.retry:
            self._begin_again(self.ranks)
        self.retry = reset.retry
        self.alive = self.training = True
        return Act.STARTED

    def _begin_again(self, ranks: tuple[int, ...]) -> None:
        for rank in ranks:
            self.again[rank] = self.again.get(rank, 0) + 1
