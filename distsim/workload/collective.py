"""One collective, or one after the other, among ranks that are placed on hosts: `graph_of` says what the ranks do."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import Field, model_validator

from distsim.errors import InputError
from distsim.quantities import Size
from distsim.workload.base import (
    MAX_MESSAGE_BYTES,
    MAX_OPS,
    Context,
    HostNumber,
    MessageSize,
    StartTime,
    spelled,
)
from distsim.workload.collectives import ALGORITHMS_OF, Options
from distsim.workload.graph import (
    ALL_GATHER,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLL,
    COLLECTIVES,
    DEPS,
    GATHER,
    NODES,
    REDUCE,
    SCATTER,
    Graph,
    Group,
)
from distsim.workload.lower import Settings, lower
from distsim.workload.replay import ReplaySpec, scale_up
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import LOCAL_IN, Workload

SENDRECV = "sendrecv"
CollectiveName = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather",
                         "scatter", "barrier", "sendrecv"]
Protocol = Literal["simple", "ll", "ll128"]
Count = Annotated[int, Field(ge=1, le=4096, strict=True)]


def algorithms_of(collective: str) -> tuple[str, ...]:
    """Names of the algorithms of a collective of this kind; the first is its default."""
    if collective == SENDRECV:
        return (SENDRECV,)
    return tuple(name for name in ALGORITHMS_OF[number_of(collective)] if name != SENDRECV)


def number_of(collective: str) -> int:
    """Its number in graph.COLLECTIVES; sendrecv is the first step of an all_to_all."""
    return ALL_TO_ALL if collective == SENDRECV else COLLECTIVES.index(collective)


_ALGORITHMS = "; ".join(f"{name}: {', '.join(algorithms_of(name))}" for name in get_args(CollectiveName))


class CollectiveSpec(ReplaySpec):
    """A collective among ranks, once or several times in a row."""

    kind: Literal["collective"]
    collective: CollectiveName = Field(default="all_reduce", description="What the ranks do together. sendrecv: each "
                                                                         "sends to the next and receives from the one "
                                                                         "before.")
    algorithm: str | None = Field(default=None, description=f"How. Valid, the default first: {_ALGORITHMS}.")
    size: MessageSize = spelled(
        "1MB", "Size as nccl-tests counts it, 0 to 1 TiB: all_gather and gather, what comes out in all; "
               "reduce_scatter, scatter and all_to_all, what a rank puts in; else the buffer of a rank; barrier: none.")
    size_counts: Literal["total", "member"] = Field(
        default="total", description="total: as said of size; member: all_gather and gather send so much from every "
                                     "rank, as comm_size in Chakra traces.")
    counts: tuple[tuple[MessageSize, ...], ...] | None = Field(
        default=None, description="Of an all_to_all whose members send different sizes (alltoallv): row i holds what "
                                  "member i of every group sends to each member; size is then not used.")
    root: HostNumber = Field(default=0, description="Place in its group of the root of a broadcast, reduce, gather or "
                                                    "scatter.")
    iterations: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] = Field(
        default=1, description="How often; a rank starts the next one when it has ended its part of the last.")
    groups: tuple[tuple[HostNumber, ...], ...] | None = Field(
        default=None, description="Lists of ranks (rank 0 is the first of hosts): every group does the collective, all "
                                  "at once. Default: one group of all ranks.")
    channels: Count = Field(default=1, description="Parts of the data that go round independently, 1 to 4096.")
    chunk: Annotated[Size, Field(ge=0, le=MAX_MESSAGE_BYTES)] = spelled(
        "0B", "Most data of a rank in one round of a channel; 0: all in one round.")
    slices: Count = Field(default=1, description="Messages in which a chunk is sent, 1 to 4096.")
    protocol: Protocol = Field(default="simple", description="simple, ll (8 bytes on the wire for 4 of data) or ll128 "
                                                             "(128 for 120).")
    server: Count | None = Field(
        default=None, description="Consecutive members of a group that make a server, for hierarchical and nccl. "
                                  "Default: the ranks of a server of scale_up, else 1.")
    launch: StartTime = spelled("0s", "What a rank needs before the first transfer of each collective.")
    synchronize: bool = Field(default=False, description="Every group passes a barrier of empty messages before each "
                                                         "collective, as CommCollectiveSynchronization.")
    start: StartTime = spelled("0s", "Start of the first collective after the workload's start.")

    @model_validator(mode="after")
    def _counts_fit(self) -> CollectiveSpec:
        if self.counts is None:
            return self
        if self.collective != "all_to_all":
            raise ValueError(f"counts: only an all_to_all has them, not {self.collective}")
        wide = next((row for row in self.counts if len(row) != len(self.counts)), None)
        if wide is not None:
            raise ValueError(f"counts: {len(self.counts)} rows need as many sizes each; one has {len(wide)}")
        return self

    @model_validator(mode="after")
    def _algorithm_exists(self) -> CollectiveSpec:
        names = algorithms_of(self.collective)
        if self.algorithm not in (None, *names):
            raise ValueError(f"algorithm: {self.algorithm!r} is no algorithm of {self.collective}; valid: "
                             f"{', '.join(names)}")
        return self


Spec = CollectiveSpec


def build(spec: CollectiveSpec, context: Context) -> Workload:
    """The transfers of all iterations. InputError for hosts, groups or roots that do not exist, an algorithm that does
    not fit a group, and too many transfers."""
    graph = graph_of(spec, context)
    hosts = _hosts(spec, context)
    network = scale_up(spec, hosts, context)
    settings = Settings(
        algorithms={number_of(spec.collective): spec.algorithm or algorithms_of(spec.collective)[0]},
        options=Options(channels=spec.channels, chunk_bytes=spec.chunk, slices=spec.slices, protocol=spec.protocol,
                        server=spec.server or _server(network)),
        synchronization=spec.synchronize, scale_up=network, launch_ps=spec.launch, log_ops="collectives")
    try:
        workload = lower(graph, settings, hosts, context.hosts)
    except InputError as error:
        raise InputError(error.message, where=context.where) from error
    workload.ops["start_ps"][(workload.ops["deps"] == 0) & (workload.ops["kind"] != LOCAL_IN)] = spec.start
    return workload


def graph_of(spec: CollectiveSpec, context: Context) -> Graph:
    """What the ranks do: one node a rank, group and iteration, each after the one before it in its group. InputError as
    `build`."""
    ranks = len(_hosts(spec, context))
    groups = _groups(spec, ranks, context)
    members = np.concatenate(groups)
    if len(members) * spec.iterations > MAX_OPS:
        context.fail("iterations", f"{spec.iterations} of {len(members)} ranks make {len(members) * spec.iterations} "
                                   f"nodes; at most {MAX_OPS}")
    group = np.repeat(np.arange(len(groups)), [len(part) for part in groups])
    order = np.lexsort([group, members])
    nodes = np.zeros(len(members) * spec.iterations, NODES)
    nodes["rank"], nodes["group"] = (np.repeat(column[order], spec.iterations) for column in (members, group))
    nodes["id"] = np.arange(len(nodes)) - np.searchsorted(nodes["rank"], nodes["rank"])
    nodes["kind"], nodes["collective"] = COLL, number_of(spec.collective)
    sizes = np.array([_comm_size(spec, len(part)) for part in groups], "i8")
    roots = np.array([part[spec.root] if spec.collective in _ROOTED else -1 for part in groups], "i4")
    nodes["size_bytes"], nodes["root"] = sizes[nodes["group"]], roots[nodes["group"]]
    nodes["peer"] = nodes["issue"] = -1
    later = np.flatnonzero(np.arange(len(nodes)) % spec.iterations)
    deps = np.zeros(len(later), DEPS)
    deps["node"], deps["on"] = later, later - 1
    names = ["world"] if spec.groups is None else [str(number) for number in range(len(groups))]
    graph = Graph(ranks, nodes, deps, [Group(name, part.astype("i4")) for name, part in zip(names, groups)])
    if spec.counts is not None:
        graph.counts = _counts(spec, graph, context)
    return graph


def _counts(spec: CollectiveSpec, graph: Graph, context: Context) -> dict[int, np.ndarray]:
    """Graph.counts of an alltoallv: what each node's rank sends to the members of its group."""
    table, nodes = np.array(spec.counts, "i8"), graph.nodes
    found: dict[int, np.ndarray] = {}
    for number, group in enumerate(graph.groups):
        if len(group.ranks) != len(table):
            context.fail("counts", f"{len(table)} rows do not fit a group of {len(group.ranks)} ranks")
        place = np.zeros(graph.ranks, "i8")
        place[group.ranks] = np.arange(len(table))
        rows = np.flatnonzero(nodes["group"] == number)
        sent = table[place[nodes["rank"][rows]]]
        nodes["size_bytes"][rows] = sent.sum(axis=1)
        found.update(zip(rows.tolist(), sent, strict=True))
    return found


