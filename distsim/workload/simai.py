"""SimAI workloads (AICB's training and inference files): compute and collectives of every layer, the same on all ranks.

simai_text.py reads the file, simai_degrees.py splits the ranks, simai_program.py says what a rank does.

Not part of a run, because the file does not say where they happen: transfers between pipeline stages (`pp_comm`), `vpp`
and `ga`, which SimAI uses in its analytical mode only.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from distsim.quantities import Size
from distsim.workload import collectives
from distsim.workload.base import Context
from distsim.workload.collectives.schedule import Options
from distsim.workload.estimate import Estimate, of_collective
from distsim.workload.graph import COLL, COLLECTIVES, COMP, DEPS, NODE_KINDS, NODES, Graph, Group
from distsim.workload.lower import Settings, lower
from distsim.workload.replay import ReplaySpec, placement, scale_up
from distsim.workload.simai_degrees import Degrees, degrees
from distsim.workload.simai_program import Step, program
from distsim.workload.simai_text import SimaiText, parse, scaled
from distsim.workload.types import Workload

if TYPE_CHECKING:
    from distsim.workload.chakra.info import Info

READS_FILE = True
MAX_NODES = 1 << 25
Scale = Annotated[float, Field(gt=0, le=1e6)]
Count = Annotated[int, Field(ge=1, le=2**20, strict=True)]


class SimaiSpec(ReplaySpec):
    """A SimAI workload file. Its times are nanoseconds, its sizes bytes of the whole buffer of a collective."""

    kind: Literal["simai"]
    file: str = Field(description="Path of the workload file.")
    layers: Count | None = Field(default=None, description="Only the first so many layers of the file. Default: all.")
    ranks: Count | None = Field(
        default=None, description="Cut the cluster to so many GPUs: sizes and times stay, one pipeline stage is left, "
                                  "tensor and expert parallelism keep their degrees where they divide the ranks, data "
                                  "parallelism takes the rest. Default: all_gpus of the file.")
    passes: Count = Field(default=1, description="How often all layers are gone through.")
    compute_scale: Scale = Field(default=1.0, description="Factor on every compute time (not on update times), above "
                                                          "0; SimAI's setting of that name.")
    comm_scale: Scale = Field(default=1.0, description="Factor on every size, above 0; SimAI's setting of that name.")
    algorithms: dict[Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"], str] = Field(
        default={}, description="Algorithm of a collective by its name, e.g. {all_reduce: ring}. Default: the first of "
                                "each in collectives/README.md.")
    channels: Annotated[int, Field(ge=1, le=1024, strict=True)] = Field(
        default=1, description="Parts of the data that go round at once, 1 to 1024.")
    chunk: Annotated[Size, Field(ge=0)] = Field(
        default=0, description="Most bytes of a rank's part of one loop of a channel; 0: everything at once.")
    slices: Annotated[int, Field(ge=1, le=1024, strict=True)] = Field(
        default=1, description="Messages that a chunk is sent in, 1 to 1024.")


Spec = SimaiSpec


def build(spec: SimaiSpec, context: Context) -> Workload:
    """The file's ranks on the hosts; InputError when the file is malformed, its policy is not modelled, or it has more
    ranks than there are hosts."""
    text, split, steps = _read(spec, context)
    hosts = placement(spec.hosts, split.gpus, context)
    if len(steps) * split.gpus > MAX_NODES:
        context.fail("ranks", f"{len(steps)} steps on {split.gpus} ranks are {len(steps) * split.gpus} nodes; at most "
                              f"{MAX_NODES}. Cut it with layers or ranks")
    return lower(graph_of(text, split, steps), _settings(spec, hosts, context), hosts, context.hosts)


def info(spec: SimaiSpec, context: Context) -> Info:
    """What is in the file, of all ranks together, without a table of their nodes; process groups by their domain."""
    from distsim.workload.chakra.info import Info

    text, split, steps = _read(spec, context)
    found = Info(spec.file, "simai", list(range(split.gpus)), warnings=list(text.warnings))
    for step in steps:
        found.nodes[NODE_KINDS[step.kind]] += split.gpus
        found.dependencies += len(step.after) * split.gpus
        if step.kind == COLL:
            found.add_bytes(found.collectives, COLLECTIVES[step.collective], step.size_bytes * split.gpus, split.gpus)
            found.process_groups[step.domain] += split.gpus
        else:
            found.microseconds["npu" if step.kind == COMP else "cpu"] += step.duration_ps * split.gpus
    for place in found.microseconds:
        found.microseconds[place] //= 10**6
    return found


def projected(spec: SimaiSpec, context: Context) -> Estimate:
    """What the workload comes to, without a table of its nodes: cheap for thousands of ranks. InputError as `build`."""
    _, split, steps = _read(spec, context)
    placement(spec.hosts, split.gpus, context)
    settings = _settings(spec, np.zeros(0, "i4"), context)
    shapes = Counter((step.collective, step.domain, step.size_bytes) for step in steps if step.kind == COLL)
    total = Estimate(0, 0, len(steps) * split.gpus)
    for (collective, domain, size_bytes), times in shapes.items():
        members = split.members(domain)
        total += of_collective(collective, members, size_bytes, settings, times * (split.gpus // members))
    return total


def _read(spec: SimaiSpec, context: Context) -> tuple[SimaiText, Degrees, list[Step]]:
    text = parse(spec.file, spec.layers)
    if spec.layers is not None and spec.layers > text.declared:
        context.fail("layers", f"{spec.layers} layers are more than the {text.declared} of the file")
    split = degrees(text, spec.ranks, context.hosts)
    text.layers = scaled(text.layers, spec.compute_scale, spec.comm_scale)
    return text, split, program(text, split, spec.passes)


def _settings(spec: SimaiSpec, hosts: np.ndarray, context: Context) -> Settings:
    """How collectives are expanded; InputError for an algorithm that the collective does not have."""
    algorithms = {}
    for name, algorithm in spec.algorithms.items():
        number = COLLECTIVES.index(name)
        if algorithm not in collectives.ALGORITHMS_OF[number]:
            context.fail(f"algorithms.{name}", f"{algorithm!r} is no algorithm of {name}; valid: "
                                               f"{', '.join(collectives.ALGORITHMS_OF[number])}")
        algorithms[number] = algorithm
    groups = scale_up(spec, hosts, context) if len(hosts) else None
    options = Options(channels=spec.channels, chunk_bytes=spec.chunk, slices=spec.slices)
    return Settings(algorithms=algorithms, options=options, scale_up=groups, log_ops="all")


def graph_of(text: SimaiText, split: Degrees, steps: list[Step]) -> Graph:
    """The Graph of all ranks. Node ids run from 0 within each rank, in the order of the steps."""
    count, ranks = len(steps), split.gpus
    one = np.zeros(count, NODES)
    one["id"], one["peer"], one["root"], one["group"], one["issue"] = np.arange(count), -1, -1, -1, -1
    for field in ("kind", "duration_ps", "size_bytes", "collective"):
        one[field] = [getattr(step, field) for step in steps]
    talks = one["kind"] == COLL
    one["issue"][talks] = np.arange(np.count_nonzero(talks))
    nodes = np.tile(one, ranks)
    nodes["rank"] = np.repeat(np.arange(ranks), count)
    by_rank = nodes.reshape(ranks, count)
    groups: list[Group] = []
    for domain in dict.fromkeys(step.domain for step in steps if step.kind == COLL):
        table = split.table(domain)
        row_of_rank = np.empty(ranks, "i4")
        row_of_rank[table] = len(groups) + np.arange(len(table))[:, None]
        chosen = [index for index, step in enumerate(steps) if step.domain == domain]
        by_rank["group"][:, chosen] = row_of_rank[:, None]
        groups += split.groups(domain)
    pairs = np.array([(index, on) for index, step in enumerate(steps) for on in step.after], "i4").reshape(-1, 2)
    deps = np.zeros(ranks * len(pairs), DEPS)
    shift = np.arange(ranks, dtype="i4")[:, None] * count
    deps["node"], deps["on"] = (pairs[:, 0] + shift).ravel(), (pairs[:, 1] + shift).ravel()
    warnings = list(text.warnings)
    if split.pp > 1 and text.numbers.get("pp_comm"):
        warnings.append(f"{text.file}:1: transfers between the {split.pp} pipeline stages (pp_comm) are not simulated; "
                        "the file does not say when they happen")
    names = {rank * count + index: step.name for rank in range(ranks) for index, step in enumerate(steps)
             } if ranks * count <= 1 << 20 else {}
    return Graph(ranks, nodes, deps, groups, warnings=warnings, source=text.file, names=names)
