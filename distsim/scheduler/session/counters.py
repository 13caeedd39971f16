"""The annotations that the scheduler itself keeps on a PodGroup (seed 001, PodGroup Table 2; cluster.md section 5)."""

from __future__ import annotations

from distsim.scheduler.types import Job

ENQUEUE_TIME = "huawei.com/schedule_enqueue_time"                  # milliseconds
DEQUEUE_FREQUENCY = "huawei.com/schedule_dequeue_frequency"


def enqueue_time(job: Job) -> int | None:
    """When a job went to Inqueue, in ms; None without the annotation or where it is no number."""
    return _number(job.annotations.get(ENQUEUE_TIME))


def dequeue_frequency(job: Job) -> int:
    """How often a job was dequeued; 0 without the annotation or where it is no number."""
    return _number(job.annotations.get(DEQUEUE_FREQUENCY)) or 0


def note_enqueued(job: Job, now_ms: int) -> None:
    """Record when a job went to Inqueue."""
    job.annotations[ENQUEUE_TIME] = str(now_ms)


def note_dequeued(job: Job) -> None:
    """Record that a job was dequeued once more: the counter, which begins anew where it is no number."""
    job.annotations.pop(ENQUEUE_TIME, None)
    job.annotations[DEQUEUE_FREQUENCY] = str(dequeue_frequency(job) + 1)


def forget(job: Job) -> None:
    """Take both away from a job that is neither Inqueue nor Pending."""
    job.annotations.pop(ENQUEUE_TIME, None)
    job.annotations.pop(DEQUEUE_FREQUENCY, None)


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
