"""How far a job is: its steps, checkpoints, interruptions and restarts, on a clock of picoseconds.

A job does one thing at a time: it starts up, does a step, writes a checkpoint, or stands still. What takes long is done
in whole stretches: so many steps at once as take the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from . import ledger as parts
from .ledger import Ledger


class Standing(StrEnum):
    """Where a job stands: never run yet, interrupted and without all its pods, running, at its end."""

    QUEUED = "queued"
    WAITING = "waiting"
    RUNNING = "running"
    OVER = "over"


@dataclass(frozen=True)
class StepTime:
    """How long a step takes. ps : in all, None if it cannot end; base_ps : alone on the sound fabric with the first
    placement; sharing_ps : of `ps`, what others on the same chips cost. simulation : that told it. alone : whether that
    was made to learn base_ps only, before any step needed it."""

    ps: int | None
    base_ps: int
    sharing_ps: int
    simulation: str
    alone: bool = False


class Timer(Protocol):
    """Tells step times as long as placements stay as they are."""

    def at(self, begin_ps: int) -> tuple[StepTime, int | None]:
        """The time of steps from `begin_ps` on, and when the fabric changes next (None: never again)."""

    def across(self, begin_ps: int) -> StepTime:
        """The time of one step that begins at `begin_ps` and goes on when the fabric changes."""


@dataclass(frozen=True)
class Plan:
    """What a job has to do. every : steps between checkpoints, None: no checkpoints. start_ps : before the first step
    at all; restart_ps : before the first one after an interruption."""

    steps: int
    every: int | None = None
    checkpoint_ps: int = 0
    start_ps: int = 0
    restart_ps: int = 0


@dataclass(frozen=True)
class Span:
    """Steps in a row that took the same, or one of its own."""

    from_ps: int
    to_ps: int
    steps: int
    time: StepTime


@dataclass(frozen=True)
class _Doing:
    """What is under way. end_ps : None of a step that goes on when the fabric changes and has not been timed yet."""

    part: str
    end_ps: int | None
    time: StepTime | None = None
    timer: Timer | None = None
    change_ps: int = 0


@dataclass
class Progress:
    """A job under way. now_ps : up to where its time is booked. done, saved : steps so far, and those that a checkpoint
    holds. chips : that it holds, or wants. timer : of its present placement, set by who runs it. spans, stalls : its
    steps, and when it stood still (from, to)."""

    plan: Plan
    submitted_ps: int
    chips: int
    now_ps: int = -1
    standing: Standing = Standing.QUEUED
    done: int = 0
    saved: int = 0
    timer: Timer | None = None
    ledger: Ledger = field(default_factory=Ledger)
    spans: list[Span] = field(default_factory=list)
    stalls: list[tuple[int, int]] = field(default_factory=list)
    interruptions: int = 0
    stalled: bool = False
    _doing: _Doing | None = None

    def __post_init__(self) -> None:
        self.now_ps = max(self.now_ps, self.submitted_ps)

    # ---- what happens to it ------------------------------------------------------------------------------------------
    def start(self, at_ps: int, chips: int, kept: bool = False) -> int:
        """All its pods run from now on. kept : after an interruption, whether the steps since the last checkpoint were
        saved; otherwise they are lost. Returns how many are lost."""
        first = self.standing is Standing.QUEUED
        assert first or self.standing is Standing.WAITING
        self.ledger.book(parts.QUEUEING if first else parts.WAITING, at_ps - self.now_ps, self.chips)
        lost = 0 if kept or first else self._lose()
        self.ledger.save()
        self.saved = self.done
        self.standing, self.now_ps, self.chips = Standing.RUNNING, at_ps, chips
        pause = self.plan.start_ps if first else self.plan.restart_ps
        self._doing = _Doing(parts.STARTING, at_ps + pause) if pause else None
        return lost

    def interrupt(self, at_ps: int) -> None:
        """Its processes stop. The step or checkpoint under way is lost; `start` says what becomes of those before it.
        Call `advance` to that time before."""
        assert self.standing is Standing.RUNNING
        self._cut(at_ps, parts.LOST)
        self.standing, self.stalled = Standing.WAITING, False
        self.interruptions += 1

    def close(self, at_ps: int, failed: bool = False, kept: bool = False) -> None:
        """Nothing more happens to it: the run ends, or the job failed, and what no checkpoint holds is lost. kept : as
        for `start`, of an interruption that still lasts."""
        if self.standing is Standing.OVER:
            return
        waiting = self.standing is Standing.WAITING
        if self.standing is Standing.RUNNING:
            self._cut(at_ps, parts.LOST if failed else parts.UNFINISHED)
        else:
            self.ledger.book(parts.WAITING if waiting else parts.QUEUEING, at_ps - self.now_ps, self.chips)
            self.now_ps = at_ps
        if failed or (waiting and not kept):
            self._lose()
        self.ledger.save()
        self.standing = Standing.OVER

    def _lose(self) -> int:
        self.ledger.lose()
        lost, self.done = self.done - self.saved, self.saved
        return lost

    def _cut(self, at_ps: int, part: str) -> None:
        """What is under way ends here without having been done."""
        doing, self._doing = self._doing, None
        kind = doing.part if doing is not None and doing.part == parts.STARTING else part
        self.ledger.book(kind, at_ps - self.now_ps, self.chips)
        self.now_ps = at_ps

    # ---- as time goes on ---------------------------------------------------------------------------------------------
    def advance(self, to_ps: int) -> None:
        """Let it run up to a time, or its end. What began before and ends later stays under way."""
        while self.standing is Standing.RUNNING and self.now_ps < to_ps:
            if self._doing is None and not self._begin(to_ps):
                continue
            if not self._go_on(to_ps):
                return

    def foreseen(self, to_ps: int) -> Progress:
        """Itself at a time, if nothing else happens until then; nothing of this one changes."""
        ahead = replace(self, ledger=self.ledger.copy(), spans=[], stalls=[])
        ahead.advance(to_ps)
        return ahead

    def _begin(self, to_ps: int) -> bool:
        """Begin the next thing; False if that was done at once (steps in a row, standing still, the end)."""
        if self.done == self.plan.steps:
            self._save()
            self.standing = Standing.OVER
            return False
        if self._checkpoint_due():
            if self.plan.checkpoint_ps:
                self._doing = _Doing(parts.CHECKPOINT, self.now_ps + self.plan.checkpoint_ps)
                return True
            self._save()
            return False
        return self._begin_step(to_ps)

    def _begin_step(self, to_ps: int) -> bool:
        assert self.timer is not None
        time, change_ps = self.timer.at(self.now_ps)
        stop_ps = to_ps if change_ps is None else min(to_ps, change_ps)
        self.stalled = time.ps is None
        if time.ps is None:
            self._stand_still(stop_ps)
            return False
        count = min((stop_ps - self.now_ps) // time.ps, self._steps_in_a_row())
        if count:
            self._steps(time, count)
            return False
        end_ps = self.now_ps + time.ps
        if change_ps is None or end_ps <= change_ps:
            self._doing = _Doing(parts.USEFUL, end_ps, time)
        else:
            self._doing = _Doing(parts.USEFUL, None, None, self.timer, change_ps)
        return True

    def _go_on(self, to_ps: int) -> bool:
        """Finish what is under way; False if it ends after `to_ps`."""
        doing = self._doing
        assert doing is not None
        if doing.end_ps is None:
            if to_ps <= doing.change_ps:
                return False
            assert doing.timer is not None
            time = doing.timer.across(self.now_ps)
            if time.ps is None:                  # it does not end: it begins anew once the fabric has changed
                self._doing = None
                self._stand_still(doing.change_ps)
                return True
            self._doing = doing = replace(doing, end_ps=self.now_ps + time.ps, time=time)
        assert doing.end_ps is not None
        if doing.end_ps > to_ps:
            return False
        self._finish(doing, doing.end_ps)
        return True

    def _finish(self, doing: _Doing, end_ps: int) -> None:
        self._doing = None
        if doing.part == parts.USEFUL:
            assert doing.time is not None
            self._steps(doing.time, 1)
            return
        self.ledger.book(doing.part, end_ps - self.now_ps, self.chips)
        self.now_ps = end_ps
        if doing.part == parts.CHECKPOINT:
            self._save()

    def _steps(self, time: StepTime, count: int) -> None:
        """So many steps have been done."""
        assert time.ps is not None
        useful = min(time.ps - time.sharing_ps, time.base_ps)
        slower = time.ps - time.sharing_ps - useful
        for part, ps in ((parts.USEFUL, useful), (parts.SLOWER, slower), (parts.SHARING, time.sharing_ps)):
            self.ledger.book_step(part, count * ps, self.chips)
        begin_ps, self.now_ps = self.now_ps, self.now_ps + count * time.ps
        self.done += count
        self._note(Span(begin_ps, self.now_ps, count, time))
        if self.done == self.plan.steps:
            self._save()
            self.standing = Standing.OVER

    def _note(self, span: Span) -> None:
        last = self.spans[-1] if self.spans else None
        if last is not None and last.to_ps == span.from_ps and last.time == span.time:
            self.spans[-1] = replace(last, to_ps=span.to_ps, steps=last.steps + span.steps)
        else:
            self.spans.append(span)

    def _stand_still(self, to_ps: int) -> None:
        self.ledger.book(parts.STALLED, to_ps - self.now_ps, self.chips)
        begin_ps, self.now_ps = self.now_ps, to_ps
        if self.stalls and self.stalls[-1][1] == begin_ps:
            begin_ps = self.stalls.pop()[0]
        self.stalls.append((begin_ps, to_ps))

    def _save(self) -> None:
        self.ledger.save()
        self.saved = self.done

    def _checkpoint_due(self) -> bool:
        every = self.plan.every
        return every is not None and self.done > self.saved and self.done % every == 0

    def _steps_in_a_row(self) -> int:
        """Steps until something else is to be done."""
        left = self.plan.steps - self.done
        return left if self.plan.every is None else min(left, self.plan.every - self.done % self.plan.every)
