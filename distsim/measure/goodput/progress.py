"""From the lines of a training's log to steps, checkpoints and interruptions; memory does not grow with the log.

Rules: NVIDIA/cluster-readiness-engine, pkg/goodput/parser.go (what a line is), pkg/goodput/calculator.go (the ratio),
pkg/controller/goodputmeasurement_controller.go (what is counted). Instants are picoseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass

from .profile import DONE, RESTORE, SAVE, START, STEP, WARMUP, TrainingProfile, real, whole
from .times import SECOND_PS, kubernetes_stamp


@dataclass
class Interruption:
    """An interruption that no step has followed yet. lost_s : work since the last checkpoint."""

    at_ps: int
    checkpoint_ps: int | None
    checkpoint_step: int
    last_step: int
    lost_s: float
    reason: str


@dataclass
class Mean:
    """A running mean."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """One value more."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        """The mean, 0 of nothing."""
        return self.total / self.count if self.count else 0.0


@dataclass
class Saving:
    """A checkpoint whose saving has begun. complete : the line had the duration, so a done line adds nothing."""

    step: int
    begin_ps: int | None
    complete: bool = False


class Progress:
    """Takes the lines of one log in turn and knows at any time what they come to.

    end_ps : nothing that was written later counts; None: all counts. Times without a unit in their name are seconds.
    """

    def __init__(self, profile: TrainingProfile, end_ps: int | None = None):
        self.profile, self._end_ps = profile, end_ps
        self._interval = max(1, profile.log_interval)
        self.first_ps: int | None = None           # first and last time stamp in the log
        self.last_ps: int | None = None
        self.start_ps: int | None = None           # applicationStart of this run
        self.training = False                      # whether this run has had a step
        self.current = self.highest = 0
        self.step_ps: int | None = None            # of the last step that is no warm-up
        self.base: int | None = None               # first step of this run
        self.steps = self.passed_over = 0          # steps that count; those between the profile's log interval
        self.resume_s = self.lost_s = self.reschedule_s = self.save_s = 0.0
        self.warmup_s = self.steady_s = 0.0        # time of steps that warm up, and of the others
        self.tflops = Mean()
        self.checkpoint_step = 0
        self.checkpoint_ps: int | None = None
        self.interruptions = 0
        self.pending: Interruption | None = None
        self._timings, self._gaps = Mean(), Mean()
        self._before = self._watermark = 0         # step before; highest step whose time has been counted
        self._before_ps: int | None = None         # of the step before that was no warm-up
        self._before_steady = 0
        self._counted_checkpoint = 0
        self._new_run = False
        self._saving: Saving | None = None

    @property
    def step_s(self) -> float:
        """Mean time of a step that is no warm-up: as the log says, else from time stamps; 0 if there is none."""
        return self._timings.value or self._gaps.value

    def line(self, raw: bytes, stamp_ps: int | None = None) -> None:
        """Take one line without its newline. stamp_ps : when it was written, if it does not say so itself."""
        own_ps, text = kubernetes_stamp(raw)
        stamp_ps = stamp_ps if own_ps is None else own_ps
        self._seen(stamp_ps)
        if (fields := self.profile.fields(START, text)) is not None:
            self._started(self.profile.time_ps(fields, stamp_ps))      # and on: a broad expression matches other lines
        for kind, take in ((STEP, self._step), (DONE, self._done), (SAVE, self._save)):
            if (fields := self.profile.fields(kind, text)) is not None:
                time_ps = self.profile.time_ps(fields, stamp_ps)
                self._seen(time_ps)
                if not self._late(time_ps):
                    take(fields, time_ps, text)
                return
        if self.profile.fields(RESTORE, text) is not None:
            self._new_run = True

    def interrupted(self, time_ps: int, reason: str = "WorkloadRestarted") -> None:
        """The job was interrupted: work since the last checkpoint is lost, and the next step begins another run."""
        if not self.training or self.pending is not None:
            return
        self.fail(time_ps, reason)
        self.training, self.start_ps, self.step_ps = False, None, None

    def fail(self, time_ps: int, reason: str) -> None:
        """Count an interruption."""
        lost_s = (time_ps - self.checkpoint_ps) / SECOND_PS if self.checkpoint_ps is not None else 0.0
        self.pending = Interruption(time_ps, self.checkpoint_ps, self.checkpoint_step, self.current, lost_s, reason)
        self.lost_s += lost_s
        self.interruptions += 1

    def goodput(self, training_s: float) -> float:
        """(t_w - t_ch - t_rm - t_re - t_save) / (t_w - t_re), 0 where that is negative or there is no t_w - t_re."""
        whole_s = training_s - self.reschedule_s
        useful_s = whole_s - self.resume_s - self.lost_s - self.save_s
        return max(0.0, useful_s) / whole_s if whole_s > 0 else 0.0

    # ---- lines -------------------------------------------------------------------------------------------------------
    def _seen(self, time_ps: int | None) -> None:
        if time_ps is not None and not self._late(time_ps):
            self.first_ps = time_ps if self.first_ps is None else self.first_ps
            self.last_ps = time_ps

    def _late(self, time_ps: int | None) -> bool:
        return time_ps is not None and self._end_ps is not None and time_ps > self._end_ps

    def _started(self, time_ps: int | None) -> None:
        """The first start of a run counts; in mid-training a match is no start."""
        if not self.training and self.start_ps is None and time_ps is not None and not self._late(time_ps):
            self.start_ps = time_ps

    def _step(self, fields: dict[str, str], time_ps: int | None, text: bytes) -> None:
        step = whole(fields.get("globalStep", "")) or whole(fields.get("iteration", ""))
        if step % self._interval:
            self.passed_over += 1          # the first line after a start, whose time holds the start's
            return
        event = self.profile.events[STEP]
        timing_s = event.seconds(fields, "stepTiming") or event.seconds(fields, "elapsedTime")
        self.steps += 1
        self._run(step, time_ps)
        assert self.base is not None
        warm = step - self.base < self.profile.warmup_steps or self.profile.fields(WARMUP, text) is not None
        self._time(step, timing_s, warm)
        if not warm:
            self._steady(step, timing_s, time_ps)
        if (tflops := real(fields.get("tflops", ""))) > 0:
            self.tflops.add(tflops)
        self.current, self.highest = step, max(self.highest, step)

    def _run(self, step: int, time_ps: int | None) -> None:
        """Begin a run with its first step: what came before it is start-up, or the end of an interruption."""
        first, self.training = not self.training, True
        if first or self._new_run:
            self.base, self._new_run = step, False
        if not first or time_ps is None:
            return
        begun_ps = time_ps if self.start_ps is None else self.start_ps
        if self.pending is not None:
            if not self.pending.checkpoint_step:   # from scratch: what was done before counts no longer
                self.warmup_s = self.steady_s = 0.0
            self.reschedule_s += max(0, begun_ps - self.pending.at_ps) / SECOND_PS
            self._before = self._watermark = 0
            self._before_ps = self.pending = None
        self.resume_s += max(0, time_ps - begun_ps) / SECOND_PS

    def _time(self, step: int, timing_s: float, warm: bool) -> None:
        """The log's time of a step is a mean since the line before, so it counts for all steps in between."""
        if step > self._watermark and timing_s > 0:
            steps = step - self._before
            if not self._before or steps < 1:
                steps = self._interval
            if warm:
                self.warmup_s += timing_s * steps
            else:
                self.steady_s += timing_s * steps
        self._before, self._watermark = step, max(step, self._watermark)

    def _steady(self, step: int, timing_s: float, time_ps: int | None) -> None:
        if timing_s > 0:
            self._timings.add(timing_s)
        if time_ps is None:
            return
        if self._before_ps is not None and time_ps > self._before_ps:
            self._gaps.add((time_ps - self._before_ps) / SECOND_PS / max(1, step - self._before_steady))
        self._before_ps, self._before_steady, self.step_ps = time_ps, step, time_ps

    def _save(self, fields: dict[str, str], time_ps: int | None, text: bytes) -> None:
        step = whole(fields.get("step", ""))
        complete = bool(fields.get("saveDuration"))
        if complete:
            self._checkpoint(step, time_ps, self.profile.events[SAVE].seconds(fields, "saveDuration"))
        self._saving = Saving(step, time_ps, complete)

    def _done(self, fields: dict[str, str], time_ps: int | None, text: bytes) -> None:
        saving, self._saving = self._saving, None
        if saving is not None and saving.complete:
            return
        step = whole(fields.get("step", "")) or (saving.step if saving is not None else 0)
        if fields.get("saveDuration"):
            took_s = self.profile.events[DONE].seconds(fields, "saveDuration")
        elif saving is not None and saving.begin_ps is not None and time_ps is not None:
            took_s = (time_ps - saving.begin_ps) / SECOND_PS
        else:
            took_s = 0.0
        self._checkpoint(step, time_ps, took_s)

    def _checkpoint(self, step: int, time_ps: int | None, took_s: float) -> None:
        self.checkpoint_step, self.checkpoint_ps = step, time_ps
        if step > self._counted_checkpoint:
            self.save_s += max(0.0, took_s)
            self._counted_checkpoint = step
