"""The phases of a workload on one rank: once nothing is left to do anywhere, what comes next is loaded.

The next phase may depend on what the phase before came to (times of its logged operations), which every rank is told in
full; so all ranks go on alike, and nothing depends on the partition: a phase starts at the time of the last completion
plus a pause, or at the last event anywhere if that is later.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .errors import DistsimError, InputError
from .kernels.handle import Holder
from .parallel.comm import Communicator
from .state import tables as t
from .state.allocate import to_array
from .state.model import Model, number_messages
from .state.network import Placement
from .state.phase import next_phase
from .state.view import State
from .workload.types import LOCAL, SEND, Phase, Workload

MOST_OPS = 2**31 - 1          # operation ids are i4


class Phases:
    """What a rank runs: `model` is that of the phase under way, `messages` counts those of all phases so far.

    oplog : OPLOG rows of this rank and phase (`take` adds to them). end_ps : last completion of the last phase that is
    over.
    """

    def __init__(self, comm: Communicator, model: Model, here: Placement, holder: Holder) -> None:
        self._comm, self._here, self._holder = comm, here, holder
        self.model = model
        self.oplog: list[np.ndarray] = []
        self.messages = count_messages(model)
        self.end_ps = model.start_ps

    def take(self, rows: np.ndarray) -> None:
        """Keep drained OPLOG rows."""
        self.oplog.append(rows.copy())

    def go_on(self) -> bool:
        """Nothing is left to do anywhere: load the next phase. False when there is none, or something is unfinished."""
        workload: Workload | None = self.model.workload
        if workload is None or workload.following is None:
            return False
        state = self._holder.state
        mine = [undone(state), last_done_ps(state), last_event_ps(state),
                np.concatenate([np.zeros(0, t.OPLOG), *self.oplog]).tobytes()]
        everyone = self._comm.everyone(mine)
        if any(found[0] for found in everyone):
            return False
        rows = np.concatenate([np.frombuffer(found[3], t.OPLOG) for found in everyone])
        self.end_ps = max(self.model.start_ps, *(found[1] for found in everyone))
        phase = self._phase(len(workload.ops), self.end_ps, rows)
        following = self._following(workload, phase)
        if following is None:
            return False
        self._load(following, max(phase.end_ps + following.pause_ps, *(found[2] for found in everyone)))
        return True

    def _following(self, workload: Workload, phase: Phase) -> Workload | None:
        """The next phase. An error is the same on every rank; one that is not becomes everyone's."""
        assert workload.following is not None
        following, error = None, None
        try:
            following = workload.following(phase)
        except DistsimError as found:
            error = found
        self._comm.agree(error)
        return following

    def _phase(self, count: int, end_ps: int, rows: np.ndarray) -> Phase:
        began, done = np.full(count, -1, "i8"), np.full(count, -1, "i8")
        rows = rows[rows["what"] == t.O_DONE]
        at = self.model.messages.order[rows["op"] - self.model.messages.first_op]
        began[at], done[at] = rows["start_ps"], rows["time_ps"]
        return Phase(self.model.start_ps, end_ps, began, done)

    def _load(self, workload: Workload, start_ps: int) -> None:
        before = self.model.messages
        if before.end_op + len(workload.ops) > MOST_OPS:
            raise InputError(f"phases so far have {before.end_op:,} operations, the next has {len(workload.ops):,}; "
                             f"one run can number {MOST_OPS:,}", where="workload")
        messages = number_messages(workload, before.end_op, before.end_rx)
        self.model = replace(self.model, messages=messages, start_ps=start_ps, workload=workload)
        self.model.check_notices()
        self._holder.replace(next_phase(self._holder.state, self.model, self._here))
        self.oplog = []
        self.messages += count_messages(self.model)


def count_messages(model: Model) -> int:
    """Messages of a phase: over the fabric and in scale-up groups."""
    return int(np.isin(model.messages.ops["kind"], (SEND, LOCAL)).sum())


def undone(state: State) -> int:
    """Operations of this rank that are not done."""
    return int(np.count_nonzero(to_array(state.ops, t.OP)["state"] != t.OP_DONE))


def last_done_ps(state: State) -> int:
    """When the last operation of this rank was done."""
    return int(to_array(state.ops, t.OP)["done_ps"].max(initial=0))


def last_event_ps(state: State) -> int:
    """Latest event at any node of this rank."""
    nics, nodes = to_array(state.nics, t.NICROW), to_array(state.nodes, t.NODE)
    return int(max(nics["now_ps"].max(initial=0), nodes["last_ps"].max(initial=0)))
