"""Phases of a workload: the next starts after the last completion and its pause, on any number of ranks alike."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import NS, US, model, one_rack, send, two_tiers, workload
from simkit import FOREVER, KERNELS, Rank, run_rank, swap_packets

from distsim.parallel.comm import Serial
from distsim.phases import Phases
from distsim.state import tables as t
from distsim.state.allocate import cell, set_cell, to_array
from distsim.state.verify import verify
from distsim.workload.types import LOG_OP, ON_LOCAL, Phase, Workload

pytestmark = pytest.mark.core


class Together:
    """The communicator of ranks in this process: what all of them have said before."""

    def __init__(self) -> None:
        self.said: list = []

    def everyone(self, value: object) -> list:
        return self.said

    def agree(self, error: Exception | None) -> None:
        assert error is None


def phased(first: Workload, rest: list[Workload], seen: list[Phase]) -> Workload:
    """`first`, then `rest`; what each phase came to is appended to `seen`."""
    every = [first, *rest]
    for number, one in enumerate(every):
        one.ops["flags"] |= LOG_OP

        def following(phase: Phase, after: int = number + 1) -> Workload | None:
            seen.append(phase)
            return every[after] if after < len(every) else None

        one.following = following
    return first


def run_phases(made, owner: np.ndarray) -> list[tuple]:
    """Every message of every phase as (start, end, node), by phases; several ranks in this process."""
    ranks = [Rank(made, owner, r) for r in range(int(owner.max()) + 1)]
    together = Together() if len(ranks) > 1 else Serial()
    phases = [Phases(together, made, rank.here, rank.holder) for rank in ranks]
    while True:
        nearest = min(KERNELS.next_event_ps(rank.ref) for rank in ranks)
        if nearest >= FOREVER:
            for rank, one in zip(ranks, phases, strict=True):
                used = cell(rank.holder.state.pools, t.P_OPLOG, "used")
                one.take(to_array(rank.holder.state.oplog[:used], t.OPLOG))
                set_cell(rank.holder.state.pools, t.P_OPLOG, "used", 0)
            if len(ranks) > 1:
                together.said = [said_by(rank, one) for rank, one in zip(ranks, phases, strict=True)]
            went = [one.go_on() for one in phases]
            assert len(set(went)) == 1
            if not went[0]:
                rows = [row for rank in ranks
                        for row in to_array(rank.holder.state.perf, t.PERF)[:cell(rank.holder.state.pools, t.P_PERF,
                                                                                  "used")]]
                return sorted((int(row["start_ps"]), int(row["time_ps"]), int(row["node"]), int(row["op"]))
                              for row in rows)
            continue
        end = nearest + ranks[0].here.window_ps
        for rank in ranks:
            run_rank(rank, end, None)
        swap_packets(ranks, end)
        for rank in ranks:
            verify(rank.holder.state)


def said_by(rank: Rank, one: Phases) -> list:
    from distsim.phases import last_done_ps, last_event_ps, undone

    state = rank.holder.state
    return [undone(state), last_done_ps(state), last_event_ps(state),
            np.concatenate([np.zeros(0, t.OPLOG), *one.oplog]).tobytes()]


def compute(host: int, work_ps: int) -> tuple:
    return (0, 2, 0, host, -1, 0, 0, 0, 0, work_ps)


def test_the_next_phase_starts_a_pause_after_the_last_completion():
    seen: list[Phase] = []
    second = workload([compute(0, 5 * US), compute(1, 1 * US)])
    second.pause_ps = 20 * US
    first = phased(workload([compute(0, 3 * US), compute(1, 7 * US)]), [second], seen)
    made = model(one_rack(2), [compute(0, 0)], start_ps=1 * US)
    made = with_workload(made, first)
    run_phases(made, np.zeros(3, "i4"))
    assert [(phase.start_ps, phase.end_ps) for phase in seen] == [(1 * US, 8 * US), (28 * US, 33 * US)]
    assert seen[0].began_ps.tolist() == [1 * US, 1 * US]
    assert seen[0].done_ps.tolist() == [4 * US, 8 * US]
    assert seen[1].done_ps.tolist() == [33 * US, 29 * US]


def with_workload(made, first: Workload, notices: np.ndarray | None = None):
    from dataclasses import replace

    from distsim.state.model import number_messages

    return replace(made, workload=first, messages=number_messages(first), notices=notices)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_messages_of_three_phases_are_the_same_on_any_number_of_ranks(ranks):
    found = []
    for count in (1, ranks):
        parts = [workload([send(0, 3, 20_000), send(1, 2, 100), send(3, 0, 9_000, 500 * NS)]),
                 workload([send(2, 1, 50_000), send(0, 3, 7)]), workload([send(3, 1, 0), compute(2, 9 * US)])]
        for part in parts:
            part.pause_ps = 100 * NS
        made = with_workload(model(two_tiers(2, 2), [send(0, 1, 1)]), phased(parts[0], parts[1:], []))
        found.append(run_phases(made, (np.arange(7) % count).astype("i4")))
    assert found[0] == found[1]
    assert [op for _, _, _, op in found[0]] != sorted(range(6))      # ids go on over the phases
    assert sorted(op for _, _, _, op in found[0]) == [0, 1, 2, 3, 4, 6]


def test_a_phase_whose_notices_were_not_foreseen_is_a_bug():
    pair = [(0, 4, 0, 0, 1, 100, 0, 0, 0, 50 * NS), (0, 5, 0, 1, 0, 100, 0, 0, 0, 50 * NS)]
    local = workload(pair, [(0, 1, ON_LOCAL, 300 * NS)])
    for notices, fits in ((None, False), (np.array([[0, 1, 300 * NS]]), True), (np.array([[0, 1, 301 * NS]]), False)):
        first = phased(workload([send(0, 1, 10)]), [local], [])
        made = with_workload(model(one_rack(2), [send(0, 1, 1)]), first, notices)
        if fits:
            run_phases(made, np.zeros(3, "i4"))
        else:
            with pytest.raises(ValueError, match="from host 0 to 1 after 300000 ps was not foreseen"):
                run_phases(made, np.zeros(3, "i4"))
