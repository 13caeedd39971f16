"""Rounds of the scheduler: enqueue, allocate and backfill, with the gang, queue and order rules (README.md)."""

from __future__ import annotations

from distsim.scheduler.session.conformance import protected
from distsim.scheduler.session.gang import min_available, ready
from distsim.scheduler.session.scheduler import Scheduler

__all__ = ["Scheduler", "min_available", "protected", "ready"]
