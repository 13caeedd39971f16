"""The phases of a training, one after the other: start-up, steps between lines of the log, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from distsim.workload.nccl_tests.sweep import Volume
from distsim.workload.types import Phase, Workload

from .program import Program
from .report import Report
from .shape import Shape, ends_of
from .spec import TrainingSpec


@dataclass(frozen=True)
class Command:
    """What stands for the command line of nccl-tests: the name of what is run."""

    program: str = "training"


@dataclass(frozen=True)
class Part:
    """A phase. kind : startup, steps or checkpoint; steps `first` to `last`, for a checkpoint the step before it;
    simulated : whether steps are simulated."""

    kind: str
    first: int = 0
    last: int = 0
    simulated: bool = True


def parts(spec: TrainingSpec, simulated: int, most: int) -> Iterator[Part]:
    """All phases in order. Steps are parted at the lines of the log, before and after checkpoints, where simulating
    ends, and after `most` steps."""
    if spec.startup:
        yield Part("startup")
    every = spec.checkpoint.every if spec.checkpoint is not None else 0
    done = 0
    while done < spec.steps:
        real = done < simulated
        stops = [1 if done == 0 else (done // spec.log_interval + 1) * spec.log_interval, spec.steps]
        if every:
            stops.append((done // every + 1) * every)
        if real:
            stops += [simulated, done + most]
        stop = min(stops)
        yield Part("steps", done + 1, stop, real)
        done = stop
        if every and done % every == 0:
            yield Part("checkpoint", done, done)


class Training:
    """A run of a training. `first` gives the first phase; each leads to the next (`Workload.following`).

    report : what it prints. The same on every rank of MPI. `command`, `shape`, `volumes` are what a Sweep has.
    """

    def __init__(self, shape: Shape):
        self.command, self.shape = Command(), shape
        self.report = Report(shape.spec, shape.degrees)
        self._parts = parts(shape.spec, shape.simulated, shape.steps_a_phase)
        self._part: Part | None = None
        self._program: Program | None = None
        self._step_ps = 0                          # of the last simulated step

    def first(self) -> Workload:
        """The first phase."""
        workload = self._next()
        assert workload is not None
        return workload

    def volumes(self) -> Iterator[Volume]:
        """What is simulated, for a projection."""
        return self.shape.volumes()

    def _next(self) -> Workload | None:
        self._part = next(self._parts, None)
        if self._part is None:
            self.report.finish()
            return None
        self._program = self._nodes(self._part)
        workload = self.shape.lower(self._program)
        workload.application = "training"
        workload.following = partial(self._following, workload)
        workload.notices, workload.sweep = self.shape.notices, self
        return workload

    def _nodes(self, part: Part) -> Program:
        spec, count = self.shape.spec, part.last - part.first + 1
        if part.kind == "steps" and part.simulated:
            return self.shape.program(count)
        if part.kind == "steps":
            return self.shape.program(0, count * self._step_ps)
        pause_ps = spec.startup if part.kind == "startup" or spec.checkpoint is None else spec.checkpoint.pause
        return self.shape.program(0, int(pause_ps))

    def _following(self, workload: Workload, phase: Phase) -> Workload | None:
        part, program = self._part, self._program
        assert part is not None and program is not None
        ends_ps = phase.done_ps[ends_of(workload, program, self.shape.ranks)].max(axis=1)
        if part.kind == "startup":
            self.report.started(int(ends_ps[-1]))
        elif part.kind == "checkpoint":
            self.report.saved(part.last, phase.start_ps, int(ends_ps[-1]))
        elif part.simulated:
            begins_ps = np.concatenate([[phase.start_ps], ends_ps[:-1]])
            self._step_ps = int(ends_ps[-1] - begins_ps[-1])
            self.report.steps(part.first, begins_ps.tolist(), ends_ps.tolist(), simulated=True)
        else:
            begins = [phase.start_ps + at * self._step_ps for at in range(part.last - part.first + 1)]
            self.report.steps(part.first, begins, [begin + self._step_ps for begin in begins], simulated=False)
        return self._next()
