"""Logs of trainers whose times are worked out by hand: a line every step, second 0 is 2026-03-01 12:00:00."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from distsim.measure.goodput.progress import Progress
from distsim.measure.goodput.running import GoodputRun
from distsim.measure.goodput.section import GoodputMeasurementSection

S = 10**12
ZERO = datetime(2026, 3, 1, 12, tzinfo=UTC)
ZERO_PS = int(ZERO.timestamp()) * S
START = ("using world size: 16, data-parallel size: 8, context-parallel size: 1, hierarchical context-parallel sizes: "
         "None, tensor-model-parallel size: 2, pipeline-model-parallel size: 1")


def clock(second: float) -> str:
    return (ZERO + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S.%f")


def step(number: int, second: float, ms: float = 1000.0, tflops: float | None = 400.0) -> str:
    """A line of Megatron-LM's training log."""
    rate = "" if tflops is None else f" throughput per GPU (TFLOP/s/GPU): {tflops:.1f} |"
    return (f" [{clock(second)}] iteration {number:8d}/  158945 | consumed samples: {768 * number:12d} |"
            f" elapsed time per iteration (ms): {ms:.1f} |{rate} learning rate: 2.000000E-06 |"
            f" global batch size:   768 | lm loss: 1.172175E+01 | loss scale: 1.0 | grad norm: 9.782 | number of"
            f" skipped iterations:   0 | number of nan iterations:   0 |")


def saving(number: int, second: float) -> str:
    return f"[{clock(second)}] saving checkpoint at iteration {number:7d} to /mnt/ckpt in torch_dist format"


def saved(number: int, second: float) -> str:
    return f"[{clock(second)}] scheduled an async checkpoint save at iteration {number:7d} to /mnt/ckpt"


def stamped(second: float, line: str) -> str:
    """With the time stamp that Kubernetes puts before it."""
    return (ZERO + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z " + line


def run_of(profile: str = "megatron-training", interval: str = "60s") -> GoodputRun:
    return GoodputRun(GoodputMeasurementSection(logProfileRef=profile, sampleInterval=interval), "train")


def at(second: float) -> int:
    return ZERO_PS + round(second * S)


def progress_of(lines: list[str], profile: str = "megatron-training") -> Progress:
    from distsim.measure.goodput.profile import builtin_profile

    found = builtin_profile(profile)
    assert found is not None
    progress = Progress(found)
    for line in lines:
        progress.line(line.encode())
    return progress
