"""What stays the same through a training: ranks, groups, how collectives are cut, the way to a phase's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from distsim.errors import InputError
from distsim.workload import collectives
from distsim.workload.base import Context
from distsim.workload.collectives.schedule import Options
from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    COLL,
    COLLECTIVES,
    DEPS,
    NODES,
    REDUCE_SCATTER,
    Graph,
    Group,
)
from distsim.workload.lower import Settings, lower
from distsim.workload.nccl_tests.shape import PATTERN_BYTES, Pairs
from distsim.workload.nccl_tests.sweep import Volume
from distsim.workload.replay import scale_up
from distsim.workload.scale_up import ScaleUp
from distsim.workload.simai_degrees import DP, Degrees
from distsim.workload.types import LOG_OP, ROLE_NODE, Workload

from .program import Program
from .spec import TrainingSpec

OPERATIONS_A_PHASE = 4_000_000
HIERARCHICAL = "hierarchical"
HIERARCHICAL_CHUNK_BYTES = 128 << 10
Shapes = Counter[tuple[int, str, int]]       # (collective, domain, size) -> times in a step


@dataclass(frozen=True)
class Shape:
    """The fixed part of a training.

    placement : i4[ranks], host of each rank; hosts : of the fabric; degrees : how the ranks are split; settings : how
    collectives are expanded. steady : never, what is extrapolated is told beforehand.
    """

    spec: TrainingSpec
    placement: np.ndarray
    hosts: int
    degrees: Degrees
    settings: Settings
    steady: bool = False

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.placement)

    @property
    def simulated(self) -> int:
        """Steps that are simulated."""
        return min(self.spec.steps, self.spec.simulated or self.spec.steps)

    @cached_property
    def shapes(self) -> Shapes:
        """The collectives of a step."""
        one = self.program(1)
        return Counter((node.collective, node.domain, node.size_bytes) for node in one.nodes if node.kind == COLL)

    @cached_property
    def steps_a_phase(self) -> int:
        """Steps that one phase takes at most, so that its tables stay small."""
        messages = sum(times * self._count(*shape)[0] * self._groups(shape[1])
                       for shape, times in self.shapes.items())
        own = self.ranks * (len(self.program(1).nodes) + 3 * sum(self.shapes.values()))
        return max(1, OPERATIONS_A_PHASE // (messages + own))

    @cached_property
    def notices(self) -> np.ndarray | None:
        """Workload.notices: every two ranks of a scale-up group, in all phases; None without such groups."""
        network = self.settings.scale_up
        if network is None:
            return None
        members = [np.flatnonzero(network.group == row) for row in np.unique(network.group[network.group >= 0])]
        if not members:
            return None
        pairs = [np.stack(np.meshgrid(found, found, indexing="ij"), -1).reshape(-1, 2) for found in members]
        src, dst = np.concatenate(pairs).T
        src, dst = src[src != dst], dst[src != dst]
        if not len(src):
            return None
        return np.stack([self.placement[src], self.placement[dst], network.latency_ps(src, dst)], axis=1, dtype="i8",
                        casting="unsafe")

    def program(self, steps: int, pause_ps: int | None = None) -> Program:
        """The nodes of a rank in so many steps, or in a pause of that length."""
        made = Program(self.spec, self.degrees)
        if pause_ps is not None:
            made.pause(pause_ps)
            return made
        for _ in range(steps):
            made.step()
        return made

    def lower(self, program: Program) -> Workload:
        """The tables of a phase; of its operations those of `ends_of` are logged."""
        workload = lower(graph_of(program, self.degrees), self.settings, self.placement, self.hosts)
        workload.ops["flags"][ends_of(workload, program, self.ranks).ravel()] |= LOG_OP
        return workload

    def volumes(self) -> Iterator[Volume]:
        """What is simulated, for a projection."""
        for shape, times in self.shapes.items():
            messages, wire_bytes = self._count(*shape)
            groups = self._groups(shape[1])
            yield Volume(self.simulated * times, messages * groups, wire_bytes * groups, self._pairs(*shape))

    def _groups(self, domain: str) -> int:
        return self.ranks // self.degrees.members(domain)

    def _algorithm(self, collective: int) -> str:
        name: str = self.settings.algorithms.get(collective) or collectives.ALGORITHMS_OF[collective][0]
        return name

    def _count(self, collective: int, domain: str, size_bytes: int) -> tuple[int, int]:
        """(messages, bytes on the wire) of one group's collective. InputError when it does not fit."""
        members, name = self.degrees.members(domain), self._algorithm(collective)
        asked = (collective, name, members, size_bytes)
        try:
            return (int(collectives.message_count(*asked, options=self.settings.options)),
                    int(collectives.wire_bytes(*asked, options=self.settings.options)))
        except ValueError as error:
            raise InputError(f"{COLLECTIVES[collective]} of {size_bytes} bytes by {name} among {members} ranks: "
                             f"{error}", where="workload.algorithms") from None

    def _pairs(self, collective: int, domain: str, size_bytes: int) -> Pairs:
        """Who sends to whom, from the same algorithm at a size that is not cut."""
        members, used = self.degrees.members(domain), self.settings.options
        plain = Options(channels=used.channels, server=used.server)
        sent = collectives.expand(collective, self._algorithm(collective), members, PATTERN_BYTES * members,
                                  options=plain).transfers
        table = self.degrees.table(domain)
        src, dst = table[:, sent["src"]].ravel(), table[:, sent["dst"]].ravel()
        size = np.tile(sent["size_bytes"].astype("f8"), len(table))
        share, network = size / size.sum(), self.settings.scale_up
        over = np.ones(len(src), bool) if network is None else ~network.local(src, dst)
        both, place = np.unique(src[over].astype("i8") * self.ranks + dst[over], return_inverse=True)
        return Pairs(self.placement[both // self.ranks], self.placement[both % self.ranks],
                     np.bincount(place, minlength=len(both)) / len(src),
                     np.bincount(place, share[over], minlength=len(both)))


def graph_of(program: Program, degrees: Degrees) -> Graph:
    """The Graph of all ranks. Row ``rank * nodes + node``; ids run from 0 within each rank."""
    count, ranks = len(program.nodes), degrees.gpus
    one = np.zeros(count, NODES)
    one["id"], one["peer"], one["root"], one["group"], one["issue"] = np.arange(count), -1, -1, -1, -1
    for name in ("kind", "duration_ps", "size_bytes", "collective"):
        one[name] = [getattr(node, name) for node in program.nodes]
    talks = one["kind"] == COLL
    one["issue"][talks] = np.arange(np.count_nonzero(talks))
    nodes = np.tile(one, ranks)
    nodes["rank"] = np.repeat(np.arange(ranks), count)
    by_rank = nodes.reshape(ranks, count)
    domains = np.array([node.domain for node in program.nodes])
    groups: list[Group] = []
    for domain in dict.fromkeys(node.domain for node in program.nodes if node.kind == COLL):
        table = degrees.table(domain)
        row_of_rank = np.empty(ranks, "i4")
        row_of_rank[table] = len(groups) + np.arange(len(table))[:, None]
        by_rank["group"][:, domains == domain] = row_of_rank[:, None]
        groups += degrees.groups(domain)
    pairs = np.array([(row, on) for row, node in enumerate(program.nodes) for on in node.after], "i4").reshape(-1, 2)
    deps = np.zeros(ranks * len(pairs), DEPS)
    shift = np.arange(ranks, dtype="i4")[:, None] * count
    deps["node"], deps["on"] = (pairs[:, 0] + shift).ravel(), (pairs[:, 1] + shift).ravel()
    return Graph(ranks, nodes, deps, groups, source="training")


def ends_of(workload: Workload, program: Program, ranks: int) -> np.ndarray:
    """i8[steps, ranks], the operation with which each step ends on each rank."""
    labels = workload.labels
    assert labels is not None
    own = np.flatnonzero(labels["role"] == ROLE_NODE)
    row_of_node = np.full(len(program.nodes) * ranks, -1, "i8")
    row_of_node[labels["node"][own]] = own
    found: np.ndarray = row_of_node.reshape(ranks, -1)[:, program.ends].T
    return found


def shape_of(spec: TrainingSpec, context: Context) -> Shape:
    """The shape of a section; InputError when ranks, degrees or algorithms do not fit."""
    placement = context.choose_hosts(spec.hosts, "hosts", least=1).astype("i4")
    ranks, both = len(placement), spec.tensor_parallel * spec.expert_parallel
    if ranks % both:
        context.fail("tensor_parallel", f"tensor_parallel {spec.tensor_parallel} times expert_parallel "
                                        f"{spec.expert_parallel} does not divide the {ranks} ranks")
    degrees = Degrees(ranks, spec.tensor_parallel, spec.expert_parallel, ranks // both, 1)
    network = scale_up(spec, placement, context)
    server = spec.server or _server(network)
    algorithms = _algorithms(spec, degrees, server, context)
    cut = HIERARCHICAL in algorithms.values()
    chunk = spec.chunk if spec.chunk is not None else HIERARCHICAL_CHUNK_BYTES * cut
    options = Options(channels=spec.channels, chunk_bytes=int(chunk), slices=spec.slices, server=server)
    settings = Settings(algorithms=algorithms, options=options, scale_up=network, log_messages=False)
    shape = Shape(spec, placement, context.hosts, degrees, settings)
    try:
        assert shape.steps_a_phase
    except InputError as error:
        context.fail("algorithms", error.message)
    return shape


def _server(network: ScaleUp | None) -> int:
    """Ranks of the largest scale-up group."""
    if network is None or not (network.group >= 0).any():
        return 1
    return int(np.bincount(network.group[network.group >= 0]).max())


def _algorithms(spec: TrainingSpec, degrees: Degrees, server: int, context: Context) -> dict[int, str]:
    """Algorithm by number of the collective; InputError for one that the collective does not have."""
    found: dict[int, str] = {}
    if server > 1 and degrees.members(DP) == degrees.gpus and degrees.ep == 1 and degrees.gpus % server == 0 \
            and degrees.gpus > server:
        found = dict.fromkeys((ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER), HIERARCHICAL)
    for name, algorithm in spec.algorithms.items():
        number = COLLECTIVES.index(name)
        valid = collectives.ALGORITHMS_OF[number]
        if algorithm not in valid:
            context.fail(f"algorithms.{name}", f"{algorithm!r} is no algorithm of {name}; valid: {', '.join(valid)}")
        found[number] = algorithm
    return found
