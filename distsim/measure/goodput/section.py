"""The section `goodputMeasurement` of a job: how its goodput is measured while it runs.

Field names and durations are those of the GoodputMeasurement resource (NVIDIA/cluster-readiness-engine). Importing this
needs neither RE2 nor a profile.
"""

from __future__ import annotations

from pydantic import Field, field_validator

from distsim.measure.section import LEAST_INTERVAL_S, is_file_name
from distsim.measure.units import parse_duration_s
from distsim.quantities import StrictModel

from ..profile_names import BUILTIN as BANDWIDTH_PROFILES
from .profile_names import BUILTIN


class GoodputMeasurementSection(StrictModel):
    """What is measured, and how often; times are simulated ones."""

    logProfileRef: str = Field(
        min_length=1, description=f"Log profile: {', '.join(BUILTIN)}, or a YAML file (.yaml, .yml or with a /). A "
                                  "profile of bandwidth reads no steps.")
    sampleInterval: str = Field(
        "60s", description="Time between two samples of the log while the job runs, a Go duration of 1us or more.")

    @field_validator("logProfileRef")
    @classmethod
    def _profile(cls, text: str) -> str:
        if text not in (*BUILTIN, *BANDWIDTH_PROFILES) and not is_file_name(text):
            raise ValueError(f"{text!r} is not valid; valid values: {', '.join((*BUILTIN, *BANDWIDTH_PROFILES))}, or a "
                             "YAML file")
        return text

    @field_validator("sampleInterval")
    @classmethod
    def _interval(cls, text: str) -> str:
        if parse_duration_s(text) < LEAST_INTERVAL_S:
            raise ValueError(f"{text!r} is out of range; valid: 1us or more (default 60s)")
        return text
