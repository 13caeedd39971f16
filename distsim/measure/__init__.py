"""Bus bandwidth from nccl-tests logs, measured as a cluster's controller does. Reads files, imports no engine."""

from .lifecycle import JobStatus, Measurement, measure
from .profile import LogProfile, ProfileError, builtin_profile, load_profile
from .status import Reason
from .threshold import EXIT_THRESHOLD, Threshold, Verdict

__all__ = [
    "EXIT_THRESHOLD",
    "JobStatus",
    "LogProfile",
    "Measurement",
    "ProfileError",
    "Reason",
    "Threshold",
    "Verdict",
    "builtin_profile",
    "load_profile",
    "measure",
]
