"""The gang scheduler that a run asks for, and that intent with its defaults filled in."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from distsim.cluster.labels import check_key
from distsim.quantities import StrictModel

from .labels import reserved

DEFAULT_QUEUE = "default-queue"
DEFAULT_LABEL_KEY = "kai.scheduler/queue"
KAI = "kai-scheduler"
_QUEUE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9._-]*[a-zA-Z0-9])?")
_RESERVED = ("queueLabelKey must not use the controller-owned key app.kubernetes.io/managed-by or any key under the "
             "nvcre.nvidia.com/ prefix")


class GangScheduler(StrictModel):
    """All pods of a job at once or none: the scheduler, its queue, and the label that names the queue."""

    schedulerName: str = Field(min_length=1, description="name of the scheduler, e.g. kai-scheduler")
    queue: str = Field(DEFAULT_QUEUE, description="queue of the job")
    queueLabelKey: str = Field(DEFAULT_LABEL_KEY, description="label that names the queue, e.g. runai/queue")

    @field_validator("queue")
    @classmethod
    def _queue(cls, name: str) -> str:
        if name and (len(name) > 63 or not _QUEUE.fullmatch(name)):
            raise ValueError(f"{name!r} is not a queue name: at most 63 letters, digits, '-', '_' and '.', beginning "
                             f"and ending with a letter or digit (default {DEFAULT_QUEUE})")
        return name or DEFAULT_QUEUE

    @field_validator("queueLabelKey")
    @classmethod
    def _key(cls, key: str) -> str:
        if len(key.partition("/")[0]) > 253 and "/" in key:
            raise ValueError("queueLabelKey prefix must be at most 253 characters")
        if key:
            check_key(key, "label")
        if reserved(key):
            raise ValueError(_RESERVED)
        return key or DEFAULT_LABEL_KEY
