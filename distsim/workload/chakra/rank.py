"""One rank's file, message by message, into rows of `NODES`."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distsim.errors import InputError
from distsim.workload.base import MAX_MESSAGE_BYTES, MAX_START_PS
from distsim.workload.chakra import groups, messages
from distsim.workload.chakra.settings import UNKNOWN, Roofline
from distsim.workload.chakra.stream import messages as split_messages
from distsim.workload.graph import BARRIER, COLL, COLLECTIVES, COMP, FIXED, META, NODES, RECV, SEND

VERSIONS = ("0.0.4", "1.0.0")
US_PS = 10**6
MAX_DURATION_US = MAX_START_PS // US_PS
ANY_RANK = -1                                   # comm_src of a receive from any rank (ours)
_ROOTS = (b"root", b"root_rank", b"comm_root")
_SCHEMA = re.compile(r"chakra\D{0,3}(\d+\.\d+\.\d+)")
_DECLARES = b"process_group:init"               # in the name of a node that declares groups (PyTorch)
WANTED = frozenset([b"is_cpu_op", b"num_ops", b"tensor_size", b"comm_type", b"comm_size", b"comm_src", b"comm_dst",
                    b"comm_tag", b"pg_name", b"issue_order", b"duration_ps", b"comm_counts", *_ROOTS])
_BLOCK_ROWS = 1 << 14


@dataclass
class RankTrace:
    """What one file says.

    nodes : NODES[n] in the order of the file, `group` counting in `group_names`. dep_node : i4[m] rows of nodes that
    wait, dep_on : u8[m] ids of what each waits for, as written, dep_ctrl : bool[m], whether in ctrl_deps. starts_us :
    i8[n], start_time_micros, 0: none. computation : bool[n], the COMP_NODEs. group_names : that its collectives and
    sends use. declared : groups that the trace itself declares. counts : bytes to each member of an alltoallv by row.
    unexpanded : rows of collectives that say neither type nor size. names : of the nodes, empty unless asked for.
    """

    file: str
    rank: int
    nodes: np.ndarray
    dep_node: np.ndarray
    dep_on: np.ndarray
    dep_ctrl: np.ndarray
    starts_us: np.ndarray
    computation: np.ndarray
    group_names: list[str]
    declared: list[tuple[str, list[Any]]]
    counts: dict[int, np.ndarray] = field(default_factory=dict)
    unexpanded: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def read_nodes(file: str) -> Iterator[Any]:
    """The nodes of a trace file, after its metadata; InputError for another version and for what is no Chakra."""
    for index, (at, data) in enumerate(split_messages(file)):
        kind = messages.Node if index else messages.GlobalMetadata
        try:
            message = kind.FromString(data)
        except messages.DecodeError:
            what = f"node number {index}" if index else "the metadata"
            raise InputError(f"{what}, {len(data)} bytes at byte {at}, is no Chakra message", file=file) from None
        if index:
            yield message
        else:
            check_version(message, file)


def check_version(metadata: Any, file: str) -> str:
    """The version of a trace, or the schema of one that leaves its version out; InputError when it cannot be read."""
    version: str = metadata.version.decode("utf-8", "replace")
    schema = messages.attributes(metadata, frozenset([b"schema"])).get(b"schema")
    named = _SCHEMA.search(schema.decode("utf-8", "replace")) if isinstance(schema, bytes) else None
    found = " ".join(version.split()) or (named[1] if named else "")
    if found and found not in VERSIONS:
        raise InputError(f"Chakra version {found} cannot be read; valid: {', '.join(VERSIONS)} (older ones have other "
                         "messages; convert them with the tools of mlcommons/chakra)", file=file)
    if not found and not isinstance(schema, bytes):
        raise InputError("the first message has neither a version nor a schema; this is no Chakra trace of version "
                         f"{' or '.join(VERSIONS)}", file=file)
    return found or (schema.decode("utf-8", "replace") if isinstance(schema, bytes) else "")


def read_rank(file: str, rank: int, ranks: int, roofline: Roofline = UNKNOWN, names: bool = False) -> RankTrace:
    """The trace of one rank of `ranks`; InputError with the file and the node for what cannot be replayed."""
    builder = _Builder(file, rank, ranks, roofline, names)
    for node in read_nodes(file):
        builder.add(node)
    return builder.trace()


class _Builder:
    """Collects the rows of one rank."""

    def __init__(self, file: str, rank: int, ranks: int, roofline: Roofline, names: bool):
        self.file, self.rank, self.ranks, self.roofline = file, rank, ranks, roofline
        self.keep_names = names
        self.count = 0
        self.rows: list[tuple[Any, ...]] = []
        self.blocks: list[np.ndarray] = []
        self.dep_node, self.dep_on, self.dep_ctrl = array("i"), array("Q"), array("b")
        self.starts_us, self.computes = array("q"), array("b")
        self.groups: dict[str, int] = {}
        self.declared: list[tuple[str, list[Any]]] = []
        self.counts: dict[int, np.ndarray] = {}
        self.unexpanded: list[int] = []
        self.names: list[str] = []

    def add(self, node: Any) -> None:
        """Append one node."""
        self.node, self.found = node, messages.attributes(node, WANTED)
        if node.type not in _KINDS:
            self.fail(f"has type {node.type}, which is not replayed; valid: "
                      + ", ".join(f"{number} {messages.NODE_TYPES[number]}" for number in sorted(_KINDS)))
        kind, duration_ps, size_bytes, peer, group, collective, root = _KINDS[node.type](self)
        tag = self.whole(b"comm_tag", 0, 2**63 - 1) if kind in (SEND, RECV) else 0
        issue = self.whole(b"issue_order", -1, 2**63 - 1) if b"issue_order" in self.found else -1
        self.rows.append((self.rank, kind, node.id, duration_ps, size_bytes, peer, tag, group, collective, root, issue))
        for is_ctrl, ids in ((1, node.ctrl_deps), (0, node.data_deps)):
            if ids:
                self.dep_on.extend(ids)
                self.dep_node.extend([self.count] * len(ids))
                self.dep_ctrl.extend([is_ctrl] * len(ids))
        if node.start_time_micros > 2**63 - 1:
            self.fail(f"has start_time_micros {node.start_time_micros}; valid: 0 to {2**63 - 1}")
        self.starts_us.append(node.start_time_micros)
        self.computes.append(node.type == messages.COMP_NODE)
        if self.keep_names:
            self.names.append(node.name.decode("utf-8", "replace"))
        self.count += 1
        if len(self.rows) == _BLOCK_ROWS:
            self.pack()

    def pack(self) -> None:
        """Turn the rows so far into a block of the table."""
        self.blocks.append(np.array(self.rows, NODES))
        self.rows = []

    def trace(self) -> RankTrace:
        """All that was added."""
        self.pack()
        return RankTrace(self.file, self.rank, np.concatenate(self.blocks), np.array(self.dep_node, "i4"),
                         np.array(self.dep_on, "u8"), np.array(self.dep_ctrl, bool), np.array(self.starts_us, "i8"),
                         np.array(self.computes, bool), list(self.groups), self.declared, self.counts, self.unexpanded,
                         self.names)

    def compute(self) -> tuple[int, ...]:
        """COMP_NODE: of the NPU, or of the CPU, which nothing shares."""
        if self.found.get(b"is_cpu_op"):
            return FIXED, self.duration_ps(), 0, -1, -1, 0, -1
        return COMP, self.duration_ps() or self.estimate_ps(b"num_ops", b"tensor_size"), 0, -1, -1, 0, -1

    def memory(self) -> tuple[int, ...]:
        """MEM_LOAD_NODE, MEM_STORE_NODE."""
        return FIXED, self.duration_ps() or self.estimate_ps(b"", b"tensor_size"), 0, -1, -1, 0, -1

    def metadata(self) -> tuple[int, ...]:
        """METADATA_NODE: takes no time; may declare process groups."""
        if _DECLARES in self.node.name:
            try:
                self.declared += groups.declared(messages.IOInfo.FromString(self.node.inputs).values)
            except messages.DecodeError:
                self.fail("has inputs that are no Chakra message")
        return META, 0, 0, -1, -1, 0, -1

    def send(self) -> tuple[int, ...]:
        """COMM_SEND_NODE; one that names its process group can be ordered with the group's collectives."""
        group = self.group() if b"pg_name" in self.found else -1
        return SEND, 0, self.size_bytes(), self.partner(b"comm_dst", 0), group, 0, -1

    def receive(self) -> tuple[int, ...]:
        """COMM_RECV_NODE."""
        return RECV, 0, self.size_bytes(), self.partner(b"comm_src", ANY_RANK), -1, 0, -1

    def collective(self) -> tuple[int, ...]:
        """COMM_COLL_NODE; one that says neither type nor size (a launcher on the CPU) only takes its duration."""
        if b"comm_type" not in self.found and b"comm_size" not in self.found:
            self.unexpanded.append(self.count)
            return FIXED, self.duration_ps(), 0, -1, -1, 0, -1
        if b"comm_type" not in self.found:
            self.fail("is a collective without comm_type; valid: " + _collective_names())
        number = self.whole(b"comm_type", -(2**31), 2**32)
        if not 0 <= number < len(COLLECTIVES):
            self.fail(f"has the unknown comm_type {number}; valid: {_collective_names()}")
        if b"comm_counts" in self.found:
            self.counts[self.count] = self.member_counts()
        size_bytes = self.size_bytes() if number != BARRIER or b"comm_size" in self.found else 0
        root = next((self.whole(name, 0, self.ranks - 1) for name in _ROOTS if name in self.found), -1)
        return COLL, self.duration_ps(), size_bytes, -1, self.group(), number, root

    def duration_ps(self) -> int:
        """The node's duration; `duration_ps`, an attribute of ours, says it to the picosecond."""
        if b"duration_ps" in self.found:
            return self.whole(b"duration_ps", 0, MAX_START_PS)
        duration_us: int = self.node.duration_micros
        if duration_us > MAX_DURATION_US:
            self.fail(f"has duration_micros {duration_us}; valid: 0 to {MAX_DURATION_US}")
        return duration_us * US_PS

    def estimate_ps(self, operations: bytes, size: bytes) -> int:
        """Time for the work that a node without a duration says it does, 0 when it says nothing."""
        amounts = [self.whole(name, 0, 2**63 - 1) for name in (operations, size)]
        if not any(amounts):
            return 0
        duration_ps = self.roofline.duration_ps(amounts[0], amounts[1], self.file, self.label())
        if duration_ps > MAX_START_PS:
            self.fail(f"takes {duration_ps} ps by the roofline; valid: up to {MAX_START_PS}")
        return duration_ps

    def size_bytes(self) -> int:
        """comm_size, which has to be there."""
        if b"comm_size" not in self.found:
            self.fail(f"is a {messages.NODE_TYPES[self.node.type]} without comm_size")
        return self.whole(b"comm_size", 0, MAX_MESSAGE_BYTES)

    def partner(self, name: bytes, least: int) -> int:
        """The other rank of a transfer."""
        if name not in self.found:
            self.fail(f"is a {messages.NODE_TYPES[self.node.type]} without {name.decode()}")
        return self.whole(name, least, self.ranks - 1)

    def group(self) -> int:
        """Place of the collective's process group in `groups`."""
        name = self.found.get(b"pg_name", b"")
        text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        return self.groups.setdefault(text, len(self.groups))

    def member_counts(self) -> np.ndarray:
        """Bytes that an alltoallv sends to each member."""
        counts = self.found[b"comm_counts"]
        if not isinstance(counts, list) or not all(0 <= count <= MAX_MESSAGE_BYTES for count in counts):
            self.fail(f"has comm_counts {counts!r}; valid: a list of numbers from 0 to {MAX_MESSAGE_BYTES}")
        return np.array(counts, "i8")

    def whole(self, name: bytes, least: int, most: int) -> int:
        """A whole number, whatever wire type it has; 0 when it is not there."""
        value = self.found.get(name, 0)
        if type(value) is int and least <= value <= most:
            return value
        try:
            number = int(value)
        except (TypeError, ValueError, OverflowError):
            number = least - 1
        if not least <= number <= most or (isinstance(value, float) and value != number):
            shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            self.fail(f"has {name.decode()} {shown}; valid: {least} to {most}")
        return number

    def label(self) -> str:
        """The node in messages."""
        name = self.node.name.decode("utf-8", "replace")
        return f"node {self.node.id} ({name[:60]})" if name else f"node {self.node.id}"

    def fail(self, message: str) -> None:
        """Raise the InputError for this node."""
        raise InputError(" ".join(f"{self.label()} {message}".split()), file=self.file)


def _collective_names() -> str:
    return ", ".join(f"{number} {name}" for number, name in enumerate(COLLECTIVES))


_KINDS: dict[int, Callable[[_Builder], tuple[int, ...]]] = {
    messages.METADATA_NODE: _Builder.metadata, messages.MEM_LOAD_NODE: _Builder.memory,
    messages.MEM_STORE_NODE: _Builder.memory, messages.COMP_NODE: _Builder.compute,
    messages.COMM_SEND_NODE: _Builder.send, messages.COMM_RECV_NODE: _Builder.receive,
    messages.COMM_COLL_NODE: _Builder.collective}
