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
DEFAULT_BPS = 400 * 10**9        # of a NIC, when neither the section nor the fabric tells
PATTERN_BYTES = 4096
MOST_LOOKED_AT = 200_000          # transfers that are made only to see who sends to whom
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

    placement : i4[ranks], host of each rank; hosts : of the fabric; server : ranks of a server; rate_bps : of a NIC,
    for the tuner.
    """

    command: Command
    spec: NcclTestsSpec
    placement: np.ndarray
    hosts: int
    server: int
    rate_bps: int
    _known: dict[tuple[str, int, int], Pairs] = field(default_factory=dict, repr=False, compare=False)
    _choices: dict[int, tuner.Choice] = field(default_factory=dict, repr=False, compare=False)

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

    def choice(self, moved: Amount) -> tuner.Choice:
        """Algorithm and protocol of a size."""
        found = self._choices.get(moved.row_bytes)
        if found is None:
            found = self._choices[moved.row_bytes] = self._choose(moved)
        return found

    def _choose(self, moved: Amount) -> tuner.Choice:
        """The shortest by the tuner; the first where it says nothing."""
        protocols = tuner.PROTOCOLS if self.spec.protocol == "auto" else (self.spec.protocol,)
        choices = [tuner.Choice(name, protocol) for name in self._candidates() for protocol in protocols]
        network = tuner.Network(self.rate_bps, int(self.spec.latency))
        times = [tuner.estimate_us(self.command.program, choice.algorithm, moved.row_bytes, self.ranks,
                                   self.cut(choice, moved), network) for choice in choices]
        known = [(time, place) for place, time in enumerate(times) if time is not None]
        return choices[min(known)[1] if known else 0]

    def _candidates(self) -> tuple[str, ...]:
        """Algorithms that NCCL would choose from."""
        program, names = self.command.program, algorithms(self.command.program)
        if self.spec.algorithm != "auto":
            return (self.spec.algorithm,)
        if program in tuner.RING_PROGRAMS and self.scale_up is not None and self.server > 1 \
                and self.ranks % self.server == 0:
            return (tuner.HIERARCHICAL,)
        if program == "all_reduce":
            return (tuner.RING, tuner.DOUBLE_TREE)
        return (next((name for name in NCCLS if name in names), names[0]),)

    def options(self, moved: Amount) -> Options:
        """How a size is cut."""
        return self.cut(self.choice(moved), moved)

    def cut(self, choice: tuner.Choice, moved: Amount) -> Options:
        """How a size would be cut."""
        spec, program = self.spec, self.command.program
        chunk, parts = spec.chunk, spec.slices
        if chunk is None:
            chunk = tuner.chunk_bytes(program, choice, moved.row_bytes, self.ranks, self.servers, spec.channels)
        if parts is None:
            part = moved.row_bytes // self.ranks // spec.channels
            parts = tuner.slices(program, choice, min(part, chunk or part))
        return Options(channels=spec.channels, chunk_bytes=int(chunk), slices=parts, protocol=choice.protocol,
                       server=self.server if spec.scale_up is not None else 1)

    def lower(self, graph: Graph, moved: Amount) -> Workload:
        """The tables of a phase."""
        settings = Settings(algorithms={self.collective: self.choice(moved).algorithm}, options=self.options(moved),
                            serialization=False, scale_up=self.scale_up, log_messages=False, log_ops="collectives")
        return lower(graph, settings, self.placement, self.hosts)

    def messages(self, moved: Amount) -> tuple[int, int]:
        """(messages, bytes on the wire) of one operation. InputError when the algorithm does not fit the ranks or the
        size comes to too many messages."""
        name, options = self.choice(moved).algorithm, self.options(moved)
        asked = (self.collective, name, self.ranks, size_bytes(self.command.program, moved))
        try:
            return (int(collectives.message_count(*asked, options=options)),
                    int(collectives.wire_bytes(*asked, options=options)))
        except ValueError as error:
            raise InputError(f"{self.command.name} of {moved.row_bytes} bytes by {name}: {error}",
                             where="workload.algorithm") from None

    def pairs(self, moved: Amount, root: int) -> Pairs:
        """Who sends to whom in one operation.

        Found by making the transfers; those of a large operation from the same algorithm at a size that is not cut, so
        that it costs no more to look at.
        """
        choice, options, root = self.choice(moved), self.options(moved), max(root, 0)
        exact = self.messages(moved)[0] <= MOST_LOOKED_AT
        key = (choice.algorithm, root, moved.row_bytes if exact else -1)
        if key not in self._known:
            size = size_bytes(self.command.program, moved) if exact else PATTERN_BYTES * self.ranks
            whole = Options(channels=options.channels, protocol=choice.protocol, server=options.server)
            self._known[key] = self._pairs(collectives.expand(
                self.collective, choice.algorithm, self.ranks, size, root=root,
                options=options if exact else whole).transfers)
        return self._known[key]

    def _pairs(self, asked: np.ndarray) -> Pairs:
        total = max(1, int(asked["size_bytes"].sum()))
        over = asked if self.scale_up is None else asked[~self.scale_up.local(asked["src"], asked["dst"])]
        both, place = np.unique(over["src"].astype("i8") * self.ranks + over["dst"], return_inverse=True)
        return Pairs(self.placement[both // self.ranks], self.placement[both % self.ranks],
                     np.bincount(place, minlength=len(both)) / len(asked),
                     np.bincount(place, over["size_bytes"], minlength=len(both)) / total)

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
    rate_bps = int(spec.rate or context.rate_bps or DEFAULT_BPS)
    shape = Shape(command, spec, placement, context.hosts, server, rate_bps)
    if shape.fits:
        largest = amount(command.program, "int8", command.max_bytes, shape.ranks)
        messages = shape.messages(largest)[0]
        if messages + OWN_OPERATIONS * shape.ranks > MAX_OPS:
            context.fail("command", f"an operation of {largest.row_bytes} bytes makes {messages:,} messages; at most "
                                    f"{MAX_OPS:,} are possible; use larger chunks, fewer channels or smaller sizes")
    return shape
