"""The section `bandwidthMeasurement` of a configuration: how a simulated job's bandwidth is measured while it runs.

Field names, durations and sizes are those of the BandwidthMeasurement resource (seed 000). Importing this needs neither
RE2 nor a profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from distsim.quantities import StrictModel

from .profile_names import BUILTIN, STRICT
from .units import parse_duration_s, parse_size_bytes

LEAST_INTERVAL_S = 1e-6


def _interval(text: str) -> str:
    if parse_duration_s(text) < LEAST_INTERVAL_S:
        raise ValueError(f"{text!r} is out of range; valid: 1us or more (default 60s)")
    return text


def _duration(text: str) -> str:
    parse_duration_s(text)
    return text


def _size(text: str) -> str:
    parse_size_bytes(text)
    return text


Interval = Annotated[str, AfterValidator(_interval), Field(
    description="Time between two samples of the log while the job runs, a Go duration of 1us or more.")]


class BandwidthMeasurementSection(StrictModel):
    """What is measured, and how often; times are simulated ones."""

    logProfileRef: str = Field(
        STRICT, min_length=1,
        description=f"Log profile: {', '.join(BUILTIN)}, or a YAML file (.yaml, .yml or with a /), from the "
                    "configuration's folder on.")
    sampleInterval: Interval = "60s"
    testType: str = Field(
        "", description="Collective that is measured, e.g. all_reduce: label nccl_test of the gauges. By default the "
                        "workload's own.")
    measurementTimeout: Annotated[str, AfterValidator(_duration)] = Field(
        "5m", description="How long a final read that failed is retried, a Go duration; never less than 2m.")
    containerLogMaxSize: Annotated[str, AfterValidator(_size)] = Field(
        "10Mi", description="Size at which the node rotates the launcher's log; rows in rotated files do not count.")

    @field_validator("logProfileRef")
    @classmethod
    def _profile(cls, text: str) -> str:
        return known_profile(text, BUILTIN)


def is_file_name(text: str) -> bool:
    """Whether a profile's name means a file."""
    return "/" in text or text.endswith((".yaml", ".yml"))


def known_profile(text: str, names: Sequence[str]) -> str:
    """`text` if it is one of these names or that of a file, else ValueError."""
    if text not in names and not is_file_name(text):
        raise ValueError(f"{text!r} is not valid; valid values: {', '.join(names)}, or a YAML file")
    return text
