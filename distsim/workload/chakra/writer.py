"""A `Graph` as a Chakra traceset of version 1.0.0, which `read_traceset` reads back as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from distsim.errors import InputError
from distsim.workload.chakra import messages
from distsim.workload.chakra.files import GROUP_FILES, MAPPING, split_name
from distsim.workload.chakra.groups import WORLD
from distsim.workload.chakra.rank import US_PS, VERSIONS
from distsim.workload.graph import COLL, COLLECTIVES, COMP, FIXED, META, NODE_KINDS, RECV, SEND, Graph

_TYPES = {COMP: messages.COMP_NODE, FIXED: messages.COMP_NODE, SEND: messages.COMM_SEND_NODE,
          RECV: messages.COMM_RECV_NODE, COLL: messages.COMM_COLL_NODE, META: messages.METADATA_NODE}


def write_traceset(graph: Graph, prefix: str, overwrite: bool = False) -> list[str]:
    """Write ``<prefix>.<rank>.et`` for every rank, and ``<prefix>.json`` with the process groups unless the only one is
    that of all ranks; returns lines for the user about what other readers will not see.

    Attributes of ours, which other readers pass over: `duration_ps` where a duration is not whole microseconds,
    `issue_order`, `root`, `comm_counts` (alltoallv, bytes to each member), comm_src -1 of a receive from any rank. Ids
    that are not unique in their rank become running numbers from 1. Raises InputError when there are no ranks, and when
    the traceset, its process groups or its mapping file are there already and `overwrite` is not set; when it is, all
    of these are removed.
    """
    if not graph.ranks:
        raise InputError("there is no rank to write", file=graph.source or None)
    _make_room(prefix, overwrite)
    ids = _ids(graph)
    begin = np.searchsorted(graph.nodes["rank"], np.arange(graph.ranks + 1)).tolist()
    control = np.zeros(len(graph.deps), bool) if graph.control is None else graph.control
    waits = [_Waits(graph.deps[which], ids) for which in (~control, control)]
    names = _group_names(graph)
    for rank in range(graph.ranks):
        with open(f"{prefix}.{rank}.et", "wb") as file:
            _write(file, messages.GlobalMetadata(version=VERSIONS[-1].encode()))
            for row in range(begin[rank], begin[rank + 1]):
                _write(file, _node(graph, row, int(ids[row]), [kind.of(row) for kind in waits], names))
    if not _only_world(graph):
        Path(prefix + GROUP_FILES[0]).write_text(_group_json(graph, names), encoding="utf-8")
    return _notes(graph)


class _Waits:
    """Ids that each node waits for."""

    def __init__(self, deps: np.ndarray, ids: np.ndarray):
        order = np.argsort(deps["node"], kind="stable")
        self._on = ids[deps["on"][order]].tolist()
        self._first = np.searchsorted(deps["node"][order], np.arange(len(ids) + 1)).tolist()

    def of(self, row: int) -> list[int]:
        """Of the node in this row, in the order of the dependencies."""
        return self._on[self._first[row]:self._first[row + 1]]


def _make_room(prefix: str, overwrite: bool) -> None:
    folder, name = os.path.split(prefix)
    try:
        os.makedirs(folder or ".", exist_ok=True)
        there = [os.path.join(folder, entry) for entry in os.listdir(folder or ".")
                 if (split_name(entry) or ("",))[0] == name]
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder or ".") from None
    there += [prefix + ending for ending in (*GROUP_FILES, MAPPING) if name and Path(prefix + ending).exists()]
    if not name or (there and not overwrite):
        raise InputError(f"the traceset is there already ({len(there)} files); give another prefix or --overwrite"
                         if name else "is a folder; give a prefix such as traces/run", file=prefix)
    for path in there:
        os.remove(path)


def _ids(graph: Graph) -> np.ndarray:
    """The nodes' ids, or running numbers in a rank where they are not unique."""
    ids = graph.nodes["id"].copy()
    order = np.lexsort((ids, graph.nodes["rank"]))
    rank, in_order = graph.nodes["rank"][order], ids[order]
    for bad in np.unique(rank[1:][(rank[1:] == rank[:-1]) & (in_order[1:] == in_order[:-1])]):
        mine = graph.nodes["rank"] == bad
        ids[mine] = np.arange(1, mine.sum() + 1)
    return ids


