"""Blocks are whole and inside one SuperPoD, whatever is free, and after whatever faults."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from distsim.scheduler.policies.blocks.pods import Where
from distsim.scheduler.state import State
from distsim.scheduler.types import Job, Placement
from tests.super_pod_cases import RA, lose, place, pods_of, racks_of, sp_job


def homes(state: State, blocks: list[list[str]]) -> list[set[str | None]]:
    """The SuperPoDs that each block touches."""
    where = Where(state)
    return [{where.super_pod(state.nodes[name]) for name in block} for block in blocks]


def whole(state: State, asks: Job, placed: Placement, block: int) -> None:
    """Every block has its size and one SuperPoD, no node is there twice, and all are free for the pod."""
    found = placed.notes["blocks"]
    assert [name for names in found for name in names] == list(placed.nodes)
    assert all(len(names) == block for names in found) and len(found) == len(asks.tasks) // block
    assert all(len(pods) == 1 for pods in homes(state, found))
    assert len(set(placed.nodes)) == len(asks.tasks)
    assert all(state.nodes[name].used == 0 for name in placed.nodes)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 4), st.integers(1, 5), st.integers(0, 3),
       st.sampled_from([None, "idlest", "fill"]))
def test_blocks_are_whole(sizes: list[int], block: int, count: int, reserve: int, fit: str | None) -> None:
    assume(sum(sizes))
    state = pods_of({chr(97 + at): size for at, size in enumerate(sizes)}, reserve)
    asks = sp_job(block * count, block, sp_fit=fit)
    placed = place(state, asks)
    # With hard affinity a job is placed if and only if the SuperPoDs hold its blocks; the reserve is no obstacle.
    assert isinstance(placed, Placement) == (sum(size // block for size in sizes) >= count)
    if isinstance(placed, Placement):
        whole(state, asks, placed, block)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 4), st.integers(1, 4))
def test_soft_jobs_take_fragments_if_the_nodes_suffice(sizes: list[int], block: int, count: int) -> None:
    assume(sum(sizes))
    state = pods_of({chr(97 + at): size for at, size in enumerate(sizes)})
    placed = place(state, sp_job(block * count, block, super_pod_affinity="soft"))
    assert isinstance(placed, Placement) == (sum(sizes) >= block * count)
    if isinstance(placed, Placement):
        found = placed.notes["blocks"]
        assert sum(len(names) == block for names in found) >= min(count, sum(size // block for size in sizes))
        assert all(len(pods) == 1 for pods in homes(state, found)) and len(set(placed.nodes)) == block * count


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=3),
       st.sampled_from([1, 2, 4]), st.integers(1, 3), st.integers(1, 3))
def test_logical_racks_are_whole(racks: list[list[int]], piece: int, pieces: int, count: int) -> None:
    assume(sum(map(sum, racks)))
    state = racks_of({chr(97 + at): tuple(sizes) for at, sizes in enumerate(racks)})
    block = piece * pieces
    asks = sp_job(block * count, block, rule=RA, ra_block=8 * piece)
    placed = place(state, asks)
    held = sum(sum(size // piece for size in sizes) // pieces for sizes in racks)
    assert isinstance(placed, Placement) == (held >= count)
    if isinstance(placed, Placement):
        whole(state, asks, placed, block)
        for names in placed.notes["blocks"]:
            for at in range(0, block, piece):
                assert len({name.rpartition("-")[0] for name in names[at:at + piece]}) == 1


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(2, 7), min_size=2, max_size=4), st.integers(1, 3), st.integers(1, 4), st.data())
def test_after_faults_blocks_are_whole_again(sizes: list[int], block: int, count: int, data: st.DataObject) -> None:
    state = pods_of({chr(97 + at): size for at, size in enumerate(sizes)})
    job = sp_job(block * count, block)
    placed = place(state, job)
    assume(isinstance(placed, Placement))
    assert isinstance(placed, Placement)
    state.jobs[job.uid] = job
    for rank, (task, name, mask) in enumerate(zip(job.tasks, placed.nodes, placed.chips, strict=True)):
        state.assign(task, name, mask)
        task.rank = rank
    before = list(placed.nodes)
    broken = data.draw(st.lists(st.sampled_from(before), unique=True, min_size=1, max_size=3))
    lose(state, job, broken)
    for _ in range(3):                             # a block that moves needs a second request
        pending = [task for task in job.tasks if task.node is None]
        if not pending:
            break
        again = place(state, job, pending)
        if not isinstance(again, Placement):
            return
        for task in job.tasks:
            if task.name in again.moves:
                state.release(task)
        for task, name, mask in zip(pending, again.nodes, again.chips, strict=True):
            state.assign(task, name, mask)
    now = [str(task.node) for task in job.tasks]
    blocks = [now[at:at + block] for at in range(0, len(now), block)]
    assert all(task.node is not None for task in job.tasks) and len(set(now)) == len(now)
    assert all(len(pods) == 1 for pods in homes(state, blocks)) and not set(now) & set(broken)
    for at in range(0, len(now), block):           # a block that lost nothing did not move
        if not set(before[at:at + block]) & set(broken):
            assert now[at:at + block] == before[at:at + block]
