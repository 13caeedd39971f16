"""What a scheduler's state says to a user: jobs with ranks, reasons and crossings, and what the cluster has left."""

from __future__ import annotations

from distsim.scheduler.explain.capacity import capacity
from distsim.scheduler.explain.job import Paths, explained
from distsim.scheduler.explain.outcome import FAILED, PENDING, SCHEDULED, job_entry, outcome, ranked, reason_of
from distsim.scheduler.explain.wires import Wires, chips_of, nics_of_chips

__all__ = ["FAILED", "PENDING", "SCHEDULED", "Paths", "Wires", "capacity", "chips_of", "explained", "job_entry",
           "nics_of_chips", "outcome", "ranked", "reason_of"]
