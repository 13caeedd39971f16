"""Shared by the tests of Chakra traces: a trace file written field by field, and small graphs."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np

from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    COLL,
    COMP,
    DEPS,
    FIXED,
    META,
    NODES,
    RECV,
    REDUCE_SCATTER,
    SEND,
    Graph,
    Group,
)

METADATA_NODE, MEM_LOAD, MEM_STORE, COMP_NODE, SEND_NODE, RECV_NODE, COLL_NODE = range(1, 8)
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Field of an attribute's value by wire type of ours.
FIELDS = {"double": 3, "float": 5, "int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint64": 17, "bool": 27,
          "string": 29}


def varint(value: int) -> bytes:
    """A number in protobuf's base 128; negative ones as 64 bits."""
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def put(number: int, value: Any) -> bytes:
    """One protobuf field: a number as varint, a float as fixed64, text and bytes by length."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | FIXED64) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def attribute(name: str, value: Any, kind: str | None = None) -> bytes:
    """An attribute (field 10 of a node, 2 of the metadata, is put around it)."""
    kind = kind or {bool: "bool", int: "int64", float: "double", str: "string"}[type(value)]
    if kind == "sint64":
        value = value << 1 ^ value >> 63
    return put(1, name) + put(FIELDS[kind], int(value) if kind == "bool" else value)


def node(node_id: int, kind: int, duration_us: int = 0, after: tuple[int, ...] = (), ctrl: tuple[int, ...] = (),
         start_us: int = 0, name: str = "", inputs: bytes = b"", **attributes: Any) -> bytes:
    """A node; attributes are values or (value, wire type)."""
    data = put(1, node_id) + put(3, kind) + (put(2, name) if name else b"")
    data += b"".join(put(4, on) for on in ctrl) + (put(5, b"".join(map(varint, after))) if after else b"")
    data += (put(6, start_us) if start_us else b"") + (put(7, duration_us) if duration_us else b"")
    data += put(8, inputs) if inputs else b""
    for key, value in attributes.items():
        data += put(10, attribute(key, *(value if isinstance(value, tuple) else (value,))))
    return data


def coll(node_id: int, size: Any = 1000, kind: Any = 0, **more: Any) -> bytes:
    """A collective of `size` bytes, an all-reduce unless said otherwise."""
    return node(node_id, COLL_NODE, **{"comm_type": kind, "comm_size": size, **more})


def trace(*nodes: bytes, metadata: bytes | None = None) -> bytes:
    """A file: the metadata (version 0.0.4 by default), then the nodes, each after its length."""
    messages = [put(1, "0.0.4") if metadata is None else metadata, *nodes]
    return b"".join(varint(len(message)) + message for message in messages)


def write(folder: Path, *ranks: bytes, prefix: str = "t", packed: bool = False) -> str:
    """Write a traceset, one file a rank, in the place of one of that prefix, and return its prefix."""
    for file in folder.iterdir():
        if file.name.startswith(prefix + ".") and file.name.endswith(".et"):
            file.unlink()
    for rank, data in enumerate(ranks):
        (folder / f"{prefix}.{rank}.et").write_bytes(gzip.compress(data) if packed else data)
    return str(folder / prefix)


def nodes_of(rows: list[dict[str, int]]) -> np.ndarray:
    """NODES from what differs from an empty node."""
    out = np.zeros(len(rows), NODES)
    out["peer"], out["group"], out["root"], out["issue"] = -1, -1, -1, -1
    for row, values in zip(out, rows):
        for name, value in values.items():
            row[name] = value
    return out


def step_graph() -> Graph:
    """The traceset of configs/chakra8: one step of a model that is split over four ranks and has two replicas.

    Forward compute, all-gather in the group of four, backward compute, reduce-scatter there; the gradients are reduced
    over all ranks; rank 0 passes 64 KB of metrics to rank 4.
    """
    groups = [Group("tp0", np.arange(4, dtype="i4")), Group("tp1", np.arange(4, 8, dtype="i4")),
              Group("world", np.arange(8, dtype="i4"))]
    rows: list[dict[str, int]] = []
    deps: list[tuple[int, int]] = []
    names: dict[int, str] = {}

    def add(text: str, after: bool = True, **values: int) -> None:
        if after and rows and rows[-1]["rank"] == values["rank"]:
            deps.append((len(rows), len(rows) - 1))
        names[len(rows)] = text
        rows.append({"id": sum(row["rank"] == values["rank"] for row in rows) + 1, **values})

    for rank in range(8):
        tensor = {"rank": rank, "kind": COLL, "group": rank // 4}
        add("load batch", rank=rank, kind=FIXED, duration_ps=5 * 10**6)
        add("forward", rank=rank, kind=COMP, duration_ps=40 * 10**6)
        add("gather activations", **tensor, collective=ALL_GATHER, size_bytes=256 * 1024, issue=0)
        add("backward", rank=rank, kind=COMP, duration_ps=80 * 10**6)
        add("scatter gradients", **tensor, collective=REDUCE_SCATTER, size_bytes=1024 * 1024, issue=1)
        add("reduce gradients", rank=rank, kind=COLL, group=2, collective=ALL_REDUCE, size_bytes=4 << 20, issue=0)
        if rank == 0:
            add("metrics", rank=0, kind=SEND, peer=4, size_bytes=65536, tag=1)
        if rank == 4:
            add("metrics", after=False, rank=4, kind=RECV, peer=0, size_bytes=65536, tag=1)
        add("end of step", rank=rank, kind=META)
    out = np.zeros(len(deps), DEPS)
    out["node"], out["on"] = np.array(deps).T
    return Graph(8, nodes_of(rows), out, groups, names=names)
