"""Which connections uet-monitor logs when filters or triggers choose them: budget, and word to the other end.

A kernel notes each choice (CHOSEN) and logs that end from then on. After the window this applies the triggers' budget
in order of (time, FEP id, operation), takes back the rows of connections that got none, and lets the other end log a
fixed delay after the choice. Windows are never longer than that delay, so the other end always hears in time.
`MonitorScope: global` does it over all ranks, so nothing depends on the partition; `process` within each rank, as
documented (scala-computing/docs models/scala-uet-nic/records, uet-monitor).
"""

from __future__ import annotations

import numpy as np

from .kernels.handle import Holder
from .parallel.comm import Communicator
from .state import tables as t
from .state.allocate import cell, set_cell, to_array, to_rows
from .state.model import Model
from .state.network import Placement


class Watching:
    """Choices of one rank. `active`: whether anything can be chosen at all, the same on every rank."""

    def __init__(self, comm: Communicator, model: Model, here: Placement, holder: Holder, globally: bool) -> None:
        self._comm, self.messages, self._here, self._holder = comm, model.messages, here, holder
        self._global = globally
        watch = model.watch
        self.active = watch is not None and not watch["everything"][0] and bool(
            watch["filtering"][0] or watch["rtt"][0] or watch["penalty"][0])
        self.delay_ps = int(watch["delay_ps"][0]) if watch is not None else 0
        self._filtering = watch is not None and bool(watch["filtering"][0])
        self._chosen: dict[int, int] = {}      # operation of each connection chosen so far, and when

    def after_window(self) -> None:
        """Settle the choices of the window that has just ended."""
        if not self.active:
            return
        state = self._holder.state
        used = cell(state.pools, t.P_CHOSEN, "used")
        rows = to_array(state.chosen[:used], t.CHOSEN).copy()
        set_cell(state.pools, t.P_CHOSEN, "used", 0)
        if self._global:
            rows = np.concatenate([np.frombuffer(part, t.CHOSEN) for part in self._comm.everyone(rows.tobytes())])
        budget = cell(state.watch, 0, "budget")
        for row in rows[np.lexsort([rows["op"], rows["fep"], rows["time_ps"]])]:
            budget -= self._settle(row, budget)
        set_cell(state.watch, 0, "budget", budget)
        self.active = budget > 0 or self._filtering

    def _settle(self, row: np.void, budget: int) -> int:
        """One choice; returns what it takes of the budget."""
        op, at_sender, time_ps = int(row["op"]), bool(row["at_sender"]), int(row["time_ps"])
        first_ps = self._chosen.get(op)
        if first_ps is not None:               # the other end was first: this one waits for its word
            self._take_back(op, int(row["fep"]), time_ps, first_ps + self.delay_ps)
            self._log_from(op, at_sender, first_ps + self.delay_ps)
            return 0
        if row["triggered"] and budget <= 0:
            self._take_back(op, int(row["fep"]), time_ps, t.INF_PS)
            self._log_from(op, at_sender, t.INF_PS)
            return 0
        self._chosen[op] = time_ps
        self._log_from(op, not at_sender, time_ps + self.delay_ps)
        return int(row["triggered"])

    def _log_from(self, op: int, at_sender: bool, time_ps: int) -> None:
        """Let one end of a connection log from then on, if it is on this rank."""
        ops, state = self.messages.ops, self._holder.state
        node = int(self._here.row_of[ops["host" if at_sender else "dst"][op - self.messages.first_op]])
        if node < 0:
            return
        nic = cell(state.nodes, node, "nic")
        if at_sender:
            row = cell(state.nics, nic, "op_begin") + op - cell(state.nics, nic, "op_first")
            set_cell(state.ops, row, "monitor_ps", time_ps)
        else:
            message = self.messages.first_rx + int(self.messages.rx_message[op - self.messages.first_op])
            row = cell(state.nics, nic, "rx_begin") + message - cell(state.nics, nic, "rx_first")
            set_cell(state.rxmsg, row, "monitor_ps", time_ps)

    def _take_back(self, op: int, fep: int, time_ps: int, until_ps: int) -> None:
        """Drop the rows that one end has logged of a connection from `time_ps` on and before `until_ps`."""
        state = self._holder.state
        used = cell(state.pools, t.P_MONITOR, "used")
        rows = to_array(state.monitor[:used], t.MONITOR)
        unwanted = (rows["op"] == op) & (rows["node"] == fep) & (rows["time_ps"] >= time_ps)
        kept = rows[~(unwanted & (rows["time_ps"] < until_ps))]
        if len(kept) < used:
            state.monitor[:len(kept)] = kept if isinstance(state.monitor, np.ndarray) else to_rows(kept)
            set_cell(state.pools, t.P_MONITOR, "used", len(kept))
