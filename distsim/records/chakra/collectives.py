"""chakra-comm-collective-stats and -percentiles-stats: how long each collective took.

A rank's start of a collective is that of its first transfer, be it a send or a receive. Its first receive is ready when
it enters the collective (the operation BEGIN, which comes after the barrier, if there is one). A collective ends with
the last acknowledgement or receive of its transfers; what is in before its receiver enters is received when it enters.
One without transfers ends when its last rank leaves it.

`is_valid` is as documented: 0 when no rank had finished it. The percentiles take only collectives that every rank of
the group had finished, which is what the documented rule comes to when each rank is a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.records.chakra.identity import TYPES, collective_ids
from distsim.records.chakra.run import ChakraRun, Graphed
from distsim.records.chakra.schemas import STATISTICS
from distsim.records.chakra.times import NEVER, Times, taken
from distsim.records.labels import choose, filled
from distsim.records.schema import Columns, microseconds
from distsim.workload.graph import BARRIER
from distsim.workload.types import LOCAL, ROLE_BEGIN, ROLE_END, ROLE_SYNC, ROLE_TRANSFER, SEND

_LATE = np.iinfo(np.int64).max
PER_MILLE = (500, 990, 999, 1000)      # of STATISTICS without the mean


@dataclass(frozen=True)
class Spans:
    """[instances]. start_ps : NEVER, no rank had entered it; end_ps : NEVER, none of its transfers was received.
    finished : ranks that had left it; members : ranks that take part."""

    start_ps: np.ndarray
    end_ps: np.ndarray
    finished: np.ndarray
    members: np.ndarray


def collective_spans(run: ChakraRun, what: Graphed, times: Times) -> Spans:
    """Start and end of each collective."""
    count = len(what.instances)
    part = what.labels["instance"] >= 0
    place = what.labels["instance"].astype(np.int64) * what.ranks + what.labels["rank"]     # (instance, rank)
    role, kind = what.labels["role"], what.ops["kind"]
    transfer = part & (role == ROLE_TRANSFER) & ((kind == SEND) | (kind == LOCAL))

    pairs = np.unique(place[part & (role != ROLE_SYNC)])
    of = pairs // max(what.ranks, 1)
    first, entry = np.full(len(pairs), _LATE), np.full(len(pairs), NEVER)
    sends = np.flatnonzero(transfer & (times.began != NEVER))
    np.minimum.at(first, np.searchsorted(pairs, place[sends]), times.began[sends])
    begins = np.flatnonzero(part & (role == ROLE_BEGIN) & (times.done != NEVER))
    np.maximum.at(entry, np.searchsorted(pairs, place[begins]), times.done[begins])
    begun = np.minimum(first, np.where(entry == NEVER, _LATE, entry))
    started = begun != _LATE
    start = np.full(count, NEVER if run.use_max_start else _LATE)
    (np.maximum if run.use_max_start else np.minimum).at(start, of[started], begun[started])

    end = np.full(count, NEVER)
    np.maximum.at(end, what.labels["instance"][transfer], np.maximum(times.done, taken(what, times))[transfer])
    leaves = np.flatnonzero(part & (role == ROLE_END) & (times.done != NEVER))
    left = np.bincount(what.labels["instance"][leaves], minlength=count)
    alone = np.bincount(what.labels["instance"][transfer], minlength=count) == 0
    leaves = leaves[alone[what.labels["instance"][leaves]]]
    np.maximum.at(end, what.labels["instance"][leaves], times.done[leaves])
    return Spans(np.where(start == _LATE, NEVER, start), end, left, np.bincount(of, minlength=count))


def collective_stats(run: ChakraRun, what: Graphed, spans: Spans) -> Columns:
    """One row a collective that a rank had entered, in order of (start, id)."""
    ids = collective_ids(what)
    order = np.lexsort([ids, spans.start_ps])
    order = order[spans.start_ps[order] != NEVER]
    instances, ended = what.instances[order], spans.end_ps[order]
    names = tuple(group.name for group in run.workload.graph.groups)
    return {
        "collective_hash": ids[order],
        "comm_type": choose(TYPES, instances["collective"].astype(np.int64)),
        "comm_size": instances["size_bytes"],
        "pg_name": choose(names, instances["group"].astype(np.int64)),
        "pg_size": instances["group_size"],
        "simulation_start_time_us": microseconds(spans.start_ps[order]),
        "simulation_end_time_us": filled(microseconds(ended), ended != NEVER),
        "use_max_as_collective_start_time": int(run.use_max_start),
        "is_valid": (spans.finished[order] > 0).astype(np.int64),
    }


def percentiles(run: ChakraRun, what: Graphed, spans: Spans) -> Columns:
    """One row a (type, size, group size), algorithms apart, of the collectives that all their ranks had finished."""
    whole = (spans.finished >= spans.members) & (spans.start_ps != NEVER) & (spans.end_ps != NEVER)
    keys = np.stack([what.instances[name][whole].astype(np.int64)
                     for name in ("collective", "algorithm", "size_bytes", "group_size")], axis=1)
    took_ps = (spans.end_ps - spans.start_ps)[whole]
    kinds, of = np.unique(keys, axis=0, return_inverse=True)
    of = of.reshape(-1)
    took = [statistics_us(took_ps[of == row]) for row in range(len(kinds))]
    rate_bps = int(np.asarray(run.rate_bps)[what.placement].min(initial=_LATE))
    ideal = [ideal_us(run, kind, rate_bps) for kind in kinds.tolist()]
    columns: dict[str, object] = {
        "comm_type": [TYPES[kind] for kind in kinds[:, 0]],
        "expansion_algo": [run.algorithms[kind] for kind in kinds[:, 1]],
        "comm_size": kinds[:, 2], "pg_size": kinds[:, 3], "count": np.bincount(of, minlength=len(kinds))}
    for place, name in enumerate(STATISTICS):
        columns[f"{name}_run_time_us"] = np.array([row[place] for row in took], np.float64)
        columns[f"{name}_ideal_ratio"] = [repr(row[place] / best) if best > 0 else "NA"
                                          for row, best in zip(took, ideal, strict=True)]
    return columns


def statistics_us(took_ps: np.ndarray) -> list[float]:
    """Mean, p50, p99, p99.9 and p100 of at least one time. A percentile is by nearest rank: the p-th of n is the
    ceil(p n)-th smallest, one of the times."""
    ordered, count = np.sort(took_ps), len(took_ps)
    nearest = [int(ordered[max(-(-per_mille * count // 1000), 1) - 1]) for per_mille in PER_MILLE]
    return [int(ordered.sum()) / count / 1e6, *(value / 1e6 for value in nearest)]


def ideal_us(run: ChakraRun, kind: list[int], rate_bps: int) -> float:
    """Ideal time of a (collective, algorithm, size, members); 0: it has none, as a Barrier, a single rank, no bytes."""
    collective, algorithm, size_bytes, members = kind
    if collective == BARRIER or members < 2 or size_bytes == 0:
        return 0.0
    return float(run.ideal_time_ps(collective, run.algorithms[algorithm], members, size_bytes, rate_bps)) / 1e6
