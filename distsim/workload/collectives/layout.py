"""From arrays of sizes, one element a possible transfer, to the rows and waits of a Schedule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsim.workload.collectives.pieces import limit
from distsim.workload.collectives.schedule import TRANSFERS, WAITS, Schedule


def place(sizes: np.ndarray, src: np.ndarray, dst: np.ndarray, step: np.ndarray | int, channel: np.ndarray | int,
          keep_zero: bool, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """TRANSFERS of a grid, in its order, and i4[grid]: the row of each element (from `first`), -1: left out as empty.

    sizes : i8[grid]; src, dst, step, channel broadcast against it. ValueError: too many transfers.
    """
    limit(first + sizes.size)
    shape = sizes.shape
    if keep_zero or sizes.all():
        rows = np.zeros(sizes.size, TRANSFERS)
        grid = rows.reshape(shape)
        for name, values in (("src", src), ("dst", dst), ("size_bytes", sizes), ("step", step), ("channel", channel)):
            grid[name] = values
        return rows, np.arange(first, first + sizes.size, dtype="i4").reshape(shape)
    keep = sizes > 0
    rows = np.zeros(int(keep.sum()), TRANSFERS)
    for name, values in (("src", src), ("dst", dst), ("size_bytes", sizes), ("step", step), ("channel", channel)):
        rows[name] = np.broadcast_to(np.asarray(values), shape)[keep]
    index = np.full(shape, -1, "i4")
    index[keep] = np.arange(first, first + len(rows), dtype="i4")
    return rows, index


def waits(transfer: np.ndarray, on: np.ndarray) -> np.ndarray:
    """WAITS of rows that broadcast; where one of the two is -1 there is none."""
    transfer, on = np.broadcast_arrays(transfer, on)
    if transfer.size and (transfer.min() < 0 or on.min() < 0):
        both = (transfer >= 0) & (on >= 0)
        transfer, on = transfer[both], on[both]
    pairs = np.zeros(transfer.size, WAITS)
    pairs["transfer"], pairs["on"] = transfer.ravel(), on.ravel()
    return pairs


def in_order(lanes: np.ndarray) -> np.ndarray:
    """WAITS by which every row of `lanes` (i4[..., order], -1: none) follows the one before it in its lane."""
    lanes = lanes.reshape(-1, lanes.shape[-1])
    if lanes.size and lanes.min() >= 0:
        return waits(lanes[:, 1:], lanes[:, :-1])
    lane, place_in = np.nonzero(lanes >= 0)
    rows = lanes[lane, place_in]
    same = lane[1:] == lane[:-1]
    return waits(rows[1:][same], rows[:-1][same])


def in_order_of(rows: np.ndarray, lane: np.ndarray, order: np.ndarray) -> np.ndarray:
    """`in_order` for lanes of unequal length: of each row its lane's number and its place there."""
    by_lane = np.lexsort((order, lane))
    rows, lane = rows[by_lane], lane[by_lane]
    same = lane[1:] == lane[:-1]
    return waits(rows[1:][same], rows[:-1][same])


def schedule(members: int, transfers: Sequence[np.ndarray], received: Sequence[np.ndarray] = (),
             sent: Sequence[np.ndarray] = ()) -> Schedule:
    """A Schedule of parts whose rows are already numbered through."""
    return Schedule(members, _joined(transfers, TRANSFERS), _joined(received, WAITS), _joined(sent, WAITS))


def joined(schedules: Sequence[Schedule]) -> Schedule:
    """Schedules of one group that run at once, as one; rows of the later ones are numbered on."""
    first, received, sent = 0, [], []
    for part in schedules:
        received.append(_shifted(part.after_received, first))
        sent.append(_shifted(part.after_sent, first))
        first += len(part.transfers)
    return schedule(schedules[0].members, [part.transfers for part in schedules], received, sent)


def _shifted(pairs: np.ndarray, first: int) -> np.ndarray:
    moved = pairs.copy()
    moved["transfer"] += first
    moved["on"] += first
    return moved


def _joined(parts: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
