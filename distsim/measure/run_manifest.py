"""A BandwidthMeasurement file: the measurement, and the documents that stand beside it.

Those are LogProfiles, and the Job with its Workflow and Certification. A Job with spec.bandwidthMeasurement makes its
measurement itself, as its controller does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from distsim.config.problems import problem
from distsim.config.yaml_reader import Document, read_text
from distsim.errors import InputError

from .collect import Collector
from .jobs import KINDS, JobFacts, job_facts, job_with_measurement, of_run
from .lifecycle import JobStatus, Measurement, measure, unresolved
from .manifest import (
    API_GROUP,
    API_VERSION,
    WORKFLOW_LABEL,
    MeasurementConfig,
    MeasurementManifest,
    Metadata,
    documents,
    kind_of,
    measurement_name,
    validated,
)
from .profile import LogProfile, builtin_profile, load_profile, profile_of
from .status import Reason, Result, Status, spell_time


@dataclass
class LoadedMeasurement:
    """A measurement that was read and checked.

    document : the document as it stands in the file, or as the Job's controller would make it.
    profile : the resolved logProfileRef, None if nothing of that name was given.
    job : what the file says about the job.
    """

    document: dict[str, Any]
    manifest: MeasurementManifest
    profile: LogProfile | None
    job: JobFacts = field(default_factory=JobFacts)

    @property
    def job_name(self) -> str:
        """Name of the job, empty without a jobRef."""
        return self.manifest.spec.jobRef.name if self.manifest.spec.jobRef is not None else ""

    def summary(self) -> str:
        """One line about it."""
        spec = self.manifest.spec
        resolved = "" if self.profile is not None else " (not resolved)"
        job = f"job {self.job_name}, " if self.job_name else ""
        profile = f"profile {spec.logProfileRef}{resolved}"
        return f"{self.manifest.metadata.name}: {job}{profile}, every {spec.sampleInterval}"

    def find_log(self, runs: str) -> str | None:
        """The launcher's log of the run that jobRef names, in the folder `runs`; None if there is no such run.

        What the run says of its job holds where the file says nothing. InputError as `find_run`.
        """
        found = find_run(runs, self.job_name)
        if found is None:
            return None
        log, told = found
        self.job = replace(self.job, ended=self.job.ended or told.ended, start=self.job.start or told.start,
                           completion=self.job.completion or told.completion)
        return log

    def run(self, log: str, *, job: str | None = None, timeout_s: float | None = None, rotate_bytes: int | None = None,
            say: Callable[[str], None] | None = None, watch: Callable[[Collector], None] | None = None) -> Measurement:
        """Measure a log. `job` and `timeout_s` win over what the file says; a job that it says nothing of succeeded.

        Times that neither the file nor the log knows are those of this reading. An unresolved profile makes it
        LogsUnavailable.
        """
        began = datetime.now(UTC)
        ended = JobStatus(job) if job is not None else self.job.ended or JobStatus.SUCCEEDED
        earlier = [Result(one.sizeBytes, one.algBW, one.busBW, one.samples) for one in self.manifest.status.results]
        if self.profile is None:
            cause = f"getting LogProfile {self.manifest.spec.logProfileRef}: not found"
            measured = unresolved(log, cause, ended, earlier)
        else:
            measured = measure(log, self.profile, job=ended, rotate_bytes=rotate_bytes, say=say, watch=watch,
                               timeout_s=self.job.timeout_s if timeout_s is None else timeout_s,
                               waited_s=self._waited_s(began), earlier=earlier)
        measured.status.transport = sorted({*self.manifest.status.transport, *measured.status.transport})
        _set_times(measured.status, self.job, self.manifest.status.startTime, began)
        return measured

    def _waited_s(self, now: datetime) -> float:
        """How long ago the final read failed first, by the condition Measuring that an earlier attempt has left."""
        since = [one.lastTransitionTime for one in self.manifest.status.conditions
                 if one.type == "Measuring" and one.reason == Reason.FINAL_READ_PENDING.value]
        return max(0.0, (now - since[0]).total_seconds()) if since and since[0] is not None else 0.0


def load_measurement(path: str, profile: str | None = None) -> LoadedMeasurement:
    """Read a file with one BandwidthMeasurement, or a Job that has one, and what else stands beside it.

    profile : a profile file or name given beside it; its name must be the measurement's logProfileRef.
    Raises InputError with file, line and path for whatever is wrong, also for a measurement that is already Complete.
    """
    found: dict[str, list[Document]] = {}
    for document in documents(read_text(Path(path)), path):
        found.setdefault(kind_of(document), []).append(document)
    strange = [kind for kind in found if kind not in ("BandwidthMeasurement", "LogProfile", *KINDS)]
    if strange:
        raise InputError(f"holds a {', '.join(strange)}; valid kinds: BandwidthMeasurement, LogProfile, "
                         f"{', '.join(KINDS)}", file=path)
    profiles = [profile_of(document) for document in found.get("LogProfile", [])]
    data, manifest = _measurement(found, path)
    if profile is not None:
        profiles.append(_named(load_profile(profile), manifest.spec.logProfileRef))
    job_name = manifest.spec.jobRef.name if manifest.spec.jobRef is not None else None
    return LoadedMeasurement(data, manifest, _resolved(profiles, manifest.spec.logProfileRef),
                             job_facts(found, job_name, manifest.metadata.labels))


def find_run(directory: str, job_name: str) -> tuple[str, JobFacts] | None:
    """The launcher's log of a simulated job of that name and what its run says of it; None if there is no such run.

    InputError if the run has no launcher's log, or several.
    """
    folder = Path(directory) / job_name
    inside = job_name not in ("", "..") and Path(job_name).name == job_name
    if not inside or not folder.is_dir():
        return None
    logs = sorted(folder.glob("*launcher*.log"))
    if len(logs) != 1:
        raise InputError(f"holds {len(logs)} launcher's logs (*launcher*.log); one is wanted", file=str(folder))
    told = sorted(folder.glob("*-bandwidth.json"))
    return str(logs[0]), _told(told[0]) if len(told) == 1 else JobFacts()


def _told(path: Path) -> JobFacts:
    try:
        return of_run(json.loads(read_text(path)), str(path))
    except ValueError:
        raise InputError("is not JSON", file=str(path)) from None


def _measurement(found: dict[str, list[Document]], path: str) -> tuple[dict[str, Any], MeasurementManifest]:
    """The one measurement as data and checked."""
    measurements = found.get("BandwidthMeasurement", [])
    job = job_with_measurement(found.get("Job", [])) if not measurements else None
    if job is not None:
        data = _made_by(job)
        return data, MeasurementManifest.model_validate(data)
    if len(measurements) != 1:
        raise InputError(f"holds {len(measurements)} BandwidthMeasurement documents; one is wanted", file=path)
    manifest = validated(measurements[0], MeasurementManifest)
    if any(one.type == "Complete" and one.status == "True" for one in manifest.status.conditions):
        raise problem(measurements[0], ("status",),
                      "the measurement is Complete, which is final; take its status out to measure again")
    return measurements[0].data, manifest


def _made_by(job: Document) -> dict[str, Any]:
    """The measurement that a Job's controller makes of its spec.bandwidthMeasurement."""
    metadata = validated(job, Metadata, ("metadata",))
    validated(job, MeasurementConfig, ("spec", "bandwidthMeasurement"))
    shown: dict[str, Any] = {"name": measurement_name(metadata.name)}
    if metadata.namespace:
        shown["namespace"] = metadata.namespace
    if WORKFLOW_LABEL in metadata.labels:
        shown["labels"] = {WORKFLOW_LABEL: metadata.labels[WORKFLOW_LABEL]}
    return {"apiVersion": API_VERSION, "kind": "BandwidthMeasurement", "metadata": shown,
            "spec": {"jobRef": {"apiGroup": API_GROUP, "kind": "Job", "name": metadata.name},
                     **job.at(("spec", "bandwidthMeasurement"))}}


def _set_times(status: Status, job: JobFacts, earlier_start: datetime | None, began: datetime) -> None:
    """startTime and completionTime: of the job, else of the earlier status, else of the log, else of this reading."""
    told = spell_time(earlier_start) if earlier_start is not None else None
    status.start = job.start or told or status.start or spell_time(began)
    status.completion = job.completion or status.completion or spell_time(datetime.now(UTC))
    assert status.complete is not None
    status.measuring = None
    status.end(status.complete.reason, status.message, status.completion)


def _named(profile: LogProfile, wanted: str) -> LogProfile:
    if profile.name != wanted:
        raise InputError(f"the profile is named {profile.name!r}, spec.logProfileRef is {wanted!r}", where="--profile")
    return profile


def _resolved(profiles: list[LogProfile], name: str) -> LogProfile | None:
    """The last profile of that name that was given, else the one that comes with distsim."""
    return next((profile for profile in reversed(profiles) if profile.name == name), None) or builtin_profile(name)
