"""Policy multilevel on clusters drawn at random: groups whole, no node twice, reserved nodes only when there is no
other way, and a job refused only when it does not fit; and its speed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from sched_cases import cluster, node, request, run_on
from sched_levels import MULTILEVEL, RACK, SPINE, fail, levels, placed, wanted

from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, Placement, Task

Spines = list[list[int]]                 # usable nodes of each rack of each spine


def spines() -> st.SearchStrategy[Spines]:
    return st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=3)


def state_with(sizes: Spines, reserve: int = 0, busy: Sequence[str] = ()) -> State:
    nodes = [node(f"s{spine}r{rack}n{number}", labels={RACK: f"s{spine}r{rack}", SPINE: f"s{spine}"})
             for spine, racks in enumerate(sizes) for rack, count in enumerate(racks) for number in range(count)]
    return state_of(cluster(nodes), levels(reserve), busy)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """One with two levels."""
    level1 = draw(st.integers(1, 3))
    level2 = level1 * draw(st.integers(1, 3))
    return wanted(level2 * draw(st.integers(1, 3)), level1, level2)


def fits(sizes: Spines, keep: int, one: Job) -> bool:
    """Whether a job of two levels fits when every rack keeps so many nodes: a plain count."""
    level1, level2 = one.settings.affinity_levels or ()
    groups = [sum(max(0, count - keep) // level1 for count in racks) // (level2 // level1) for racks in sizes]
    return sum(groups) >= len(one.tasks) // level2


def check_groups(state: State, names: Sequence[str], one: Job) -> None:
    """Every group in one domain of its level, and no node twice."""
    assert len(set(names)) == len(names)
    for label, size in zip((RACK, SPINE), one.settings.affinity_levels or ()):
        values = [state.nodes[name].labels[label] for name in names]
        for first in range(0, len(names), size):
            assert len(set(values[first:first + size])) == 1, f"{label}: {names[first:first + size]}"


def reserved_names(state: State, reserve: int) -> set[str]:
    racks: dict[str, list[str]] = {}
    for name in sorted(state.nodes):
        racks.setdefault(state.nodes[name].labels[RACK], []).append(name)
    return {name for names in racks.values() for name in names[:reserve]}


@settings(max_examples=300, deadline=None)
@given(spines(), st.integers(0, 3), jobs())
def test_a_job_is_placed_whole_if_it_fits(sizes: Spines, reserve: int, one: Job) -> None:
    state = state_with(sizes, reserve)
    found = placed(state, one)
    assert isinstance(found, Placement) == fits(sizes, 0, one)
    if not isinstance(found, Placement):
        return
    check_groups(state, found.nodes, one)
    level1 = (one.settings.affinity_levels or (1,))[0]
    for group in found.notes["groups"]:
        assert group == sorted(group) and len(group) == level1
    used = reserved_names(state, reserve) & set(found.nodes)
    assert used == set(found.notes["reserved"])
    assert not used or not fits(sizes, reserve, one)


@settings(max_examples=300, deadline=None)
@given(spines(), st.integers(0, 2), jobs(), st.data())
def test_groups_stay_whole_through_faults(sizes: Spines, reserve: int, one: Job, data: st.DataObject) -> None:
    state = state_with(sizes, reserve)
    found = placed(state, one)
    if not isinstance(found, Placement):
        return
    run_on(state, one, found.nodes)
    failed = data.draw(st.sets(st.integers(0, len(one.tasks) - 1), min_size=1))
    todo = fail(state, one, *sorted(failed))
    one.level_up = data.draw(st.integers(0, 3))
    stays = {task.name: task.node for task in one.tasks if task.node is not None}
    while todo:
        more = placed(state, one, todo)
        if not isinstance(more, Placement):
            assert stays == {task.name: task.node for task in one.tasks if task.node is not None}
            return
        moved = [task for task in one.tasks if task.name in more.moves]
        assert not moved or one.level_up
        for task in moved:
            state.release(task)
        for task, name, mask in zip(todo, more.nodes, more.chips, strict=True):
            state.assign(task, name, mask)
        stays, todo = {}, moved
    check_groups(state, [task.node or "" for task in one.tasks], one)


def is_placed(state: State, one: Job, tasks: Sequence[Task] | None = None) -> bool:
    return isinstance(MULTILEVEL.place(request(state, one, tasks)), Placement)


def test_ten_thousand_nodes() -> None:
    state = state_with([[16] * 25 for _ in range(25)], reserve=1)
    one = wanted(4096, 8, 64)
    assert is_placed(state, one)
    found = placed(state, one)
    assert isinstance(found, Placement)
    run_on(state, one, found.nodes)
    assert is_placed(state, one, fail(state, one, *range(0, 4096, 64)))
    for task in one.tasks:
        if task.node is not None:
            state.release(task)
    assert is_placed(state, one)
