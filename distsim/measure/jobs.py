"""What stands beside a BandwidthMeasurement: the Job that it measures, that job's Workflow and their Certification.

Only what a measurement needs is read of them: measurementTimeout, labels, how the job ended, and when.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from distsim.config.problems import problem, shown
from distsim.config.yaml_reader import Document, Place, child
from distsim.errors import InputError

from .lifecycle import JobStatus
from .manifest import WORKFLOW_LABEL
from .status import spell_time
from .threshold import Threshold
from .units import parse_duration_s

CERTIFICATION_LABEL = "nvcre.nvidia.com/certification"
DOMAIN_LABEL = "nvcre.nvidia.com/category-domain"
VARIANT_LABEL = "nvcre.nvidia.com/category-variant"
KINDS = ("Job", "Workflow", "Certification")
_TIMEOUT = "measurementTimeout"


@dataclass(frozen=True)
class JobFacts:
    """What is known of the measured job; None where nothing is.

    ended : how it ended. start, completion : when it began to run and came to its end, RFC 3339.
    timeout_s : measurementTimeout. workflow : name of its workflow, empty if none.
    thresholds : that its bandwidth must hold.
    """

    ended: JobStatus | None = None
    start: str | None = None
    completion: str | None = None
    timeout_s: float | None = None
    workflow: str = ""
    thresholds: tuple[Threshold, ...] = ()


def job_facts(found: dict[str, list[Document]], job_name: str | None, labels: dict[str, str]) -> JobFacts:
    """Facts of the job of that name.

    found : documents by kind (`KINDS`). labels : of the measurement; the Job's own come first.
    The measurementTimeout is that of the Job, else of its Workflow, else of the Certification's category, else of the
    Certification (seed 000); thresholds are the Job's, else its Workflow's. InputError with file, line and path for a
    time, a duration or a threshold that is none.
    """
    job = _named(found.get("Job", []), job_name)
    name = (_label(job, WORKFLOW_LABEL) if job is not None else "") or labels.get(WORKFLOW_LABEL, "")
    workflow = _owner(found.get("Workflow", []), name)
    certification = _owner(found.get("Certification", []), _label(workflow, CERTIFICATION_LABEL))
    timeouts = (_duration(job, ("spec", _TIMEOUT)),
                _duration(workflow, ("spec", "validation", "performance", _TIMEOUT)),
                _of_category(certification, workflow),
                _duration(certification, ("spec", "options", _TIMEOUT)), _duration(certification, ("spec", _TIMEOUT)))
    timeout_s = next((timeout for timeout in timeouts if timeout is not None), None)
    return JobFacts(_ended(job), _time(job, "startTime", "InProgress"),
                    _time(job, "completionTime", "Succeeded", "Failed"), timeout_s, name,
                    _thresholds(job, ("spec", "thresholds"))
                    or _thresholds(workflow, ("spec", "validation", "performance", "thresholds", "thresholds")))


def job_with_measurement(jobs: list[Document]) -> Document | None:
    """The one Job that asks for a measurement of its own (spec.bandwidthMeasurement); None without one."""
    asking = [job for job in jobs if job.at(("spec", "bandwidthMeasurement")) is not None]
    if len(asking) > 1:
        raise problem(asking[1], ("spec", "bandwidthMeasurement"),
                      "is the second Job with a measurement; one is wanted")
    return asking[0] if asking else None


def _named(documents: list[Document], name: str | None) -> Document | None:
    return next((one for one in documents if name and one.at(("metadata", "name")) == name), None)


def _owner(documents: list[Document], name: str) -> Document | None:
    """The document that a label names; without a label the only one there is."""
    return _named(documents, name) if name else documents[0] if len(documents) == 1 else None


def _label(document: Document | None, key: str) -> str:
    value = document.at(("metadata", "labels", key)) if document is not None else None
    return value if isinstance(value, str) else ""


def _duration(document: Document | None, place: Place) -> float | None:
    text = document.at(place) if document is not None else None
    if document is None or text is None:
        return None
    try:
        return parse_duration_s(str(text))
    except ValueError as error:
        raise problem(document, place, str(error)) from None


def _thresholds(document: Document | None, place: Place) -> tuple[Threshold, ...]:
    """The thresholds at a place: key -> CEL expression."""
    given = document.at(place) if document is not None else None
    if document is None or given is None:
        return ()
    if not isinstance(given, dict):
        raise problem(document, place, f"{shown(given)} is not a section of keys")
    found: list[Threshold] = []
    for key, expression in given.items():
        if not isinstance(expression, str):
            raise problem(document, (*place, key), f"{shown(expression)} is not text")
        try:
            found.append(Threshold(f"{key}={expression}"))
        except InputError as error:
            raise problem(document, (*place, key), error.message) from None
    return tuple(found)


def _of_category(certification: Document | None, workflow: Document | None) -> float | None:
    """options.measurementTimeout of the category that the workflow's labels name, or of the only category."""
    categories = certification.at(("spec", "categories")) if certification is not None else None
    if certification is None or not isinstance(categories, list):
        return None
    wanted = (_label(workflow, DOMAIN_LABEL), _label(workflow, VARIANT_LABEL))
    timeouts = {index: _duration(certification, ("spec", "categories", index, "options", _TIMEOUT))
                for index in range(len(categories))}
    if any(wanted):
        return next((timeouts[index] for index, category in enumerate(categories)
                     if (child(category, "domain"), child(category, "variant")) == wanted), None)
    if len(set(timeouts.values())) > 1:
        raise problem(certification, ("spec", "categories"),
                      f"the categories differ in {_TIMEOUT}; a Workflow with the labels {DOMAIN_LABEL} and "
                      f"{VARIANT_LABEL} must say which one holds")
    return next(iter(timeouts.values()), None)