_ROOTED = tuple(COLLECTIVES[number] for number in (BROADCAST, REDUCE, GATHER, SCATTER))


def _hosts(spec: CollectiveSpec, context: Context) -> np.ndarray:
    """Host of each rank, i4[ranks]."""
    return context.choose_hosts(spec.hosts, "hosts", least=2).astype("i4")


def _groups(spec: CollectiveSpec, ranks: int, context: Context) -> list[np.ndarray]:
    """The ranks of each group, i8[members]."""
    if spec.groups is None:
        groups = [np.arange(ranks)]
    else:
        groups = [np.array(group, "i8") for group in spec.groups]
        if not groups:
            context.fail("groups", "is empty; list at least one group of ranks")
    for index, group in enumerate(groups):
        where = f"groups.{index}"
        if len(group) < 2:
            context.fail(where, f"{len(group)} rank{'s' * (len(group) != 1)}; a group has at least 2")
        if group.max() >= ranks:
            context.fail(where, f"unknown rank {group.max()}; the ranks are 0 to {ranks - 1}")
        if len(np.unique(group)) < len(group):
            values, counts = np.unique(group, return_counts=True)
            context.fail(where, f"rank {values[counts > 1][0]} is listed twice")
        if spec.collective in _ROOTED and spec.root >= len(group):
            context.fail("root", f"{spec.root} is no place in a group of {len(group)} ranks; valid: 0 to "
                                 f"{len(group) - 1}")
    return groups


def _comm_size(spec: CollectiveSpec, members: int) -> int:
    """Size as the graph counts it (collectives/README.md): all_gather and gather, of every rank, rounded up."""
    number = number_of(spec.collective)
    if number == BARRIER:
        return 0
    if number in (ALL_GATHER, GATHER) and spec.size_counts == "total":
        return -(-spec.size // members)
    return spec.size


def _server(network: ScaleUp | None) -> int:
    """Ranks of the largest scale-up group."""
    if network is None or not (network.group >= 0).any():
        return 1
    return int(np.bincount(network.group[network.group >= 0]).max())
