"""What a training writes: the log of its launcher as Megatron-LM's trainer writes it, and a file of its steps.

The lines are those that the log profiles megatron-training and megatron-bridge read (NVIDIA/cluster-readiness-engine).
Time stamps are simulated time, counted from 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from distsim.workload.simai_degrees import DP, Degrees

from .spec import TrainingSpec

STEPS = "training-steps.csv"
_CSV_COLUMNS = "step,begin_ps,end_ps,simulated"


class Report:
    """Collects lines; `take_lines` hands out what is new.

    table : lines that a terminal shows. Files are named by what follows ``{simulation}-``. On every rank the report is
    the same; one of them writes it.
    """

    LOG = "launcher.log"

    def __init__(self, spec: TrainingSpec, degrees: Degrees):
        self._spec = spec
        self.table: list[str] = []
        self._lines = [
            f"using world size: {degrees.gpus}, data-parallel size: {degrees.members(DP)}, context-parallel size: 1, "
            f"tensor-model-parallel size: {degrees.tp}, pipeline-model-parallel size: 1",
            "# distsim: simulated; losses are not computed and stand as 0"]
        self._rows: list[str] = []
        self._begun = False
        self._said = 0                             # last step that has a line
        self._since_ps = 0                         # time of the steps after it
        self._told = False
        self._last_ps = 0

    def take_lines(self) -> list[str]:
        """The log's lines since the last call, without newlines."""
        lines, self._lines = self._lines, []
        return lines

    def files(self) -> dict[str, str]:
        """Whole files beside the log, name -> content; may be asked for before the end."""
        return {STEPS: "\n".join([_CSV_COLUMNS, *self._rows]) + "\n"}

    def started(self, time_ps: int) -> None:
        """The start-up is over."""
        self._begun = True
        self._lines.append(f"[before the start of training step] datetime: {clock(time_ps)}")

    def steps(self, first: int, begins_ps: Sequence[int], ends_ps: Sequence[int], simulated: bool) -> None:
        """Steps from number `first` on have been done; a line after each that has one."""
        if not self._begun:
            self.started(begins_ps[0])
        if not simulated and not self._told:
            self._told = True
            self._say(f"# distsim: iterations from {first} on are not simulated; each takes as long as iteration "
                      f"{first - 1}")
        for step, (begin_ps, end_ps) in enumerate(zip(begins_ps, ends_ps, strict=True), first):
            self._rows.append(f"{step},{begin_ps},{end_ps},{int(simulated)}")
            self._since_ps += end_ps - begin_ps
            self._last_ps = end_ps
            if step == 1 or step % self._spec.log_interval == 0:
                self._say(self._line(step, end_ps))
                self._said, self._since_ps = step, 0

    def saved(self, step: int, begin_ps: int, end_ps: int) -> None:
        """A checkpoint after a step."""
        checkpoint = self._spec.checkpoint
        assert checkpoint is not None
        self._lines += [
            f"[{clock(begin_ps)}] saving checkpoint at iteration {step:7d} to {checkpoint.path} in torch_dist format",
            f"[{clock(end_ps)}] scheduled an async checkpoint save at iteration {step:7d} to {checkpoint.path}"]
        self._last_ps = end_ps

    def finish(self) -> None:
        """The last line."""
        self._lines.append(f"[after training is done] datetime: {clock(self._last_ps)}")

    def _say(self, line: str) -> None:
        self._lines.append(line)
        self.table.append(line)

    def _line(self, step: int, end_ps: int) -> str:
        spec, mean_s = self._spec, self._since_ps / (step - self._said) / 1e12
        tflops = spec.flops / mean_s / 1e12 if mean_s else 0.0
        return (f" [{clock(end_ps)}] iteration {step:8d}/{spec.steps:8d} |"
                f" consumed samples: {step * spec.global_batch:12d} |"
                f" elapsed time per iteration (ms): {figure(mean_s * 1e3)} |"
                f" throughput per GPU (TFLOP/s/GPU): {figure(tflops)} |"
                f" global batch size: {spec.global_batch:5d} | lm loss: 0.000000E+00 |"
                f" number of skipped iterations: {0:3d} | number of nan iterations: {0:3d} |")


def figure(value: float) -> str:
    """One decimal, as Megatron-LM has it, for large figures and 0; six for those that would lose more than 0.005 %."""
    return f"{value:.1f}" if value >= 1000 or value == 0 else f"{value:.6f}"


def clock(time_ps: int) -> str:
    """Simulated time as a trainer writes the time of day, to the microsecond (cut off)."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ps // 10**6)).strftime(
        "%Y-%m-%d %H:%M:%S.%f")
