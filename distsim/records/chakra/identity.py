"""Names of collectives: their type in words, and an id that chakra-perf and the collective records share."""

from __future__ import annotations

import hashlib

import numpy as np

from distsim.records.chakra.run import Graphed
from distsim.workload.graph import COLLECTIVES, Group

TYPES = tuple("".join(word.capitalize() for word in name.split("_")) for name in COLLECTIVES)   # AllReduce, ...


def collective_ids(what: Graphed, purpose: str = "") -> np.ndarray:
    """i8[instances], >= 0: 63 bits of a BLAKE2b digest of the process group (its name, ranks and row), the collective's
    place in it, its type and size. The same on every machine and for every number of processes; `purpose` gives the
    barriers before the collectives ids of their own."""
    groups = [_group_digest(number, group, purpose) for number, group in enumerate(what.run.workload.graph.groups)]
    ids = np.zeros(len(what.instances), np.int64)
    for row, (kind, group, order, size) in enumerate(what.instances[["collective", "group", "order",
                                                                     "size_bytes"]].tolist()):
        digest = hashlib.blake2b(f"{kind},{order},{size}".encode(), key=groups[group], digest_size=8).digest()
        ids[row] = int.from_bytes(digest, "little") >> 1
    return ids


def _group_digest(number: int, group: Group, purpose: str) -> bytes:
    ranks = np.ascontiguousarray(group.ranks, "<i8").tobytes()
    return hashlib.blake2b(f"{purpose}/{number}/{group.name}/".encode() + ranks, digest_size=32).digest()
