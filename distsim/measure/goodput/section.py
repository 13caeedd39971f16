"""The section `goodputMeasurement` of a job: how its goodput is measured while it runs.

Field names and durations are those of the GoodputMeasurement resource (NVIDIA/cluster-readiness-engine). Importing this
needs neither RE2 nor a profile.
"""

from __future__ import annotations

from pydantic import Field, field_validator

from distsim.quantities import StrictModel

from ..profile_names import BUILTIN as BANDWIDTH_PROFILES
from ..section import Interval, known_profile
from .profile_names import BUILTIN


class GoodputMeasurementSection(StrictModel):
    """What is measured, and how often; times are simulated ones."""

    logProfileRef: str = Field(
        min_length=1, description=f"Log profile: {', '.join(BUILTIN)}, or a YAML file (.yaml, .yml or with a /). A "
                                  "profile of bandwidth reads no steps.")
    sampleInterval: Interval = "60s"

    @field_validator("logProfileRef")
    @classmethod
    def _profile(cls, text: str) -> str:
        return known_profile(text, (*BUILTIN, *BANDWIDTH_PROFILES))
