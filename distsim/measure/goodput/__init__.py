"""Goodput of training jobs from their logs, as GoodputMeasurement documents it (README.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .log import measure_log
    from .profile import TrainingProfile, load_profile
    from .running import GoodputRun
    from .section import GoodputMeasurementSection
    from .status import GoodputStatus
    from .values import judge, measured_values

_HOMES = {"measure_log": "log", "TrainingProfile": "profile", "load_profile": "profile", "GoodputRun": "running",
          "GoodputMeasurementSection": "section", "GoodputStatus": "status", "judge": "values",
          "measured_values": "values"}
__all__ = ["GoodputMeasurementSection", "GoodputRun", "GoodputStatus", "TrainingProfile", "judge", "load_profile",
           "measure_log", "measured_values"]


def __getattr__(name: str) -> Any:
    """Names load when they are used: the section needs neither RE2 nor a profile."""
    if name not in _HOMES:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
