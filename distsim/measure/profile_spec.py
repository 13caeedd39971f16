"""The YAML form of a LogProfile. Patterns that bandwidth does not use are checked all the same."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from distsim.quantities import StrictModel

from .manifest import Metadata


class EventPattern(StrictModel):
    """One expression."""

    regex: str = Field(min_length=1, description="RE2 expression with named groups (?P<name>...)")
    example: str = Field("", description="a line that the expression must match; checked when the profile is read")
    units: dict[str, Literal["s", "ms", "us"]] = Field({}, description="unit of each duration that is captured")


class Patterns(StrictModel):
    """The expressions by what they find; bandwidth uses the first two."""

    bandwidthResult: EventPattern | None = Field(None, description="result row: groups size, algBW, busBW")
    networkTransport: EventPattern | None = Field(None, description="network's name: group transport")
    trainingStep: EventPattern | None = Field(None, description="training iteration")
    checkpointSave: EventPattern | None = Field(None, description="a checkpoint's saving begins")
    checkpointDone: EventPattern | None = Field(None, description="a checkpoint's saving ends")
    checkpointRestore: EventPattern | None = Field(None, description="a checkpoint's loading begins")
    checkpointLoaded: EventPattern | None = Field(None, description="a checkpoint's loading ends")
    applicationStart: EventPattern | None = Field(None, description="the application has started")
    warmupStep: EventPattern | None = Field(None, description="iteration that warms up")

    def given(self) -> dict[str, EventPattern]:
        """The patterns that are set, by name."""
        return {name: event for name, event in self if event is not None}


class Timestamp(StrictModel):
    """How captured time stamps are written."""

    layout: str = Field(min_length=1, description="Go time layout of captured time stamps")


class WorkerStrategy(StrictModel):
    """Which pods' logs are read on a cluster; here the log is given."""

    type: Literal["Single", "Multi"] = Field("Single", description="one worker's log, or one for each kind of line")
    lifecyclePod: Literal["first", "last"] = Field("first", description="worker with lifecycle lines")
    trainingStepPod: Literal["first", "last"] = Field("first", description="worker with training lines")
    replicatedJobName: str = Field("trainer", description="replicated job whose log is read, e.g. launcher")


class ProfileSpec(StrictModel):
    """What a profile says."""

    timestamp: Timestamp = Field(description="layout of time stamps")
    patterns: Patterns = Field(description="expressions")
    workerStrategy: WorkerStrategy | None = Field(None, description="pods to read")
    containerName: str = Field("", description="container to read")
    warmupSteps: int | None = Field(None, ge=0, description="training steps that warm up")
    logInterval: int | None = Field(None, ge=1, description="training steps a line")


class LogProfileManifest(StrictModel):
    """A LogProfile document."""

    apiVersion: Literal["nvcre.nvidia.com/v1alpha1"] = Field(description="version of this kind of document")
    kind: Literal["LogProfile"] = Field(description="kind of document")
    metadata: Metadata = Field(description="name and labels")
    spec: ProfileSpec = Field(description="what the profile says")
