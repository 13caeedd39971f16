"""Files of jobs and of the scheduler's settings (README.md)."""

from distsim.scheduler.read.conf import read_conf
from distsim.scheduler.read.jobs import read_jobs

__all__ = ["read_conf", "read_jobs"]
