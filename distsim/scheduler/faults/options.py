"""What a job says of its own recovery beyond the seed's keys: annotations (or labels) that mind-cluster has elsewhere.

| key | value | stands for |
|---|---|---|
| recover-strategy | list with recover-in-place | the same key upstream (clusterd, constant.RecoverStrategies) |
| distsim/subscribe-faults | "on" | an inference job has called SubscribeFaultMsgSignal of clusterd |
| distsim/hot-reset | "on" | hotReset=1 of the device plugins (graceful fault tolerance) |
| distsim/graceful-end | a time, default 0 | how long a pod takes to end by itself, checkpoint included |
"""

from __future__ import annotations

from dataclasses import dataclass

from distsim.errors import InputError
from distsim.quantities import parse_time
from distsim.scheduler.types import Job

STRATEGY, SUBSCRIBE = "recover-strategy", "distsim/subscribe-faults"
HOT_RESET, GRACEFUL_END = "distsim/hot-reset", "distsim/graceful-end"
IN_PLACE = "recover-in-place"
PS_PER_MS = 10**9


@dataclass(frozen=True)
class Options:
    """in_place : faulty processes are restarted where they are. graceful_ms : until a pod has ended by itself."""

    in_place: bool = False
    subscribed: bool = False
    hot_reset: bool = False
    graceful_ms: int = 0


def options_of(job: Job) -> Options:
    """The options of a job; InputError with file and line for a value that is none."""
    strategies = [part.strip() for part in _text(job, STRATEGY).split(",")]
    return Options(IN_PLACE in strategies, _switch(job, SUBSCRIBE), _switch(job, HOT_RESET), _graceful_ms(job))


def _text(job: Job, key: str) -> str:
    return job.annotations.get(key, job.labels.get(key, ""))


def _switch(job: Job, key: str) -> bool:
    value = _text(job, key)
    if value not in ("", "on", "off"):
        raise InputError(f"{key}: {value!r} is not valid; valid values: on, off", file=job.file or None, line=job.line,
                         where=f"job {job.uid}")
    return value == "on"


def _graceful_ms(job: Job) -> int:
    value = _text(job, GRACEFUL_END)
    try:
        return -(-parse_time(value or 0) // PS_PER_MS)
    except ValueError as error:
        raise InputError(f"{GRACEFUL_END}: {error}", file=job.file or None, line=job.line,
                         where=f"job {job.uid}") from None
