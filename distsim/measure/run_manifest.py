"""A BandwidthMeasurement file: the measurement, and the LogProfile and Job documents that stand beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distsim.config.yaml_reader import Document, child, read_text
from distsim.errors import InputError

from .lifecycle import JobStatus, Measurement, measure, unresolved
from .manifest import WORKFLOW_LABEL, MeasurementManifest, documents, kind_of, validated
from .profile import LogProfile, builtin_profile, load_profile, profile_of
from .units import parse_duration_s


@dataclass
class LoadedMeasurement:
    """A measurement that was read and checked.

    document : the document as it stands in the file.
    profile : the resolved logProfileRef, None if nothing of that name was given.
    timeout_s : measurementTimeout of the Job document that jobRef names, None if there is none.
    """

    document: dict[str, Any]
    manifest: MeasurementManifest
    profile: LogProfile | None
    timeout_s: float | None

    @property
    def workflow(self) -> str:
        """Name of the workflow that the measurement belongs to, empty if none."""
        return self.manifest.metadata.labels.get(WORKFLOW_LABEL, "")

    def summary(self) -> str:
        """One line about it."""
        spec = self.manifest.spec
        resolved = "" if self.profile is not None else " (not resolved)"
        job = f"job {spec.jobRef.name}, " if spec.jobRef is not None else ""
        profile = f"profile {spec.logProfileRef}{resolved}"
        return f"{self.manifest.metadata.name}: {job}{profile}, every {spec.sampleInterval}"

    def run(self, log: str, *, job: str, timeout_s: float | None, rotate_bytes: int | None,
            say: Callable[[str], None] | None = None) -> Measurement:
        """Measure a log. `timeout_s` wins over the Job document's. An unresolved profile makes it LogsUnavailable."""
        ended = JobStatus(job)
        if self.profile is None:
            return unresolved(log, f"getting LogProfile {self.manifest.spec.logProfileRef}: not found", ended)
        return measure(log, self.profile, job=ended, timeout_s=self.timeout_s if timeout_s is None else timeout_s,
                       rotate_bytes=rotate_bytes, say=say)


def load_measurement(path: str, profile: str | None = None) -> LoadedMeasurement:
    """Read a file with one BandwidthMeasurement and perhaps LogProfile and Job documents.

    profile : a profile file or name given beside it; its name must be the measurement's logProfileRef.
    Raises InputError with file, line and path for whatever is wrong, also for a measurement that is already Complete.
    """
    found: dict[str, list[Document]] = {}
    for document in documents(read_text(Path(path)), path):
        found.setdefault(kind_of(document), []).append(document)
    measurements = found.pop("BandwidthMeasurement", [])
    profiles = [profile_of(document) for document in found.pop("LogProfile", [])]
    jobs = found.pop("Job", [])
    if found:
        raise InputError(f"holds a {', '.join(found)}; valid kinds: BandwidthMeasurement, LogProfile, Job", file=path)
    if len(measurements) != 1:
        raise InputError(f"holds {len(measurements)} BandwidthMeasurement documents; one is wanted", file=path)
    manifest = validated(measurements[0], MeasurementManifest)
    _refuse_complete(measurements[0], path)
    if profile is not None:
        profiles.append(_named(load_profile(profile), manifest.spec.logProfileRef))
    return LoadedMeasurement(measurements[0].data, manifest, _resolved(profiles, manifest.spec.logProfileRef),
                             _timeout_s(jobs, manifest))


def _refuse_complete(document: Document, path: str) -> None:
    conditions = document.at(("status", "conditions"))
    for condition in conditions if isinstance(conditions, list) else []:
        if child(condition, "type") == "Complete" and child(condition, "status") == "True":
            file, line = document.locate(("status",))
            raise InputError("the measurement is Complete, which is final; take its status out to measure again",
                             file=file or path, line=line, where="status")


def _named(profile: LogProfile, wanted: str) -> LogProfile:
    if profile.name != wanted:
        raise InputError(f"the profile is named {profile.name!r}, spec.logProfileRef is {wanted!r}", where="--profile")
    return profile


def _resolved(profiles: list[LogProfile], name: str) -> LogProfile | None:
    """The last profile of that name that was given, else the one that comes with distsim."""
    return next((profile for profile in reversed(profiles) if profile.name == name), None) or builtin_profile(name)


def _timeout_s(jobs: list[Document], manifest: MeasurementManifest) -> float | None:
    """spec.measurementTimeout of the Job that jobRef names."""
    wanted = manifest.spec.jobRef.name if manifest.spec.jobRef is not None else None
    for document in jobs:
        text = document.at(("spec", "measurementTimeout"))
        if document.at(("metadata", "name")) != wanted or text is None:
            continue
        try:
            return parse_duration_s(str(text))
        except ValueError as error:
            file, line = document.locate(("spec", "measurementTimeout"))
            raise InputError(str(error), file=file, line=line, where="spec.measurementTimeout") from None
    return None
