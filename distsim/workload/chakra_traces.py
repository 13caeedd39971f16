"""Chakra execution traces, one file a rank: read, placed on the fabric's NICs, and replayed.

Attributes: scala-computing/docs, models/chakra-workload/configuration.md, spelled as there; fields in small letters are
ours. What a replay does: models/chakra-workload/workload-execution.md.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from distsim.quantities import Size
from distsim.workload.base import Context, WorkloadSpec, spelled
from distsim.workload.chakra.settings import Reading, Roofline
from distsim.workload.graph import COLLECTIVES, Graph
from distsim.workload.types import Workload

READS_FILE = True

MAX_SCALE_UP_BYTES = 64 << 20
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]


def _algorithm(default: str, collective: str, documented: str) -> str:
    field: str = Field(default=default, description=f"Algorithm of {collective}: {documented}; or one of ours "
                                                    "(distsim/workload/collectives/README.md).")
    return field


class ChakraSpec(WorkloadSpec):
    """A traceset of Chakra execution traces."""

    kind: Literal["chakra"]
    file: str = Field(description="Prefix of the traces: rank r is <file>.<r>.et, ranks from 0 without a gap. Plain or "
                                  "gzip, Chakra 0.0.4 or 1.0.0.")
    comm_groups: str | None = Field(
        default=None, description="Path of the process groups, JSON {\"<name>\": [ranks]}. Default: <file>.json or "
                                  "<file>.comm_group.json, if it is there.")
    mapping: str | None = Field(
        default=None, description="Path of a mapping file: the server (NIC number) of each rank, and scale-up groups. "
                                  "Default: rank i on NIC i.")
    ranks: _Count | None = Field(
        default=None, description="So many ranks all replay the traceset's only file (one rank's trace of a job whose "
                                  "ranks do the same). Default: one rank a file.")
    peak_tflops: _Positive | None = Field(
        default=None, description="Peak rate of an NPU in 10**12 operations a second, for nodes that have num_ops but "
                                  "no duration (STG traces).")
    memory_gb_per_s: _Positive | None = Field(
        default=None, description="Memory bandwidth of an NPU in 10**9 bytes a second, for nodes that have tensor_size "
                                  "but no duration.")

    LogicalGroupId: Annotated[int, Field(ge=0, strict=True)] = Field(
        default=0, description="No effect, as documented: placement does not use it.")
    NumOfChakraFiles: _Count | None = Field(
        default=None, description="Number of ranks. When given it must be that of the traceset; default: as many as "
                                  "there are.")
    UseMapping: bool = Field(default=True, description="Whether `mapping`, when given, is used.")
    AllReduceAlgorithm: str = _algorithm("ring", "AllReduce", "ring, tree, double-tree or halving-doubling")
    ReduceAlgorithm: str = _algorithm("ring", "Reduce", "ring or tree")
    AllGatherAlgorithm: str = _algorithm("ring", "AllGather", "ring")
    ReduceScatterAlgorithm: str = _algorithm("ring", "ReduceScatter", "ring or halving")
    ReduceScatterBlockAlgorithm: str = _algorithm("ring", "ReduceScatterBlock", "ring")
    BroadcastAlgorithm: str = _algorithm("interleaved", "Broadcast", "sequential or interleaved")
    GatherAlgorithm: str = _algorithm("direct", "Gather", "direct")
    ScatterAlgorithm: str = _algorithm("direct", "Scatter", "direct")
    AllToAllAlgorithm: str = _algorithm("interleaved", "AllToAll", "sequential or interleaved")
    BarrierAlgorithm: str = _algorithm("ring", "Barrier", "ring, tree, double-tree or halving-doubling")
    ProcessGroupSerialization: bool = Field(
        default=True, description="A rank runs the collectives of a process group one at a time in the order in which "
                                  "it issued them, where the trace says it (attribute issue_order, else "
                                  "start_time_micros).")
    CommCollectiveSynchronization: bool = Field(
        default=True, description="A barrier of zero-byte transfers before each collective.")
    UseMaxAsCommCollectiveStartTime: bool = Field(
        default=True, description="Records of collectives report the latest start of their ranks, else the earliest.")
    AbortOnChakraWarning: bool = Field(default=False, description="Warnings about the traces are errors.")
    MaxCountWarningsLoggedPerInstance: Annotated[int, Field(ge=0, le=40000, strict=True)] = Field(
        default=30000, description="Most warnings about the traces, 0 to 40000; later ones are dropped.")
    TraceFamily: Literal["synthesized", "compiled", "collected"] = Field(
        default="synthesized", description="Where durations come from. collected: measured, a node takes its duration; "
                                           "else nodes that run at once share the NPU equally.")
    Scaling: bool = Field(default=False, description="Multiply every size and duration by ScalingFactor.")
    ScalingFactor: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = Field(
        default=1.0, description="0.0 to 1.0; results are truncated to whole bytes and microseconds.")
    InMemoryTraceCompression: bool = Field(
        default=True, description="No effect: traces are kept as tables, never as text.")
    ProfilingEnabled: bool = Field(default=False, description="Write a profiling file a rank.")
    ProfilingInterval: _Positive = Field(default=0.001, description="Seconds of simulation time between its blocks.")
    ScaleUpHeaderSize: Annotated[Size, Field(ge=0, le=MAX_SCALE_UP_BYTES)] = spelled(
        "24B", "Header of a scale-up packet, at most 64 MiB.")
    ScaleUpMaxPayloadSize: Annotated[Size, Field(ge=1, le=MAX_SCALE_UP_BYTES)] = spelled(
        "4096B", "Most data in a scale-up packet, 1 B to 64 MiB.")
    ScaleUpStatsEnabled: bool = Field(
        default=False, description="Only false: nd-stats has no rows of scale-up devices here.")

    @field_validator("ScaleUpStatsEnabled")
    @classmethod
    def _no_scale_up_rows(cls, value: bool) -> bool:
        if value:
            raise ValueError("nd-stats has no rows of scale-up devices here; valid: false")
        return value

    @model_validator(mode="after")
    def _algorithms_exist(self) -> ChakraSpec:
        chosen_algorithms(self)
        return self


Spec = ChakraSpec


def chosen_algorithms(spec: ChakraSpec) -> dict[int, str]:
    """Algorithm by number of graph.COLLECTIVES; ValueError for a name that the collective does not have."""
    from distsim.workload.collectives import ALGORITHMS_OF

    chosen = {}
    for number, collective in enumerate(COLLECTIVES):
        field = "".join(word.capitalize() for word in collective.split("_")) + "Algorithm"
        name = getattr(spec, field)
        if name not in ALGORITHMS_OF[number]:
            raise ValueError(f"{field}: {name!r} is no algorithm of {collective}; valid: "
                             f"{', '.join(ALGORITHMS_OF[number])}")
        chosen[number] = name
    return chosen


def reading(spec: ChakraSpec, names: bool = False) -> Reading:
    """How the traces of a section are read. names : keep the nodes' names."""
    return Reading(scaling=spec.ScalingFactor if spec.Scaling else None, ranks=spec.ranks, names=names,
                   roofline=Roofline(spec.peak_tflops, spec.memory_gb_per_s))


