"""Cutting data into channels, chunks and slices: as arrays, and as runs of equal sizes for counting without arrays.

Parts are as equal as whole bytes allow: each is total / parts rounded up, the last ones are smaller or empty, and their
sum is the total (as the device code of NVIDIA/nccl does).
"""

from __future__ import annotations

import numpy as np

from distsim.workload.collectives.schedule import Options

Runs = dict[int, int]           # size in bytes -> how many messages (or pieces) of that size there are

MAX_TRANSFERS = 2**27           # of one collective, with its waits some 50 bytes each

LINE = {"simple": (1, 1), "ll": (2, 1), "ll128": (128, 120)}     # bytes on the wire for bytes of data


def up(total: int, parts: int) -> int:
    """total / parts, rounded up."""
    return -(-total // parts)


def limit(count: int) -> None:
    """ValueError when `count` transfers are more than a schedule may have."""
    if count > MAX_TRANSFERS:
        raise ValueError(f"the collective comes to {count} transfers, at most {MAX_TRANSFERS} are possible; "
                         "use larger chunks or fewer channels")


def split(total: np.ndarray | np.int64, parts: int) -> np.ndarray:
    """i8[..., parts]: each of `total` cut into `parts`."""
    whole = np.asarray(total, "i8")[..., None]
    piece = -(-whole // parts)
    return np.clip(whole - np.arange(parts) * piece, 0, piece)


def loops(total: np.ndarray, most: int) -> np.ndarray:
    """i8[..., loops]: each of `total` in rounds of at most `most` bytes, 0: in one round."""
    whole = np.asarray(total, "i8")[..., None]
    count = up(int(whole.max(initial=0)), most) if most else 1
    limit(max(count, 1) * whole.size)
    if count <= 1:
        return whole.copy()
    return np.clip(whole - np.arange(count) * most, 0, most)


def cut(total: np.ndarray | np.int64, options: Options) -> np.ndarray:
    """i8[..., channels, pieces]: channels, of each its chunks, of each its slices; empty ones stand as 0."""
    chunks = loops(split(total, options.channels), options.chunk_bytes)
    limit(chunks.size * options.slices)
    return split(chunks, options.slices).reshape(*chunks.shape[:-1], chunks.shape[-1] * options.slices)


def split_runs(runs: Runs, parts: int) -> Runs:
    """`split` of every run; empty parts are left out, a run of 0 bytes stays one piece."""
    found: Runs = {}
    for total, times in runs.items():
        _add_even(found, total, up(total, parts), times)
    return found


def loop_runs(runs: Runs, most: int) -> Runs:
    """`loops` of every run."""
    found: Runs = {}
    for total, times in runs.items():
        _add_even(found, total, most or total, times)
    return found


def cut_runs(runs: Runs, options: Options) -> Runs:
    """`cut` of every run."""
    return split_runs(loop_runs(split_runs(runs, options.channels), options.chunk_bytes), options.slices)


def array_runs(sizes: np.ndarray, keep_zero: bool, times: int = 1) -> Runs:
    """Runs of an array of sizes, each counted `times`."""
    if times == 0:
        return {}
    values, counts = np.unique(sizes, return_counts=True)
    return {int(v): int(n) * times for v, n in zip(values, counts) if v or keep_zero}


def times_runs(runs: Runs, times: int) -> Runs:
    """Every run `times` as often."""
    return {size: count * times for size, count in runs.items() if count * times}


def sum_runs(*parts: Runs) -> Runs:
    """All runs together."""
    found: Runs = {}
    for runs in parts:
        for size, times in runs.items():
            found[size] = found.get(size, 0) + times
    return found


def _add_even(found: Runs, total: int, piece: int, times: int) -> None:
    """Adds `total` in pieces of `piece` bytes and what is left, `times` times."""
    full, rest = divmod(total, piece) if piece else (1, 0)
    if full:
        found[piece] = found.get(piece, 0) + full * times
    if rest:
        found[rest] = found.get(rest, 0) + times


def wire(size_bytes: int, protocol: str) -> int:
    """Bytes on the wire for a message of `size_bytes` of data: ll twice, ll128 128 for 120, rounded up."""
    sent, data = LINE[protocol]
    return up(size_bytes * sent, data)
