"""Whatever is free, the chips of a pod are free ones, as many as asked, and on rings as their policy says."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsim.scheduler.chips import RULES, rule_of
from distsim.scheduler.policies import policy
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Placement
from tests.sched_cases import cluster, job, node, request

NAMES = sorted(name for name, module in RULES.items() if module == "rings")


def parts(name: str) -> tuple[int, int]:
    """Chips of a ring and of a node."""
    ring, size = name.removesuffix("-sp").removesuffix("-ra64").split("-")
    return int(ring.removeprefix("chip")), int(size.removeprefix("node"))


def respects(name: str, chips: tuple[int, ...], several: bool) -> bool:
    """Whether chips lie on rings as cluster.md section 4 says."""
    ring, size = parts(name)
    by_ring = [sum(chip // ring == index for chip in chips) for index in range(size // ring)]
    touched = [count for count in by_ring if count]
    wanted = len(chips)
    if ring in (1, size):
        return True
    if ring == 2:
        return wanted == 1 or all(count == 2 for count in touched)
    if ring == 4:
        if wanted < 4:
            return len(touched) == 1
        return wanted % 4 != 0 or all(count == 4 for count in touched)
    if wanted <= 8:
        return len(touched) == 1
    matching = {chip % 8 for chip in chips if chip < 8} == {chip % 8 for chip in chips if chip >= 8}
    return by_ring[0] == by_ring[1] and (matching or several)


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_chips_are_free_and_on_their_rings(name: str, data: st.DataObject) -> None:
    _, size = parts(name)
    idle = data.draw(st.integers(0, (1 << size) - 1))
    several = data.draw(st.booleans())
    wanted = data.draw(st.integers(1, size))
    asks = job(2 if several else 1, wanted, schedule_policy=name)
    if rule_of(asks).validate(asks) is not None:
        return
    at = state_of(cluster([node("n", size)])).nodes["n"]
    free = [chip for chip in range(size) if idle >> chip & 1]
    found = rule_of(asks).choose(at, idle, asks.tasks[0], asks)
    if isinstance(found, str):
        if size == 8:                              # few enough to try all
            assert not any(respects(name, chips, several) for chips in combinations(free, wanted))
        return
    chips = tuple(chip for chip in range(size) if found[0] >> chip & 1)
    assert found[0] & ~idle == 0 and len(chips) == wanted and respects(name, chips, several)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["chip4-node8", "chip2-node8", "chip8-node8", "chip1-node8"]),
                          st.integers(1, 3), st.sampled_from([1, 2, 4, 8])), max_size=12))
def test_no_chip_is_given_twice(jobs: list[tuple[str, int, int]]) -> None:
    state = state_of(cluster([node(f"n{index}", 8) for index in range(4)]))
    for number, (name, pods, chips) in enumerate(jobs):
        asks = job(pods, chips, f"job{number}", schedule_policy=name)
        if rule_of(asks).validate(asks) is not None:
            continue
        placed = policy("binpack").place(request(state, asks))
        if isinstance(placed, Placement):
            for task, at, mask in zip(asks.tasks, placed.nodes, placed.chips, strict=True):
                state.assign(task, at, mask)       # asserts that no chip is in use
    for at in state.nodes.values():
        held = [task.held for task in at.tasks.values()]
        assert sum(mask.bit_count() for mask in held) == at.used.bit_count()
