"""Phases that follow each other at every member, loop by loop: the frame of two-level algorithms."""

from __future__ import annotations

import numpy as np

from distsim.workload.collectives.layout import in_order_of, place, schedule, waits
from distsim.workload.collectives.schedule import Schedule


class Phases:
    """Collects the transfers of phases, of channels and loops that are independent of each other.

    In a channel's phase a member's transfers leave in order: by loop, then as `order` says. In a loop, those of a later
    phase wait for all that the member received in the earlier ones.
    """

    def __init__(self, members: int, channels: int, loops: int, keep_zero: bool):
        self.members, self.channels, self.loops, self.keep_zero = members, channels, loops, keep_zero
        self.rows: list[np.ndarray] = []
        self.orders: list[np.ndarray] = []          # i8[rows]
        self.parts: list[np.ndarray] = []           # i8[rows], channel * loops + loop
        self.received: list[np.ndarray] = []
        self.steps = 0
        self.made = 0

    def add(self, sizes: np.ndarray, src: np.ndarray, dst: np.ndarray, order: np.ndarray,
            step: np.ndarray) -> np.ndarray:
        """One more phase. sizes : i8[channels, loops, ...]; the rest broadcasts against it. step : from 0 here.

        Returns i4[sizes], the rows made, -1: left out.
        """
        ones = (1,) * (sizes.ndim - 2)
        channel = np.arange(self.channels).reshape(-1, 1, *ones)
        loop = np.arange(self.loops).reshape(-1, *ones)
        rows, index = place(sizes, src, dst, self.steps + step, channel, self.keep_zero, self.made)
        there = index >= 0
        self.rows.append(rows)
        self.orders.append(np.broadcast_to(order, sizes.shape)[there])
        self.parts.append(np.broadcast_to(channel * self.loops + loop, sizes.shape)[there])
        self.steps += int(step.max(initial=-1)) + 1
        self.made += len(rows)
        return index

    def wait(self, transfer: np.ndarray, on: np.ndarray) -> None:
        """Waits for receipts inside a phase."""
        self.received.append(waits(transfer, on))

    def schedule(self) -> Schedule:
        """All phases together."""
        sent, firsts = [], []
        start = 0
        for rows, order, part in zip(self.rows, self.orders, self.parts):
            index = np.arange(start, start + len(rows), dtype="i4")
            lane = part // self.loops * self.members + rows["src"]
            span = int(order.max(initial=0)) + 1
            sent.append(in_order_of(index, lane, part % self.loops * span + order))
            firsts.append(self._first(index, part * self.members + rows["src"], order))
            start += len(rows)
        return schedule(self.members, self.rows, [*self.received, *self._between(firsts)], sent)

    def _first(self, index: np.ndarray, key: np.ndarray, order: np.ndarray) -> np.ndarray:
        """i4[channels * loops * members], the first row that each member sends in each loop of a phase, -1: none."""
        found = np.full(self.channels * self.loops * self.members, -1, "i4")
        by_key = np.lexsort((order, key))
        keys, where = np.unique(key[by_key], return_index=True)
        found[keys] = index[by_key][where]
        return found

    def _between(self, firsts: list[np.ndarray]) -> list[np.ndarray]:
        """Waits of the first transfers of later phases for all receipts of earlier ones."""
        found, start = [], 0
        for number, (rows, part) in enumerate(zip(self.rows, self.parts)):
            index = np.arange(start, start + len(rows), dtype="i4")
            found += [waits(first[part * self.members + rows["dst"]], index) for first in firsts[number + 1:]]
            start += len(rows)
        return found
