"""The measurements of a command in the program's order, each simulated as one or more phases.

Facts: NVIDIA/nccl-tests 2.19.1, src/common.cu (TimeTest, BenchTime). Warm-up: -w operations at sizes doubled from -b to
-e, not timed. Then each size out-of-place and in-place: the operations one after the other on each rank (the next one
begins on a rank when its own is done), time over their number, combined over ranks as -a says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from distsim.workload.types import Phase, Workload

from . import sizes
from .command import Command
from .iterations import Iterations, figures
from .operations import phase_graph
from .report import Measured, Report
from .shape import Pairs, Shape
from .sizes import Amount, Test
from .steady import Series
from .timing import alike, combined_s, elapsed_ps, iteration_figures

STEADY_OPERATIONS = 4            # iterations of a size that `steady` simulates before it looks whether they are alike
STEADY_WITHIN = 0.01             # alike


@dataclass(frozen=True)
class Step:
    """A measurement, or with `timed` False a warm-up."""

    test: Test
    moved: Amount
    timed: bool = True
    in_place: int = 0
    cycle: int = 0


def steps(command: Command, ranks: int) -> Iterator[Step]:
    """All steps of a command, in order."""
    for test in sizes.planned(command, ranks):
        if command.warm_up:
            for size in sizes.warmed(command):
                yield Step(test, sizes.amount(command.program, test.datatype, size, ranks), timed=False)
        for cycle in range(command.cycles):
            for size in sizes.swept(command):
                moved = sizes.amount(command.program, test.datatype, size, ranks)
                for in_place in (0, 1):
                    yield Step(test, moved, True, in_place, cycle)


@dataclass
class _Running:
    """A step under way. left : operations to come; begun : those in finished phases and the present one; elapsed :
    i8[operations, ranks] of each finished phase."""

    step: Step
    left: int
    begun: int = 0
    elapsed: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class Volume:
    """So many operations, each of so many messages and bytes on the wire in all, between these hosts. more : whether
    further ones may follow."""

    operations: int
    messages: int
    wire_bytes: int
    pairs: Pairs
    more: bool = False


class Sweep:
    """A run of a command. `first` gives the first phase; each phase leads to the next (`Workload.following`).

    report : what it prints. The same on every rank of MPI.
    """

    def __init__(self, command: Command, shape: Shape, report: Report):
        self.command, self.shape, self.report = command, shape, report
        self._steps = steps(command, shape.ranks) if shape.fits else iter(())
        self._running: _Running | None = None
        self._halves: list[Measured] = []
        self._said = self._said_few = False
        self._series = (Series(shape.steady_from_bytes), Series(shape.steady_from_bytes))
        self._series_key: tuple[Any, ...] = ()
        self._now_ps = 0

    def first(self) -> Workload | None:
        """The first phase, None when nothing has to be simulated."""
        if not self.shape.fits:
            self.report.skip(self.shape.ranks)
        return self._next()

    def volumes(self) -> Iterator[Volume]:
        """What is simulated, for a projection. With `steady`, sizes may be left out, and iterations may follow."""
        once = replace(self.command, cycles=1)
        for step in steps(once, self.shape.ranks) if self.shape.fits else ():
            if step.moved.part_bytes and not step.in_place and not self._left_out(step):
                messages, wire_bytes = self.shape.messages(step.moved)
                times = 2 * self.command.cycles if step.timed else 1        # out-of-place and in-place
                yield Volume(times * self._operations(step), messages, wire_bytes,
                             self.shape.pairs(step.moved, step.test.root),
                             self._few(step) and self.command.operations > STEADY_OPERATIONS)

    def _following(self, workload: Workload, phase: Phase) -> Workload | None:
        running = self._running
        assert running is not None
        self._take(workload, phase)
        running.left = running.left or self._more(running)
        if running.left:
            return self._phase()
        self._running = None
        self._conclude(running)
        return self._next()

    # ---- forward -----------------------------------------------------------------------------------------------------
    def _next(self) -> Workload | None:
        """The first phase of the next step that is simulated; those before it are concluded."""
        for step in self._steps:
            if step.moved.part_bytes == 0:
                self._idle(step)
            elif self._left_out(step):
                self._say_left_out()
            elif not self._extrapolate(step):
                self._running = _Running(step, self._operations(step))
                return self._phase()
        self.report.finish()
        return None

    def _left_out(self, step: Step) -> bool:
        """Whether a warm-up is of a size that `steady` may not simulate at all."""
        return self.shape.steady and not step.timed and step.moved.row_bytes > self.shape.steady_from_bytes

    def _say_left_out(self) -> None:
        if not self._said:
            self._said = True
            self.report.note(f"steady: the warm-up is not simulated above {self.shape.steady_from_bytes} bytes")

    def _operations(self, step: Step) -> int:
        """Operations that are simulated, with `steady` at first: more follow while they are not alike."""
        whole = self.command.operations if step.timed else self.command.warm_up
        return min(whole, STEADY_OPERATIONS) if self._few(step) else whole

    def _few(self, step: Step) -> bool:
        """Whether a few iterations may stand for all: with `steady`, where each is launched by itself."""
        return self.shape.steady and step.timed and self.command.aggregated == 1 and not self.command.graph

    def _more(self, running: _Running) -> int:
        """Operations that have to follow those simulated: none once the last two took the same within 1 %."""
        whole = self.command.operations
        if not self._few(running.step) or running.begun >= whole:
            return 0
        if alike(np.concatenate(running.elapsed), self.command, STEADY_WITHIN):
            return 0
        return min(whole - running.begun, STEADY_OPERATIONS)

    def _launch_share(self, step: Step) -> int:
        """Operations that share a launch: those of -m, those of a graph (-G). The warm-up aggregates nothing."""
        if not step.timed:
            return 1
        whole = self.command.iterations * self.command.aggregated
        return whole if self.command.graph else self.command.aggregated

    def _phase(self) -> Workload:
        running = self._running
        assert running is not None
        step = running.step
        most = 1 if self.command.blocking == 1 else self.shape.operations_a_phase(step.moved)
        count = min(running.left, most)
        share = self._launch_share(step)
        launches_ps = [0 if (running.begun + i) % share else self.shape.launch_ps for i in range(count)]
        graph = phase_graph(self.command.program, step.test, step.moved, self.shape.ranks, launches_ps)
        workload = self.shape.lower(graph, step.moved)
        running.left -= count
        running.begun += count
        workload.application = "nccl-tests"
        workload.following = partial(self._following, workload)
        workload.pause_ps, workload.notices, workload.sweep = self.shape.barrier_ps, self.shape.notices, self
        return workload

    # ---- results -----------------------------------------------------------------------------------------------------
    def _take(self, workload: Workload, phase: Phase) -> None:
        """Note the times of a phase's operations; with -z 1 all wait for the slowest rank and the barrier."""
        running = self._running
        assert running is not None
        self._now_ps = phase.end_ps
        waits = self.command.blocking == 1
        elapsed = elapsed_ps(workload, phase, self.shape.ranks, waits or self.command.program in sizes.ROOTED)
        if waits:
            elapsed += self.shape.barrier_ps
        running.elapsed.append(elapsed)

    def _conclude(self, running: _Running) -> None:
        if not running.step.timed:
            return
        elapsed = np.concatenate(running.elapsed)
        simulated, whole = len(elapsed), self.command.operations
        if simulated < whole:                  # the others take as long as the last
            elapsed = np.concatenate([elapsed, np.repeat(elapsed[-1:], whole - simulated, axis=0)])
            self._say_few()
        seconds = combined_s(elapsed, self.command)
        self._column(running.step).add(running.step.moved.row_bytes, seconds, self.shape.choice(running.step.moved))
        self._measured(running.step, seconds,
                       iteration_figures(elapsed, self.command) if self.command.per_iteration else None,
                       simulated=simulated)

    def _say_few(self) -> None:
        if not self._said_few:
            self._said_few = True
            self.report.note(f"steady: of -n {self.command.iterations} iterations only the first are simulated, until "
                             "two take the same within 1 %; the others count as the last of them")

    def _idle(self, step: Step) -> None:
        """A step that moves nothing takes its launches and no simulation."""
        if step.timed:
            self._constant(step, self._launch_s(step))

    def _launch_s(self, step: Step) -> float:
        """Seconds of launches an operation."""
        operations = self._operations(step)
        return -(-operations // self._launch_share(step)) * self.shape.launch_ps / 1e12 / operations

    def _extrapolate(self, step: Step) -> bool:
        if not self.shape.steady or not step.timed:
            return False
        series, size = self._column(step), step.moved.row_bytes
        sources = series.sources(size, self.shape.choice(step.moved))
        if sources:
            self._constant(step, series.extrapolated(size), sources)
        return bool(sources)

    def _constant(self, step: Step, seconds: float, sources: tuple[int, ...] = ()) -> None:
        """A measurement that was not simulated: every iteration takes the same."""
        one_by_one = figures([seconds * 1e6] * self.command.iterations) if self.command.per_iteration else None
        self._measured(step, seconds, one_by_one, sources)

    def _column(self, step: Step) -> Series:
        """The series of a step's column; a new one for each test and cycle."""
        key = (step.test, step.cycle)
        if key != self._series_key:
            self._series_key = key
            self._series = (Series(self.shape.steady_from_bytes), Series(self.shape.steady_from_bytes))
        return self._series[step.in_place]

    def _measured(self, step: Step, seconds: float, one_by_one: Iterations | None,
                  sources: tuple[int, ...] = (), simulated: int = 0) -> None:
        algbw, busbw = sizes.bandwidths(self.command.program, step.moved, self.shape.ranks, seconds)
        shown_s = self._launch_s(step) if self.command.cpu_time else seconds
        self._halves.append(Measured(shown_s * 1e6, algbw, busbw, one_by_one, sources, simulated))
        if len(self._halves) == 2:
            self.report.row(step.test, step.moved, step.cycle, (self._halves[0], self._halves[1]), self._now_ps)
            self._halves = []