def _group_names(graph: Graph) -> list[str]:
    """Names of the groups, made to differ."""
    names: dict[str, None] = {}
    for row, group in enumerate(graph.groups):
        name = group.name or f"group{row}"
        while name in names:
            name += f".{row}"
        names[name] = None
    return list(names)


def _only_world(graph: Graph) -> bool:
    """Whether no group but that of all ranks in their order is there, under its usual name and in use."""
    return not graph.groups or (len(graph.groups) == 1 and graph.groups[0].name == WORLD[1]
                                and bool((graph.nodes["group"] >= 0).any())
                                and np.array_equal(graph.groups[0].ranks, np.arange(graph.ranks)))


def _group_json(graph: Graph, names: list[str]) -> str:
    lines = [f"  {json.dumps(name)}: {json.dumps(group.ranks.tolist())}" for name, group in zip(names, graph.groups)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _node(graph: Graph, row: int, node_id: int, waits: list[list[int]], group_names: list[str]) -> Any:
    """waits : ids in its data_deps and in its ctrl_deps."""
    values = graph.nodes[row]
    kind = int(values["kind"])
    is_memory = kind == FIXED and graph.computation is not None and not graph.computation[row]
    duration_ps = int(values["duration_ps"]) if kind in (COMP, FIXED) else 0
    node = messages.Node(id=node_id, type=messages.MEM_LOAD_NODE if is_memory else _TYPES[kind], data_deps=waits[0],
                         ctrl_deps=waits[1], name=_name(graph, row).encode(),
                         duration_micros=(duration_ps + US_PS // 2) // US_PS)
    for name, which, value in _attributes(values, kind, duration_ps, group_names):
        node.attr.add(**{"name": name.encode(), which: value})
    if row in graph.counts:
        node.attr.add(name=b"comm_counts").int64_list.values.extend(graph.counts[row].tolist())
    return node


def _attributes(values: Any, kind: int, duration_ps: int, group_names: list[str]) -> Iterator[tuple[str, str, Any]]:
    """Name, field and value of each attribute, in the wire types of the public generators."""
    if kind != META:
        yield "is_cpu_op", "bool_val", kind == FIXED
    if duration_ps % US_PS:
        yield "duration_ps", "int64_val", duration_ps
    if kind in (SEND, RECV):
        rank, peer, tag = int(values["rank"]), int(values["peer"]), int(values["tag"])
        yield "comm_size", "int64_val", int(values["size_bytes"])
        yield "comm_src", "int32_val", rank if kind == SEND else peer
        yield "comm_dst", "int32_val", peer if kind == SEND else rank
        yield "comm_tag", "int32_val" if tag < 2**31 else "int64_val", tag
    if kind == SEND and values["group"] >= 0:
        yield "pg_name", "string_val", group_names[values["group"]].encode()
    if kind == COLL:
        yield "comm_type", "int64_val", int(values["collective"])
        yield "comm_size", "int64_val", int(values["size_bytes"])
        yield "pg_name", "string_val", group_names[values["group"]].encode()
        if values["root"] >= 0:
            yield "root", "int32_val", int(values["root"])
    if values["issue"] >= 0:
        yield "issue_order", "int64_val", int(values["issue"])


def _name(graph: Graph, row: int) -> str:
    kind = graph.nodes["kind"][row]
    plain = COLLECTIVES[graph.nodes["collective"][row]] if kind == COLL else NODE_KINDS[kind].lower()
    return graph.names.get(row) or plain


def _write(file: IO[bytes], message: Any) -> None:
    data = message.SerializeToString(deterministic=True)
    length, size = bytearray(), len(data)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    file.write(length)
    file.write(data)


def _notes(graph: Graph) -> list[str]:
    """What readers that know no attributes of ours will not see."""
    works = np.isin(graph.nodes["kind"], (COMP, FIXED))
    broken = int((graph.nodes["duration_ps"][works] % US_PS != 0).sum())
    anyone = int(((graph.nodes["kind"] == RECV) & (graph.nodes["peer"] < 0)).sum())
    notes = []
    if broken:
        notes.append(f"{broken:,} durations are not whole microseconds: duration_micros is rounded, the attribute "
                     "duration_ps, which only distsim reads, is exact")
    if anyone:
        notes.append(f"{anyone:,} receives are from any rank (comm_src -1), which only distsim reads")
    if graph.counts:
        notes.append(f"{len(graph.counts):,} collectives send different sizes to different ranks (comm_counts), which "
                     "only distsim reads")
    return notes
