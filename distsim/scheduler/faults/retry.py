"""How often a job may still be restarted: fault-retry-times for failed pods and processes, maxRetry for RestartJob.

Source: seed 001 (fault-retry-times, remain-retry-times); isFaultJobCanRestarted and doRestartJob in
component/ascend-for-volcano/internal/rescheduling; volcano pkg/controllers/job/state/restarting.go.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from distsim.scheduler.types import Job


@dataclass
class Retries:
    """remaining : by job uid, of those that rescheduling has looked at. restarts : RestartJobs done."""

    remaining: dict[str, int] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)

    def know(self, job: Job) -> None:
        """Begin to count for a job."""
        self.remaining.setdefault(job.uid, job.settings.fault_retry_times or 0)

    def take(self, job: Job) -> bool:
        """Use one retry; False when none is left. Only failed pods and processes use one, hardware does not."""
        self.know(job)
        if self.remaining[job.uid] <= 0:
            return False
        self.remaining[job.uid] -= 1
        return True

    def restart(self, job: Job) -> bool:
        """Count a RestartJob; False once there have been maxRetry of them (that one fails the job)."""
        self.restarts[job.uid] = self.restarts.get(job.uid, 0) + 1
        return self.restarts[job.uid] < job.max_retry

    def document(self) -> dict[str, dict[str, object]]:
        """remain-retry-times: job uid -> UUID and Times."""
        return {uid: {"UUID": job_uuid(uid), "Times": times} for uid, times in self.remaining.items()}


def job_uuid(uid: str) -> str:
    """The UID of a job's object, made from its name: the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"distsim:job/{uid}"))
