"""Properties of tor-affinity over random clusters, jobs and faults, and its speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sched_cases import job, request, run_on, tor_state

from distsim.scheduler.policies import policy
from distsim.scheduler.policies.tor.states import SwitchState, switch_states
from distsim.scheduler.policies.tor.usage import held_switches, usage_of
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State
from distsim.scheduler.types import Job, Placement, Refusal

LARGE, NORMAL = "large-model-schema", "normal-schema"
POLICY = policy("tor-affinity")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[State, int]:
    """A cluster of up to six switches with some busy nodes, and M."""
    tors, size = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    busy = draw(st.sets(st.integers(0, tors * size - 1), max_size=tors * size // 2))
    return tor_state(tors, size, busy=sorted(busy)), size


def columns(state: State, size: int) -> list[int]:
    """How many free nodes each slice has, most first."""
    free = Counter(node.slice for node in state.nodes.values() if node.idle())
    return sorted((free[number] for number in range(size)), reverse=True)


def fits_one(state: State, pods: int) -> bool:
    """Whether a switch has as many free nodes."""
    return max(Counter(node.tor for node in state.nodes.values() if node.idle()).values(), default=0) >= pods


@given(clusters(), st.integers(4, 30))
def test_large_jobs_take_every_slice_alike(drawn: tuple[State, int], pods: int) -> None:
    """Counts of the slices differ by at most 1, however the nodes were found; no node twice; ranks row by row. A job
    is pending if, and only if, no such placement exists: the columns are too short and no one switch holds it."""
    state, size = drawn
    found = POLICY.place(request(state, job(pods, tor_affinity=LARGE)))
    rows, lengths = -(-pods // size), columns(state, size)
    last = pods - (rows - 1) * size
    possible = all(length >= (rows if at < last else rows - 1) for at, length in enumerate(lengths))
    assert isinstance(found, Placement) == (possible or (pods < size and fits_one(state, pods)))
    if isinstance(found, Refusal):
        assert "lack" in found.message
        return
    nodes = [state.nodes[name] for name in found.nodes]
    assert len({node.name for node in nodes}) == pods and all(node.idle() == node.all_chips for node in nodes)
    counts = Counter(node.slice for node in nodes)
    assert max(counts.values()) - min(counts[number] for number in range(size)) <= 1
    assert found.notes["slices"] == counts and found.notes["rows"] == rows
    for row in range(rows):
        slices = [node.slice for node in nodes[row * size:(row + 1) * size]]
        assert slices == sorted(set(slices))
        assert row == rows - 1 or slices == list(range(size))


@given(clusters(), st.integers(1, 30))
def test_normal_jobs_wait_only_for_nodes(drawn: tuple[State, int], pods: int) -> None:
    """Where no job spans, a normal job is placed whenever there are as many free nodes."""
    state, _ = drawn
    found = POLICY.place(request(state, job(pods, tor_affinity=NORMAL)))
    free = sum(bool(node.idle()) for node in state.nodes.values())
    assert isinstance(found, Placement) == (free >= pods)
    assert isinstance(found, Refusal) or len(set(found.nodes)) == pods


JOBS = st.lists(st.tuples(st.sampled_from((LARGE, NORMAL)), st.integers(1, 14), st.booleans()), max_size=12)


def history(version: str, tors: int, jobs: Sequence[tuple[str, int, bool]], most: int = 2) -> State:
    """Jobs one after another; each that fits runs, and the oldest one ends where `ends` says so."""
    state = tor_state(tors, settings=SchedulerSettings(nslb_version=version, shared_tor_num=most))
    for number, (label, pods, ends) in enumerate(jobs):
        wanted = job(pods, name=f"job{number}", tor_affinity=label)
        found = POLICY.place(request(state, wanted))
        if isinstance(found, Placement):
            wanted.notes = dict(found.notes)
            run_on(state, wanted, found.nodes)
        if ends and state.jobs:
            for task in state.jobs.pop(next(iter(state.jobs))).tasks:
                state.release(task)
    return state


@given(st.integers(1, 5), JOBS)
def test_a_switch_serves_one_spanning_job_or_normal_ones(tors: int, jobs: list[tuple[str, int, bool]]) -> None:
    for spanning in usage_of(history("1.0", tors, jobs)).spanning.values():
        assert len(spanning) == 1 or all(one.settings.tor_affinity == NORMAL for one in spanning)


@given(st.integers(1, 5), JOBS, st.integers(1, 2))
def test_version_2_keeps_to_shared_tor_num(tors: int, jobs: list[tuple[str, int, bool]], most: int) -> None:
    """An exclusive switch serves one job that spans; a large job uses at most shared-tor-num shared switches, and none
    that was unhealthy when it came."""
    state = history("2.0", tors, jobs, most)
    states = switch_states(state)
    spanning = usage_of(state).spanning
    assert all(len(spanning[tor]) == 1 for tor, kind in states.items() if kind is SwitchState.EXCLUSIVE)
    assert set(states) == set(spanning)
    for one in state.jobs.values():
        if one.settings.tor_affinity == LARGE:
            kinds = list(one.notes["states"].values())
            assert "shared unhealthy" not in kinds and kinds.count("shared") <= most
            assert len(one.npu_tasks) >= 4 or len(held_switches(one, state)) == 1


@given(st.integers(1, 5), st.integers(1, 20))
def test_version_2_on_an_empty_cluster_takes_every_slice_alike(tors: int, pods: int) -> None:
    """Whole switches and one remainder. With nodes in use version 2.0 does not care for slices."""
    state = history("2.0", tors, [(NORMAL, pods, False)])
    for one in state.jobs.values():
        counts = one.notes["slices"]
        assert max(counts.values()) - min(counts.get(number, 0) for number in range(4)) <= 1


def faulty(state: State, wanted: Job, lost: set[int]) -> None:
    """The pods of these indices lose their nodes, which break."""
    for index in lost:
        name = wanted.tasks[index].node
        state.release(wanted.tasks[index])
        state.nodes[str(name)].barred = 0xFF


@given(clusters(), st.integers(4, 20), st.sets(st.integers(0, 19), min_size=1, max_size=6))
def test_replacements_leave_the_slices_as_they_were(drawn: tuple[State, int], pods: int, lost: set[int]) -> None:
    state, _ = drawn
    wanted = job(pods, tor_affinity=LARGE)
    found = POLICY.place(request(state, wanted))
    lost = {index for index in lost if index < pods}
    if isinstance(found, Refusal) or not lost or len(lost) == pods:
        return
    run_on(state, wanted, found.nodes)
    faulty(state, wanted, lost)
    again = POLICY.place(request(state, wanted))
    if isinstance(again, Placement):
        assert again.notes["slices"] == found.notes["slices"]
        kept = {task.node for task in wanted.placed}
        assert len({*again.nodes, *kept}) == pods
        for index, name in zip(sorted(lost), again.nodes):
            assert state.nodes[name].slice == state.nodes[found.nodes[index]].slice


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_ten_thousand_nodes(version: str) -> None:
    """4,000 pods of a large job, and 10 jobs of 400 that run."""
    state = tor_state(625, 16, settings=SchedulerSettings(nslb_version=version))
    for number in range(10):
        first = 400 * number
        run_on(state, job(400, name=f"run{number}", tor_affinity=LARGE), [f"n{first + i}" for i in range(400)])
    ask = request(state, job(4000, tor_affinity=LARGE))
    found = POLICY.place(ask)
    assert isinstance(found, Placement)
