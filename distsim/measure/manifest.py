"""BandwidthMeasurement documents, and several documents in one YAML file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

from distsim.config.problems import ConfigError, problems_of
from distsim.config.yaml_reader import Document, Place, parse
from distsim.errors import InputError
from distsim.quantities import StrictModel

from .units import parse_duration_s

API_GROUP = "nvcre.nvidia.com"
API_VERSION = f"{API_GROUP}/v1alpha1"
WORKFLOW_LABEL = f"{API_GROUP}/workflow"
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
Model = TypeVar("Model", bound=BaseModel)


class Metadata(BaseModel):
    """Name and labels; what a cluster adds (uid, creationTimestamp, ...) is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(min_length=1, description="name of the object")
    namespace: str = Field("", description="namespace of the object")
    labels: dict[str, str] = Field({}, description="labels of the object")


class JobRef(StrictModel):
    """The job whose log is measured; here the log is given."""

    apiGroup: str | None = Field(None, description="API group of the job")
    kind: str = Field(min_length=1, description="kind of the job")
    name: str = Field(min_length=1, description="name of the job")


class MeasurementConfig(StrictModel):
    """How a job is measured, as a Job's spec.bandwidthMeasurement says it."""

    logProfileRef: str = Field(min_length=1, description="name of the LogProfile")
    sampleInterval: str = Field("60s", description="time between two samples of a running job, a Go duration")
    testType: str = Field("", description="collective operation, e.g. all_reduce; the label nccl_test of the gauges")

    @field_validator("sampleInterval")
    @classmethod
    def _duration(cls, text: str) -> str:
        if parse_duration_s(text) <= 0:
            raise ValueError(f"{text!r} is out of range; valid: more than 0s (default 60s)")
        return text


class MeasurementSpec(MeasurementConfig):
    """What is measured, and how."""

    jobRef: JobRef | None = Field(None, description="job whose log is measured")


class EarlierResult(StrictModel):
    """One provisional result."""

    sizeBytes: int = Field(ge=0, le=2**63 - 1, description="message size in bytes")
    algBW: str = Field(pattern=r"^[0-9]+\.[0-9]{2}$", description="average algorithmic bandwidth in GB/s")
    busBW: str = Field(pattern=r"^[0-9]+\.[0-9]{2}$", description="average bus bandwidth in GB/s")
    samples: int = Field(ge=1, description="rows averaged")


class EarlierCondition(BaseModel):
    """One condition that an earlier measurement has set."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: str = Field(description="Measuring or Complete")
    status: str = Field(description="True or False")
    reason: str = Field("", description="why")
    lastTransitionTime: AwareDatetime | None = Field(None, description="since when")


class EarlierStatus(BaseModel):
    """What samples of the running job have left in a measurement's status."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    results: list[EarlierResult] = Field([], description="provisional results")
    transport: list[str] = Field([], description="networks")
    startTime: AwareDatetime | None = Field(None, description="when the job began to run")
    conditions: list[EarlierCondition] = Field([], description="conditions")


class MeasurementManifest(StrictModel):
    """A BandwidthMeasurement document. A status in it is what an earlier measurement said."""

    apiVersion: Literal["nvcre.nvidia.com/v1alpha1"] = Field(description="version of this kind of document")
    kind: Literal["BandwidthMeasurement"] = Field(description="kind of document")
    metadata: Metadata = Field(description="name and labels")
    spec: MeasurementSpec = Field(description="what is measured")
    status: EarlierStatus = Field(EarlierStatus(), description="what an earlier measurement said")


def measurement_name(job_name: str) -> str:
    """Name of the measurement that a Job's controller makes for it."""
    return f"{job_name}-bandwidth"


def documents(text: str, file: str) -> Iterator[Document]:
    """The documents of a YAML text, parted by ``---``, with the line numbers of the whole; empty ones left out."""
    starts = [0, *(found.end() for found in _SEPARATOR.finditer(text))]
    ends = [*(found.start() for found in _SEPARATOR.finditer(text)), len(text)]
    blocks = [(text.count("\n", 0, start), text[start:end]) for start, end in zip(starts, ends)]
    filled = [(above, block) for above, block in blocks if _holds_something(block)]
    if not filled:
        raise InputError("the file is empty", file=file)
    for above, block in filled:
        yield parse("\n" * above + block, file)


def _holds_something(block: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in block.splitlines())


def validated(document: Document, model: type[Model], place: Place = ()) -> Model:
    """The document, or what stands at a place of it, as `model`; ConfigError with every problem found."""
    try:
        return model.model_validate(document.at(place))
    except ValidationError as error:
        raise ConfigError(problems_of(error, document, place, (model,))) from None


def kind_of(document: Document) -> str:
    """The `kind` of a document; InputError if it has none."""
    kind = document.data.get("kind") if isinstance(document.data, dict) else None
    if not isinstance(kind, str):
        file, line = document.locate(())
        raise InputError("this key is required: kind of document", file=file, line=line, where="kind")
    return kind
