"""What is in traces: nodes by type, bytes by collective, ranks, dependencies. Reads what a replay would refuse, too."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from distsim.workload.chakra import messages
from distsim.workload.chakra.files import rank_files, split_name
from distsim.workload.chakra.rank import check_version
from distsim.workload.chakra.rank import read_nodes as _read_nodes
from distsim.workload.chakra.stream import messages as split_messages
from distsim.workload.graph import COLL, COLLECTIVES, COMP, FIXED, NODE_KINDS, Graph

_WANTED = frozenset([b"comm_type", b"comm_size", b"is_cpu_op", b"pg_name", b"num_ops", b"tensor_size"])
_US_PS = 10**6


@dataclass
class Info:
    """source : prefix or file; form : format and version; ranks : ranks that were read; nodes : number by type;
    collectives : by type {"nodes", "bytes" (sum of comm_size)}; transfers : "sends" and "receives", likewise;
    process_groups : collectives by group name; microseconds : sum of durations of "npu", "cpu" and "memory" nodes;
    dependencies; dangling : of them on ids that their rank has not; launchers : collectives without type and size;
    estimates : nodes without a duration that say how much work they are; warnings : lines for the user."""

    source: str
    form: str
    ranks: list[int]
    nodes: Counter[str] = field(default_factory=Counter)
    collectives: dict[str, Counter[str]] = field(default_factory=dict)
    transfers: dict[str, Counter[str]] = field(default_factory=dict)
    process_groups: Counter[str] = field(default_factory=Counter)
    microseconds: Counter[str] = field(default_factory=Counter)
    dependencies: int = 0
    dangling: int = 0
    launchers: int = 0
    estimates: int = 0
    warnings: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """The same as JSON: keys as here, but `ranks` is their number."""
        data: dict[str, Any] = {**vars(self), "ranks": len(self.ranks)}
        for key in ("nodes", "process_groups", "microseconds"):
            data[key] = dict(data[key])
        for key in ("collectives", "transfers"):
            data[key] = {name: dict(counts) for name, counts in data[key].items()}
        return data

    def add_bytes(self, table: dict[str, Counter[str]], name: str, size_bytes: int, nodes: int = 1) -> None:
        """Count nodes of one type and their bytes."""
        table.setdefault(name, Counter()).update({"nodes": nodes, "bytes": size_bytes})


def chakra_info(source: str, files: list[str]) -> Info:
    """Of a traceset or some of its files; InputError for what is no Chakra trace.

    source : its prefix; files : those to read, none: all.
    """
    files = files or rank_files(source)
    named = [split_name(file) for file in files]
    info = Info(source, f"chakra {_version(files[0])}", sorted(parts[1] if parts else 0 for parts in named))
    for file in files:
        ids, wanted = array("Q"), array("Q")
        for node in _read_nodes(file):
            _count(info, node)
            ids.append(node.id)
            wanted.extend(node.ctrl_deps)
            wanted.extend(node.data_deps)
        info.dependencies += len(wanted)
        info.dangling += int((~np.isin(np.array(wanted, "u8"), np.array(ids, "u8"))).sum())
    return info


def graph_info(source: str, form: str, graph: Graph) -> Info:
    """Of a workload that was read from another format."""
    nodes = graph.nodes
    info = Info(source, form, np.unique(nodes["rank"]).tolist(), dependencies=len(graph.deps),
                warnings=list(graph.warnings))
    for kind, name in enumerate(NODE_KINDS):
        mine = nodes[nodes["kind"] == kind]
        if len(mine):
            info.nodes[name] = len(mine)
        if len(mine) and name in ("SEND", "RECV"):
            info.add_bytes(info.transfers, "sends" if name == "SEND" else "receives", int(mine["size_bytes"].sum()),
                           len(mine))
    for kind, name in ((COMP, "npu"), (FIXED, "cpu")):
        info.microseconds[name] = int(nodes["duration_ps"][nodes["kind"] == kind].sum()) // _US_PS
    for row in nodes[nodes["kind"] == COLL]:
        info.add_bytes(info.collectives, COLLECTIVES[row["collective"]], int(row["size_bytes"]))
        info.process_groups[graph.groups[row["group"]].name] += 1
    return info


def _version(file: str) -> str:
    _, data = next(split_messages(file))
    try:
        return check_version(messages.GlobalMetadata.FromString(data), file)
    except messages.DecodeError:
        return "?"                         # reading the nodes says what is wrong


def _count(info: Info, node: Any) -> None:
    known = node.type < len(messages.NODE_TYPES)
    info.nodes[messages.NODE_TYPES[node.type] if known else f"type {node.type}"] += 1
    found = messages.attributes(node, _WANTED)
    size_bytes = found.get(b"comm_size", 0)
    size_bytes = size_bytes if isinstance(size_bytes, int) else 0
    if node.type in (messages.COMM_SEND_NODE, messages.COMM_RECV_NODE):
        info.add_bytes(info.transfers, "sends" if node.type == messages.COMM_SEND_NODE else "receives", size_bytes)
    elif node.type == messages.COMM_COLL_NODE:
        _count_collective(info, found, size_bytes)
    elif node.type in (messages.COMP_NODE, messages.MEM_LOAD_NODE, messages.MEM_STORE_NODE):
        place = "memory" if node.type != messages.COMP_NODE else "cpu" if found.get(b"is_cpu_op") else "npu"
        info.microseconds[place] += node.duration_micros
        info.estimates += not node.duration_micros and bool(found.get(b"num_ops") or found.get(b"tensor_size"))


def _count_collective(info: Info, found: dict[bytes, Any], size_bytes: int) -> None:
    if b"comm_type" not in found and b"comm_size" not in found:
        info.launchers += 1
        return
    number = found.get(b"comm_type")
    known = isinstance(number, int) and 0 <= number < len(COLLECTIVES)
    info.add_bytes(info.collectives, COLLECTIVES[int(number or 0)] if known else f"comm_type {number}", size_bytes)
    name = found.get(b"pg_name", b"")
    info.process_groups[name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)] += 1
