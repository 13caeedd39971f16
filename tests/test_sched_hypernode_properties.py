"""Policy hypernode on clusters drawn at random: jobs and partitions stay in their tiers, nothing is given twice, a job
is refused only when it does not fit; and its speed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from sched_cases import request, run_on
from sched_hyper import HYPERNODE, hard, hyper_state, parts, placed, soft, wanted

from distsim.scheduler.state import State
from distsim.scheduler.types import Job, Placement, Task

Spines = list[list[int]]                 # nodes of each rack (tier 1) of each spine (tier 2)


def spines() -> st.SearchStrategy[Spines]:
    return st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=3)


def state_with(sizes: Spines, used: Sequence[int] = ()) -> State:
    """used : chips in use of the first nodes."""
    racks = {f"s{spine}r{rack}": [f"s{spine}r{rack}n{at}" for at in range(count)]
             for spine, counts in enumerate(sizes) for rack, count in enumerate(counts)}
    tier2 = {f"s{spine}": [f"s{spine}r{rack}" for rack in range(len(counts))] for spine, counts in enumerate(sizes)}
    state = hyper_state(racks, tier2, {"top": list(tier2)})
    for node, chips in zip(state.nodes.values(), used):
        node.used = (1 << chips) - 1
    return state


def slots(state: State, chips: int) -> dict[str, int]:
    """Pods of so many chips that each HyperNode takes: a plain count."""
    return {name: sum((state.nodes[node].chips - state.nodes[node].used.bit_count()) // chips for node in info.nodes)
            for name, info in state.cluster.hyper_nodes.items()}


def tier_of(state: State, nodes: Sequence[str]) -> int:
    """The lowest tier of which one HyperNode holds these nodes."""
    return min(info.tier for info in state.cluster.hyper_nodes.values() if set(nodes) <= set(info.nodes))


def check_chips(state: State, one: Job, found: Placement) -> None:
    given_: dict[str, int] = {}
    for task, name, mask in zip(one.tasks, found.nodes, found.chips, strict=True):
        assert mask.bit_count() == task.chips and not mask & (state.nodes[name].used | given_.get(name, 0))
        given_[name] = given_.get(name, 0) | mask


@settings(max_examples=300, deadline=None)
@given(spines(), st.lists(st.integers(0, 8), max_size=20), st.integers(1, 12), st.sampled_from([2, 4, 8]),
       st.integers(1, 3), st.booleans())
def test_the_lowest_tier_that_holds_the_job(sizes: Spines, used: list[int], pods: int, chips: int, tier: int,
                                            limited: bool) -> None:
    state = state_with(sizes, used)
    one = wanted(pods, hard(tier) if limited else soft(), chips)
    room = slots(state, chips)
    fitting = [info.tier for name, info in state.cluster.hyper_nodes.items() if room[name] >= pods]
    lowest = min(fitting, default=99)
    if lowest > (tier if limited else 3):
        assert not isinstance(HYPERNODE.place(request(state, one)), Placement)
        return
    found = placed(state, one)
    check_chips(state, one, found)
    assert tier_of(state, found.nodes) == lowest == found.notes["tier"]
    holders = [room[name] for name, info in state.cluster.hyper_nodes.items()
               if info.tier == lowest and room[name] >= pods]
    assert chips < 8 or room[found.notes["hypernode"]] == min(holders)
    racks = [name.partition("n")[0] for name in found.nodes]
    assert len(found.notes["members"]) == sum(before != after for before, after in zip(["", *racks], racks))


@settings(max_examples=300, deadline=None)
@given(spines(), st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.data())
def test_partitions_are_whole_through_faults(sizes: Spines, size: int, total: int, tier: int, data: st.DataObject,
                                             ) -> None:
    state = state_with(sizes)
    one = wanted(size * total, hard(3, partitionPolicy=parts(total, size, hard(tier))))
    found = HYPERNODE.place(request(state, one))
    room = slots(state, 8)
    at_tier = [room[name] // size for name, info in state.cluster.hyper_nodes.items() if info.tier == tier]
    assert isinstance(found, Placement) == (sum(at_tier) >= total)
    if not isinstance(found, Placement):
        return
    check_chips(state, one, found)
    for group in found.notes["partitions"]:
        assert len(group) == size and tier_of(state, group) <= tier
    run_on(state, one, found.nodes)
    lost = [one.tasks[at] for at in sorted(data.draw(st.sets(st.integers(0, len(one.tasks) - 1), min_size=1)))]
    for task in lost:
        state.nodes[task.node or ""].barred = 0xFF
        state.release(task)
    again = HYPERNODE.place(request(state, one, lost))
    if isinstance(again, Placement):
        for task, name, mask in zip(lost, again.nodes, again.chips, strict=True):
            state.assign(task, name, mask)
        nodes = [task.node or "" for task in one.tasks]
        assert len(set(nodes)) == len(nodes)
        assert all(tier_of(state, nodes[at:at + size]) <= tier for at in range(0, len(nodes), size))


def is_placed(state: State, one: Job, tasks: Sequence[Task] | None = None) -> bool:
    return isinstance(HYPERNODE.place(request(state, one, tasks)), Placement)


def test_ten_thousand_nodes() -> None:
    state = state_with([[16] * 25 for _ in range(25)])
    assert is_placed(state, wanted(4096, soft()))
    assert is_placed(state, wanted(400, hard(2)))
    one = wanted(3584, hard(3, partitionPolicy=parts(512, 7, hard(1))))      # two partitions and two spare nodes a rack
    assert is_placed(state, one)
    run_on(state, one, placed(state, one).nodes)
    lost = one.tasks[::56]
    for task in lost:
        state.nodes[task.node or ""].barred = 0xFF
        state.release(task)
    assert is_placed(state, one, lost)
