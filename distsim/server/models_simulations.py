"""Bodies of requests and answers about simulations and their results (distsim/server/models.py)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from distsim.server.models import Answer, Asked, Pagination

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
DURATION = r"^\d{1,9}(\.\d{1,12})?(ps|ns|us|ms|s|m|h)$"
Status = Literal["validating", "provisioning", "running", "completed", "failed", "terminated", "invalid"]


class SimulationSummary(Answer):
    """A simulation in a list."""

    id: str
    workspaceId: str
    configurationId: str | None = None
    configurationVersion: int | None = None
    name: str
    status: Status
    createdAt: str
    runStatus: str | None = Field(None, description="Ours: running, finished, unfinished (flows were left when the run "
                                                    "ended), interrupted or failed.")
    path: str = Field(description="Ours: the run's directory, below the runs directory.")
    progress: float | None = Field(None, description="Ours: part of the flows that have finished, 0 to 1.")


class SimulationMetrics(Answer):
    """How far a simulation has come."""

    simulatedTime: str | None = None
    eventsProcessed: int | None = None
    throughput: str | None = None


class SimulationDetails(SimulationSummary):
    """A simulation."""

    startedAt: str | None = None
    completedAt: str | None = None
    failureReason: str | None = None
    metrics: SimulationMetrics | None = None
    duration: str | None = None
    ranks: int | None = Field(None, description="Ours: MPI ranks.")
    seed: int | None = Field(None, description="Ours: the random seed.")
    configurationSha256: str | None = Field(None, description="Ours: hash of the configuration with its input files.")
    flows: dict[str, int] | None = Field(None, description="Ours: total, finished, unfinished.")
    records: list[str] | None = Field(None, description="Ours: names of the records that have files.")
    run: dict[str, Any] | None = Field(None, description="Ours: figures of run.json: counts, fct_us, collectives, "
                                                         "warnings, wall.")


class SimulationList(Answer):
    """A page of simulations."""

    simulations: list[SimulationSummary]
    pagination: Pagination


class Checkpointing(Asked):
    """Checkpoints; this simulator has none, so only `enabled: false` is accepted."""

    enabled: bool = False
    interval: str | None = None


class SimulationStart(Asked):
    """What to start."""

    workspaceId: str | None = None
    configurationId: str
    configurationVersion: int | None = Field(None, ge=1)
    name: str = Field(pattern=NAME, description="Letters, digits, - and _; at most 100.")
    duration: str | None = Field(None, pattern=DURATION, description="Simulated time: the run stops this long after "
                                 "its warm-up (RunTime) at the latest. That of the configuration when left out.")
    checkpointing: Checkpointing | None = None
    ranks: int = Field(1, ge=1, description="Ours: processes (MPI ranks); the results do not depend on it.")
    seed: int | None = Field(None, ge=0, le=2**63 - 1, description="Ours: another seed than the configuration's.")
    yes: bool = Field(False, description="Ours: run however long it is projected to take (over a day is refused).")


class Deleted(Answer):
    """What became of a simulation."""

    id: str
    status: str
    message: str


class ResultFile(Answer):
    """A file of a run."""

    type: Literal["pcap", "csv", "json", "log", "state", "unknown"]
    name: str
    size: str
    downloadUrl: str
    sizeBytes: int = Field(description="Ours: bytes now; the file of a run in progress grows.")
    record: str | None = Field(None, description="Ours: the record that the file belongs to.")
    createdAt: str = Field(description="Ours: when the file was last changed.")


class ResultSummary(Answer):
    """Figures of a run."""

    totalPackets: int | None = None
    avgLatency: str | None = None
    throughput: str | None = None
    dropRate: float | None = None


class Results(Answer):
    """The files of a run."""

    simulationId: str
    duration: str | None = None
    summary: ResultSummary
    dashboardUrl: str
    files: list[ResultFile]
    pagination: Pagination


class DownloadUrl(Answer):
    """A link to a file."""

    simulationId: str
    fileName: str
    contentType: str
    sizeBytes: int
    checksum: str | None = Field(None, description="sha256:<hex>; left out for a file that run.json does not list.")
    downloadUrl: str
    expiresAt: str


class DataFile(Answer):
    """A computed file."""

    name: str
    size: int
    contentType: str
    downloadUrl: str
    expiresAt: str


class DataMetadata(Answer):
    """How it was computed."""

    cached: bool
    computedAt: str
    rowsProcessed: int
    computeTimeMs: int


class ResultData(Answer):
    """A link to computed figures."""

    simulationId: str
    metric: str
    mode: Literal["summary", "timeSeries"]
    tier: str
    file: DataFile
    metadata: DataMetadata


class LogEntry(Answer):
    """A line of a log."""

    timestamp: str
    level: Literal["debug", "info", "warn", "error"]
    component: str
    message: str


class Logs(Answer):
    """A page of a log."""

    logs: list[LogEntry]
    pagination: Pagination
