"""What stays the same through a sweep: ranks and their places, how collectives are cut, the way to a phase's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from distsim.errors import InputError
from distsim.workload import collectives
from distsim.workload.base import MAX_OPS, Context
from distsim.workload.collectives.schedule import Options
from distsim.workload.graph import Graph
from distsim.workload.lower import Settings, lower
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import Workload

from . import tuner
from .command import Command
from .operations import COLLECTIVE, OWN_ALGORITHM, launches, size_bytes
from .report import Rank
from .sizes import Amount, amount
from .spec import NcclTestsSpec

NCCLS = ("ring", "chain", "nccl")        # what NCCL uses where the collective has it, else its first algorithm
OPERATIONS_A_PHASE = 4_000_000
FIRST_PID = 1000
PATTERN_BYTES = 4096
OWN_OPERATIONS = 4               # a rank's, a collective: launch, begin, end and a spare


@dataclass(frozen=True)
class Pairs:
    """Who sends to whom over the fabric. src, dst : i4[n], hosts; messages, size : f8[n], shares of an operation's
    messages and of its bytes; what is missing to 1 stays inside servers."""

    src: np.ndarray
    dst: np.ndarray
    messages: np.ndarray
    size: np.ndarray


@dataclass(frozen=True)
class Shape:
    """The fixed part of a sweep.

    placement : i4[ranks], host of each rank; hosts : of the fabric; server : ranks of a server.
    """

    command: Command
    spec: NcclTestsSpec
    placement: np.ndarray
    hosts: int
    server: int
    _known: dict[tuple[str, int], Pairs] = field(default_factory=dict, repr=False, compare=False)
    _choices: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.placement)

    @property
    def fits(self) -> bool:
        """Whether the program runs at all: hypercube_perf wants a power of two."""
        return self.command.program != "hypercube" or self.ranks & (self.ranks - 1) == 0

    @property
    def launch_ps(self) -> int:
        """Time of an operation's launches."""
        return int(self.spec.launch) * launches(self.command.program, self.ranks)

    @property
    def barrier_ps(self) -> int:
        """Pause between measurements."""
        return int(self.spec.barrier)

    @property
    def steady(self) -> bool:
        """Whether large sizes may be extrapolated."""
        return self.spec.steady

    @property
    def steady_from_bytes(self) -> int:
        """The smallest size that counts for it."""
        return int(self.spec.steady_from)

    @property
    def servers(self) -> int:
        """Servers that transfers go between: every rank counts as one when there is no scale-up network."""
        return -(-self.ranks // self.server) if self.spec.scale_up is not None else self.ranks

    @cached_property
    def collective(self) -> int:
        """Number of the program's collective."""
        return COLLECTIVE[self.command.program]

    @cached_property
    def scale_up(self) -> ScaleUp | None:
        """The network inside the servers."""
        return None if self.spec.scale_up is None else self.spec.scale_up.build(self.ranks)

    @cached_property
    def notices(self) -> np.ndarray | None:
        """Workload.notices: every two ranks of a server, in all phases; None without a network inside the servers."""
        if self.scale_up is None:
            return None
        src = np.repeat(np.arange(self.ranks), self.server)
        dst = src // self.server * self.server + np.tile(np.arange(self.server), self.ranks)
        others = (dst != src) & (dst < self.ranks)
        src, dst = src[others], dst[others]
        return np.stack([self.placement[src], self.placement[dst], self.scale_up.latency_ps(src, dst)], axis=1,
                        dtype="i8", casting="unsafe")

    def choice(self, moved: Amount) -> str:
        """Name of the algorithm of a size."""
        found = self._choices.get(moved.row_bytes)
        if found is None:
            found = self._choices[moved.row_bytes] = self._choose(moved)
        return found

    def _choose(self, moved: Amount) -> str:
        if self.spec.algorithm != "auto":
            return self.spec.algorithm
        program, names = self.command.program, algorithms(self.command.program)
        if program in tuner.RING_PROGRAMS and self.scale_up is not None and self.server > 1 \
                and self.ranks % self.server == 0:
            return tuner.HIERARCHICAL
        if program == "all_reduce":
            network = tuner.Network(int(self.spec.rate), int(self.spec.latency))
            by_ring, by_tree = (self.cut(name, moved) for name in (tuner.RING, tuner.DOUBLE_TREE))
            size = max(1, moved.row_bytes)
            ring_us = tuner.ring_us(size, self.ranks, by_ring, network)
            tree_us = tuner.tree_us(size, self.ranks, by_tree, network)
            return tuner.DOUBLE_TREE if tree_us < ring_us else tuner.RING
        return next((name for name in NCCLS if name in names), names[0])

    def options(self, moved: Amount) -> Options:
        """How a size is cut."""
        return self.cut(self.choice(moved), moved)

    def cut(self, algorithm: str, moved: Amount) -> Options:
        """How a size would be cut by an algorithm."""
        spec, program = self.spec, self.command.program
        chunk, parts = spec.chunk, spec.slices
        if chunk is None:
            chunk = tuner.chunk_bytes(program, algorithm, spec.protocol, moved.row_bytes, self.ranks, self.servers,
                                      spec.channels)
        if parts is None:
            part = moved.row_bytes // self.ranks // spec.channels
            parts = tuner.slices(program, algorithm, spec.protocol, min(part, chunk or part))
        return Options(channels=spec.channels, chunk_bytes=int(chunk), slices=parts, protocol=spec.protocol,
                       server=self.server if spec.scale_up is not None else 1)

    def lower(self, graph: Graph, moved: Amount) -> Workload:
        """The tables of a phase."""
        settings = Settings(algorithms={self.collective: self.choice(moved)}, options=self.options(moved),
                            serialization=False, scale_up=self.scale_up, log_messages=False, log_ops="collectives")
        return lower(graph, settings, self.placement, self.hosts)

    def messages(self, moved: Amount) -> tuple[int, int]:
        """(messages, bytes on the wire) of one operation. InputError when the algorithm does not fit the ranks or the
        size comes to too many messages."""
        name, options = self.choice(moved), self.options(moved)
        asked = (self.collective, name, self.ranks, size_bytes(self.command.program, moved))
        try:
            return (int(collectives.message_count(*asked, options=options)),
                    int(collectives.wire_bytes(*asked, options=options)))
        except ValueError as error:
            raise InputError(f"{self.command.name} of {moved.row_bytes} bytes by {name}: {error}",
                             where="workload.algorithm") from None

    def pairs(self, moved: Amount, root: int) -> Pairs:
        """Who sends to whom in one operation.

        Found from the same algorithm at a size that is not cut, so that a large collective costs no more to look at.
        """
        key = (self.choice(moved), max(root, 0))
        if key not in self._known:
            used = self.options(moved)
            options = Options(channels=used.channels, protocol=used.protocol, server=used.server)
            asked = collectives.expand(self.collective, key[0], self.ranks, PATTERN_BYTES * self.ranks,
                                       root=key[1], options=options).transfers
            total = int(asked["size_bytes"].sum())
            over = asked if self.scale_up is None else asked[~self.scale_up.local(asked["src"], asked["dst"])]
            both, place = np.unique(over["src"].astype("i8") * self.ranks + over["dst"], return_inverse=True)
            self._known[key] = Pairs(self.placement[both // self.ranks], self.placement[both % self.ranks],
                                     np.bincount(place, minlength=len(both)) / len(asked),
                                     np.bincount(place, over["size_bytes"], minlength=len(both)) / total)
        return self._known[key]

    def operations_a_phase(self, moved: Amount) -> int:
        """Operations that one phase takes at most, so that its tables stay small."""
        return max(1, OPERATIONS_A_PHASE // (self.messages(moved)[0] + OWN_OPERATIONS * self.ranks))

    def rank_list(self, names: Sequence[str]) -> list[Rank]:
        """Where each rank is said to run: servers of consecutive ranks, a process for -t times -g of them."""
        share = self.command.threads * self.command.gpus
        return [Rank(f"server-{rank // self.server}", FIRST_PID + rank // share, rank % self.server, names[host])
                for rank, host in enumerate(self.placement.tolist())]


def algorithms(program: str) -> tuple[str, ...]:
    """Names of the algorithms that a program may use."""
    if program in OWN_ALGORITHM:
        return (program,)
    names: tuple[str, ...] = collectives.ALGORITHMS_OF[COLLECTIVE[program]]
    return tuple(name for name in names if name not in OWN_ALGORITHM)


def shape_of(spec: NcclTestsSpec, command: Command, context: Context) -> Shape:
    """The shape of a specification; InputError when ranks, servers, root or algorithm do not fit."""
    placement = context.choose_hosts(spec.hosts, "hosts", least=2).astype("i4")
    share = command.threads * command.gpus
    server = spec.gpus_per_server or (spec.scale_up.gpus_per_server if spec.scale_up is not None else share)
    if spec.scale_up is not None and spec.scale_up.gpus_per_server != server:
        context.fail("gpus_per_server", f"{server} is not scale_up.gpus_per_server ({spec.scale_up.gpus_per_server}); "
                                        "give one of them")
    if len(placement) % share:
        context.fail("command", f"-t {command.threads} times -g {command.gpus} does not divide the "
                                f"{len(placement)} ranks")
    if server % share:
        context.fail("gpus_per_server", f"{server} is no multiple of -t {command.threads} times -g {command.gpus}; a "
                                        "process stays on one server")
    if command.root >= len(placement):
        context.fail("command", f"-r {command.root} (root): there are ranks 0 to {len(placement) - 1}")
    names = algorithms(command.program)
    if spec.algorithm != "auto" and spec.algorithm not in names:
        context.fail("algorithm", f"{spec.algorithm!r} is no algorithm of {command.program}; valid: auto, "
                                  f"{', '.join(names)}")
    shape = Shape(command, spec, placement, context.hosts, server)
    if shape.fits:
        largest = amount(command.program, "int8", command.max_bytes, shape.ranks)
        messages = shape.messages(largest)[0]
        if messages + OWN_OPERATIONS * shape.ranks > MAX_OPS:
            context.fail("command", f"an operation of {largest.row_bytes} bytes makes {messages:,} messages; at most "
                                    f"{MAX_OPS:,} are possible; use larger chunks, fewer channels or smaller sizes")
    return shape
