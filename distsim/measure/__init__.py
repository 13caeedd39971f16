"""Bus bandwidth from nccl-tests logs, measured as a cluster's controller does. Reads text, imports no engine.

Names are imported when they are used, so that a configuration's section (`measure.section`) loads no RE2.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .lifecycle import JobStatus, Measurement, measure
    from .live import JobMeasurement
    from .profile import LogProfile, ProfileError, builtin_profile, load_profile
    from .running import RunMeasurement
    from .section import BandwidthMeasurementSection
    from .status import Reason
    from .threshold import EXIT_THRESHOLD, Threshold, Verdict

_HOMES = {"JobStatus": "lifecycle", "Measurement": "lifecycle", "measure": "lifecycle", "JobMeasurement": "live",
          "LogProfile": "profile", "ProfileError": "profile", "builtin_profile": "profile", "load_profile": "profile",
          "RunMeasurement": "running", "BandwidthMeasurementSection": "section", "Reason": "status",
          "EXIT_THRESHOLD": "threshold", "Threshold": "threshold", "Verdict": "threshold"}

__all__ = ["EXIT_THRESHOLD", "BandwidthMeasurementSection", "JobMeasurement", "JobStatus", "LogProfile", "Measurement",
           "ProfileError", "Reason", "RunMeasurement", "Threshold", "Verdict", "builtin_profile", "load_profile",
           "measure"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