def _ended(job: Document | None) -> JobStatus | None:
    """How the job ended by its conditions; InputError if it still runs."""
    if job is None:
        return None
    holding = {child(condition, "type") for condition in _conditions(job) if child(condition, "status") == "True"}
    if "Succeeded" in holding:
        return JobStatus.SUCCEEDED
    if "Failed" in holding:
        return JobStatus.FAILED
    if "InProgress" in holding:
        raise problem(job, ("status", "conditions"), "the job is still running; its log can be measured when it ended")
    return None


def _conditions(job: Document) -> list[Any]:
    found = job.at(("status", "conditions"))
    return found if isinstance(found, list) else []


def _time(job: Document | None, key: str, *conditions: str) -> str | None:
    """A time of the job's status, or when one of these conditions came to hold; in UTC to the second."""
    if job is None:
        return None
    places: list[Place] = [("status", key)]
    places += [("status", "conditions", index, "lastTransitionTime") for index, one in enumerate(_conditions(job))
               if child(one, "type") in conditions and child(one, "status") == "True"]
    place = next((place for place in places if job.at(place) is not None), None)
    return _spelled(job, place) if place is not None else None


def _spelled(document: Document, place: Place) -> str:
    text = document.at(place)
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        time = datetime.min
    if time.tzinfo is None:
        raise problem(document, place, f"{text!r} is not a time such as 2026-08-06T14:10:20Z")
    return spell_time(time)


def of_run(status: Any, file: str) -> JobFacts:
    """Facts of a simulated job, by the status that its run wrote (`{sim}-bandwidth.json`)."""
    conditions = child(status, "conditions")
    reasons = {child(one, "type"): child(one, "reason") for one in conditions} if isinstance(conditions, list) else {}
    if not isinstance(status, dict) or "Complete" not in reasons:
        raise InputError("is not the status of a measurement that is complete", file=file)
    ended = JobStatus.FAILED if reasons["Complete"] == "JobFailed" else JobStatus.SUCCEEDED
    start, completion = (time if isinstance(time, str) else None
                         for time in (status.get("startTime"), status.get("completionTime")))
    return JobFacts(ended, start, completion)
