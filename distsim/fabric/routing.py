"""Shortest-path ECMP: for every switch and destination rack switch the links that start a path of fewest hops.

Parallel cables are members of their own. Works on any graph; NICs never forward.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distsim.errors import InputError
from distsim.fabric.types import SWITCH, Fabric, Routes

_FAR = np.int16(32000)
_BLOCK_BYTES = 1 << 25      # of one temporary mask (links x destinations)


def build_routes(fabric: Fabric) -> Routes:
    """Routes of a validated fabric; sets are shared by the destinations of a switch that use the same links.

    Raises InputError when a switch with NICs below it cannot be reached from another.
    """
    routes, lost = _shortest(fabric, np.ones(len(fabric.links), bool))
    if len(lost):
        here, there = (fabric.names[node] for node in lost[0])
        raise InputError(f"there is no path from {here} to {there}", where="fabric")
    return routes


def reroute(fabric: Fabric, routes: Routes, down: np.ndarray) -> Routes:
    """Routes that avoid links. routes : those of the whole fabric; down : bool[links], those that carry nothing.

    Where no path is left the routes stay as they are. They lead to a link that is down, or to a switch without a path
    either that is nearer in the whole fabric, so no packet goes round for ever.
    """
    if not down.any():
        return routes
    found, _ = _shortest(fabric, ~down)
    lost = (found.table < 0) & (routes.table >= 0)
    first, begin = len(found.set_count), len(found.members)
    table = np.where(lost, routes.table + first, found.table).astype("i4")
    set_begin = np.concatenate([found.set_begin, routes.set_begin + begin]).astype("i4")
    return replace(found, table=table, set_begin=set_begin,
                   set_count=np.concatenate([found.set_count, routes.set_count]),
                   members=np.concatenate([found.members, routes.members]))


def _shortest(fabric: Fabric, up: np.ndarray) -> tuple[Routes, np.ndarray]:
    """Routes over the links that are up, -1 where there is no path; and node ids (from, to) of leaves without one."""
    nodes, links, hosts = fabric.nodes, fabric.links, fabric.hosts
    up_link = np.full(hosts, -1, "i4")
    from_nic = np.flatnonzero(links["src"] < hosts)
    up_link[links["src"][from_nic]] = from_nic
    leaf_of_host = links["dst"][up_link]
    leaves = np.unique(leaf_of_host)
    leaf_index = np.full(len(nodes), -1, "i4")
    leaf_index[leaves] = np.arange(len(leaves))

    kind = nodes["kind"]
    rows = np.flatnonzero((kind[links["src"]] == SWITCH) & (kind[links["dst"]] == SWITCH) & up)
    rows = rows[np.argsort(links["src"][rows], kind="stable")]
    src, dst = links["src"][rows] - hosts, links["dst"][rows] - hosts
    switches = len(nodes) - hosts
    sets = _Sets(rows, np.searchsorted(src, np.arange(switches + 1)))
    table = np.full((switches, len(leaves)), -1, "i4")
    block = max(1, _BLOCK_BYTES // max(1, len(rows)))
    lost: list[np.ndarray] = []
    for begin in range(0, len(leaves), block):
        part = leaves[begin:begin + block]
        hops = _hops(src, dst, switches, part - hosts)
        pairs = np.argwhere(hops[leaves - hosts] == _FAR)
        lost.append(np.column_stack([leaves[pairs[:, 0]], part[pairs[:, 1]]]))
        sets.fill(table[:, begin:begin + block], hops[dst] + 1 == hops[src])
    set_begin, set_count, members = sets.tables()
    found = Routes(leaf_of_host=leaf_of_host.astype("i4"), leaf_index=leaf_index, table=table, set_begin=set_begin,
                  set_count=set_count, members=members, down_link=links["reverse"][up_link], up_link=up_link)
    return found, np.concatenate(lost)


def _hops(src: np.ndarray, dst: np.ndarray, switches: int, targets: np.ndarray) -> np.ndarray:
    """Hops from every switch to every target switch, i2[switches, targets]; _FAR when there is no path.

    src, dst : switch numbers of the links between switches, ascending in src.
    """
    hops = np.full((switches, len(targets)), _FAR, "i2")
    hops[targets, np.arange(len(targets))] = 0
    if not len(src):
        return hops
    senders, first = np.unique(src, return_index=True)
    for step in range(switches):
        there = np.packbits(hops == step, axis=1)       # eight targets a byte
        beside = np.unpackbits(np.bitwise_or.reduceat(there[dst], first, axis=0), axis=1, count=len(targets))
        new = (beside == 1) & (hops[senders] == _FAR)
        if not new.any():
            break
        hops[senders] = np.where(new, np.int16(step + 1), hops[senders])
    return hops


class _Sets:
    """Collects the distinct ECMP sets of each switch, in order of first use."""

    def __init__(self, rows: np.ndarray, bounds: np.ndarray):
        """rows : link rows ascending by switch; bounds : where each switch's rows begin, i8[switches + 1]."""
        self.rows, self.bounds = rows, bounds.tolist()
        self.known: dict[tuple[int, bytes], int] = {}
        self.members: list[np.ndarray] = []

    def fill(self, table: np.ndarray, mask: np.ndarray) -> None:
        """Write set numbers into `table` (switches x destinations); mask : bool[rows, destinations]."""
        for switch, (begin, end) in enumerate(zip(self.bounds, self.bounds[1:], strict=False)):
            own = mask[begin:end]
            used = np.flatnonzero(own.any(axis=0))
            if not len(used):
                continue
            packed = np.ascontiguousarray(np.packbits(own[:, used], axis=0).T)
            keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            numbers = np.empty(len(first), "i4")
            for unique in np.argsort(first).tolist():
                column = first[unique]
                key = (switch, packed[column].tobytes())
                if key not in self.known:
                    self.known[key] = len(self.members)
                    self.members.append(self.rows[begin:end][own[:, used[column]]])
                numbers[unique] = self.known[key]
            table[switch, used] = numbers[inverse.ravel()]

    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(set_begin, set_count, members) as in `Routes`, members ascending within a set."""
        count = np.array([len(one) for one in self.members], "i4")
        begin = (np.cumsum(count) - count).astype("i4")
        members = np.concatenate(self.members).astype("i4") if self.members else np.zeros(0, "i4")
        return begin, count, members