def read(spec: ChakraSpec, names: bool = False) -> Graph:
    """The Graph of a section's traces, with the nodes' names if asked for; InputError as `read_traceset`."""
    from distsim.workload.chakra.reader import read_traceset

    return read_traceset(spec.file, spec.comm_groups, reading(spec, names))


def graph(spec: ChakraSpec, context: Context) -> Graph:
    """The Graph of a section without placing it, for `distsim trace`; InputError as `read`."""
    return read(spec, names=True)


def build(spec: ChakraSpec, context: Context) -> Workload:
    """The operations of the traces on the fabric's NICs; InputError when they cannot be read, placed or expanded, and
    for any warning about them when AbortOnChakraWarning is true."""
    from distsim.workload.lower import Settings, lower, read_mapping

    found = read(spec)
    if spec.NumOfChakraFiles not in (None, found.ranks):
        context.fail("NumOfChakraFiles", f"{spec.NumOfChakraFiles} is not the number of ranks of {spec.file}, which is "
                                         f"{found.ranks}")
    if found.ranks > context.hosts:
        context.fail("file", f"{spec.file}: {found.ranks} ranks need a NIC each; the fabric has {context.hosts}")
    placement, scale_up = np.arange(found.ranks, dtype="i4"), None
    if spec.mapping is not None and spec.UseMapping:
        mapping = read_mapping(spec.mapping, found.ranks, context.hosts, spec.ScaleUpHeaderSize,
                               spec.ScaleUpMaxPayloadSize)
        placement, scale_up = mapping.server.astype("i4"), mapping.scale_up
    settings = Settings(algorithms=chosen_algorithms(spec), serialization=spec.ProcessGroupSerialization,
                        synchronization=spec.CommCollectiveSynchronization,
                        shared_compute=spec.TraceFamily != "collected", scale_up=scale_up, log_ops="all")
    workload = lower(found, settings, placement, context.hosts)
    workload.warnings = workload.warnings[:spec.MaxCountWarningsLoggedPerInstance]
    if workload.warnings and spec.AbortOnChakraWarning:
        context.fail("AbortOnChakraWarning", f"true, and there are {len(workload.warnings)} warnings, the first: "
                                             f"{workload.warnings[0]}")
    return workload
