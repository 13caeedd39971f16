"""chips/rings: which chips each chipR-nodeN policy gives (seed 001, PodGroup Table 3; cluster.md section 4)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from distsim.scheduler.chips import RULES, rule_of, sharing
from distsim.scheduler.policies import policy
from distsim.scheduler.policies.plain import Plain
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Placement, Refusal
from tests.sched_cases import cluster, job, node, request


def chosen(policy_name: str, wanted: int, free: Iterable[int], pods: int = 1) -> list[int] | str:
    """The chips that a pod gets on a node of the policy's size where only these are free, or why none."""
    size = int(policy_name.split("node")[1].split("-")[0])
    state = state_of(cluster([node("n", size)]))
    at = state.nodes["n"]
    asks = job(pods, wanted, schedule_policy=policy_name)
    found = rule_of(asks).choose(at, sum(1 << chip for chip in free), asks.tasks[0], asks)
    return found if isinstance(found, str) else [chip for chip in range(size) if found[0] >> chip & 1]


def best_node(policy_name: str, wanted: int, free: dict[str, list[int]]) -> str:
    """The node that plain binpack takes, given the free chips of each."""
    size = int(policy_name.split("node")[1].split("-")[0])
    state = state_of(cluster([node(name, size) for name in free]))
    for name, chips in free.items():
        state.nodes[name].used = state.nodes[name].all_chips & ~sum(1 << chip for chip in chips)
    placed = Plain("binpack").place(request(state, job(1, wanted, schedule_policy=policy_name)))
    assert isinstance(placed, Placement)
    return placed.nodes[0]


@pytest.mark.parametrize(("name", "wanted", "free", "expected"), [
    ("chip4-node8", 2, [0, 1, 2, 4, 5], [4, 5]),                      # the tighter ring of 4
    ("chip1-node2", 1, [1], [1]),
    ("chip4-node4", 2, [0, 2, 3], [0, 2]),                            # one ring: the lowest
    ("chip8-node8", 3, [1, 4, 6, 7], [1, 4, 6]),
    ("chip8-node16", 2, [0, 1, 2, 9, 10], [9, 10]),                   # the tighter ring of 8
    ("chip2-node8", 2, [1, 2, 4, 5], [4, 5]),                         # the only whole pair
    ("chip2-node16", 2, [1, 2, 10, 11], [10, 11]),
    ("chip2-node8-sp", 4, [0, 2, 3, 6, 7], [2, 3, 6, 7]),
    ("chip2-node16-sp", 2, [0, 13, 14, 15], [14, 15]),
    ("chip4-node16", 4, [0, 1, 2, 8, 9, 10, 11], [8, 9, 10, 11]),     # the only whole ring of 4
    ("chip1-node8", 2, [3, 6, 7], [3, 6]),
    ("chip1-node16", 2, [5, 15], [5, 15]),
    ("chip8-node8-sp", 2, [4, 6, 7], [4, 6]),
    ("chip8-node8-ra64-sp", 3, [0, 5, 6, 7], [0, 5, 6]),
])
def test_rings(name: str, wanted: int, free: list[int], expected: list[int]) -> None:
    assert chosen(name, wanted, free) == expected


def test_chip4_node8() -> None:
    # Rings 0-3 and 4-7. Two chips: ring 1 has exactly two free and is the tighter one.
    assert chosen("chip4-node8", 2, [0, 1, 2, 4, 5]) == [4, 5]
    assert chosen("chip4-node8", 4, [1, 2, 3, 4, 5, 6, 7]) == [4, 5, 6, 7]
    assert chosen("chip4-node8", 8, range(8)) == list(range(8))
    assert chosen("chip4-node8", 3, [0, 1, 4, 5]) == "4 chips free, by ring 2, 2; 3 in one ring of 4 needed"
    assert chosen("chip4-node8", 4, [0, 1, 2, 4, 5, 6]) == "6 chips free, by ring 3, 3; 1 whole rings of 4 needed"
    # 5, 6 and 7 chips are no whole rings: mind-cluster gives any chips (is4PmeshAffinity).
    assert chosen("chip4-node8", 5, [0, 1, 3, 5, 6, 7]) == [0, 1, 3, 5, 6]
    assert best_node("chip4-node8", 2, {"empty": list(range(8)), "tight": [6, 7]}) == "tight"
    # Four chips: of two nodes with one whole ring the one with less left over.
    assert best_node("chip4-node8", 4, {"more": [0, 1, 2, 3, 4, 5], "less": [1, 4, 5, 6, 7]}) == "less"


def test_chip1_node2() -> None:
    assert chosen("chip1-node2", 1, [1]) == [1]
    assert chosen("chip1-node2", 2, [0, 1]) == [0, 1]
    assert chosen("chip1-node2", 2, [0]) == "1 of 2 chips free, 2 requested"


def test_chip4_node4() -> None:
    assert chosen("chip4-node4", 2, [0, 3]) == [0, 3]
    assert chosen("chip4-node4", 4, range(4)) == [0, 1, 2, 3]
    assert best_node("chip4-node4", 1, {"empty": [0, 1, 2, 3], "two": [2, 3]}) == "two"


def test_chip8_node8() -> None:
    assert chosen("chip8-node8", 5, [1, 2, 4, 5, 6, 7]) == [1, 2, 4, 5, 6]
    assert chosen("chip8-node8", 8, range(1, 8)) == "7 of 8 chips free, 8 requested"


def test_chip8_node16() -> None:
    # Up to 8: one ring, the tighter one (4 free in the second against 8 in the first).
    assert chosen("chip8-node16", 3, [*range(8), 8, 9, 10, 11]) == [8, 9, 10]
    assert chosen("chip8-node16", 8, [*range(1, 8), *range(8, 16)]) == list(range(8, 16))
    assert chosen("chip8-node16", 6, [*range(5), *range(8, 13)]) == "by ring of 8 5, 5 chips free; 6 in one ring needed"
    # 10: five positions that are free in both rings, 0-4.
    assert chosen("chip8-node16", 10, [0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 14]) == [0, 1, 2, 3, 4, 8, 9, 10, 11, 12]
    # Free positions 0-4 and 1-5: four match.
    uneven = [*range(5), *range(9, 14)]
    assert chosen("chip8-node16", 10, uneven) == (
        "4 chips free at matching positions of the two rings of 8; 5 needed")
    assert chosen("chip8-node16", 10, uneven, pods=2) == uneven
    assert chosen("chip8-node16", 14, range(1, 16), pods=2) == [*range(1, 8), *range(9, 16)]
    assert chosen("chip8-node16", 16, range(16)) == list(range(16))
    assert best_node("chip8-node16", 3, {"wide": list(range(8)), "tight": [0, 1, 2, 3]}) == "tight"


def test_chip2_node8() -> None:
    # The example of mind-cluster's documentation: 0, 2, 3 and 4 free, of which only 2 and 3 are a pair.
    assert chosen("chip2-node8", 2, [0, 2, 3, 4]) == [2, 3]
    assert chosen("chip2-node8", 1, [2, 3, 5]) == [5]
    assert chosen("chip2-node8", 4, [0, 2, 3, 4]) == "4 chips free, 1 whole pairs; 2 pairs needed"
    # A node that has a broken pair already comes before one where a pair has to be broken.
    assert best_node("chip2-node8", 1, {"pair": [0, 1], "broken": [1, 2, 3, 4, 5, 6, 7]}) == "broken"


def test_chip2_node16() -> None:
    assert chosen("chip2-node16", 4, [0, 1, 3, 4, 5, 9, 14, 15]) == [0, 1, 4, 5]
    assert chosen("chip2-node16", 16, range(16), pods=2) == list(range(16))


def test_chip2_node8_sp() -> None:
    assert chosen("chip2-node8-sp", 6, [0, 1, 2, 3, 4, 5, 7]) == [0, 1, 2, 3, 4, 5]
    assert chosen("chip2-node8-sp", 8, range(1, 8), pods=2) == "7 of 8 chips free, 8 requested"


def test_chip2_node16_sp() -> None:
    assert chosen("chip2-node16-sp", 16, range(16), pods=3) == list(range(16))
    assert chosen("chip2-node16-sp", 2, [1, 3, 5, 6, 7]) == [6, 7]


def test_chip4_node16() -> None:
    # Rings of 4: the second has only three free.
    assert chosen("chip4-node16", 8, [0, 1, 2, 3, 4, 5, 6, *range(8, 16)]) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert chosen("chip4-node16", 3, [0, 1, 2, 3, 12, 13, 14]) == [12, 13, 14]
    assert chosen("chip4-node16", 12, range(13)) == list(range(12))


def test_chip1_node8() -> None:
    assert chosen("chip1-node8", 3, [1, 4, 6, 7]) == [1, 4, 6]


def test_chip1_node16() -> None:
    assert chosen("chip1-node16", 9, range(3, 16)) == list(range(3, 12))
    assert best_node("chip1-node16", 2, {"empty": list(range(16)), "last": [3, 12]}) == "last"


def test_chip8_node8_sp() -> None:
    assert chosen("chip8-node8-sp", 4, [0, 2, 3, 5, 7]) == [0, 2, 3, 5]
    assert chosen("chip8-node8-sp", 8, range(8), pods=2) == list(range(8))


def test_chip8_node8_ra64_sp() -> None:
    assert chosen("chip8-node8-ra64-sp", 5, range(2, 8)) == [2, 3, 4, 5, 6]
    assert chosen("chip8-node8-ra64-sp", 8, range(8), pods=8) == list(range(8))


@pytest.mark.parametrize("name", sorted(name for name, module in RULES.items() if module == "rings"))
def test_a_node_of_another_size_takes_no_such_job(name: str) -> None:
    size = int(name.split("node")[1].split("-")[0])
    other = 12
    state = state_of(cluster([node("n", other), node("right", size)]))
    asks = job(1, 2 if size > 1 else 1, schedule_policy=name)
    found = request(state, asks)
    assert [one.name for one in found.nodes] == ["right"]
    assert found.refused == {f"12 chips a node, {name} needs {size}": ["n"]}


@pytest.mark.parametrize(("name", "pods", "chips", "text"), [
    ("chip4-node8", 1, 9, "requests 9 chips; chip4-node8 gives a pod of a job of one pod 1-8"),
    ("chip1-node2", 1, 3, "requests 3 chips; chip1-node2 gives a pod of a job of one pod 1, 2"),
    ("chip4-node4", 2, 3, "requests 3 chips; chip4-node4 gives a pod of a job of several pods 1, 2, 4"),
    ("chip8-node8", 1, 16, "requests 16 chips; chip8-node8 gives a pod of a job of one pod 1-8"),
    ("chip8-node16", 1, 11, "requests 11 chips; chip8-node16 gives a pod of a job of one pod 1-8, 10, 12, 14, 16"),
    ("chip2-node8", 2, 1, "requests 1 chips; chip2-node8 gives a pod of a job of several pods 2, 4, 6, 8"),
    ("chip2-node16", 1, 5, "gives a pod of a job of one pod 1, 2, 4, 6, 8, 10, 12, 14, 16"),
    ("chip2-node8-sp", 2, 6, "requests 6 chips; chip2-node8-sp gives a pod of a job of several pods 8"),
    ("chip2-node16-sp", 2, 8, "requests 8 chips; chip2-node16-sp gives a pod of a job of several pods 16"),
    ("chip4-node16", 1, 17, "gives a pod of a job of one pod 1-16"),
    ("chip1-node8", 1, 9, "gives a pod of a job of one pod 1-8"),
    ("chip1-node16", 1, 20, "gives a pod of a job of one pod 1-16"),
    ("chip8-node8-sp", 1, 3, "gives a pod of a job of one pod 1, 2, 4, 6, 8"),
    ("chip8-node8-ra64-sp", 2, 4, "gives a pod of a job of several pods 8"),
])
def test_a_request_that_the_policy_does_not_give(name: str, pods: int, chips: int, text: str) -> None:
    asks = job(pods, chips, schedule_policy=name)
    found = rule_of(asks).validate(asks)
    assert found is not None and (found.condition, found.reason, found.final) == (
        "JobValidateFailed", "InvalidResourceRequest", True)
    assert text in found.message and found.message.startswith("pod job-worker-0 of job job requests")


@pytest.mark.parametrize(("name", "pods", "chips"), [
    ("chip4-node8", 1, 5), ("chip4-node4", 1, 4), ("chip8-node16", 3, 14), ("chip2-node16", 1, 1),
    ("chip2-node16", 4, 6), ("chip2-node16-sp", 1, 1), ("chip2-node16-sp", 3, 16), ("chip8-node8-ra64-sp", 1, 3)])
def test_a_request_that_is_valid(name: str, pods: int, chips: int) -> None:
    asks = job(pods, chips, schedule_policy=name)
    assert rule_of(asks).validate(asks) is None


def test_several_pods_share_a_node_ring_by_ring() -> None:
    # 4 pods of 2 chips on one node of two rings of 4: two pods a ring, none crosses.
    state = state_of(cluster([node("n", 8)]))
    placed = policy("binpack").place(request(state, job(4, 2, schedule_policy="chip4-node8")))
    assert isinstance(placed, Placement)
    assert placed.chips == (0b11, 0b1100, 0b110000, 0b11000000)


def test_soft_share() -> None:
    # 60 % and 40 % share chip 0; a further 50 % goes to chip 1 (test_sched_soft_share.py has the rest).
    state = state_of(cluster([node("n", 2)]))
    for quota, chip in ((60, 0), (40, 0), (50, 1)):
        asks = job(1, 1, f"job{quota}", schedule_policy="chip1-softShareDev", aicore_quota=quota, hbm_quota_mb=1024,
                   share_policy="fixed-share")
        shared = sharing(rule_of(asks))
        placed = policy("binpack").place(request(state, asks))
        assert shared is not None and isinstance(placed, Placement) and placed.chips == (1 << chip,)
        state.share(asks.tasks[0], "n", chip, shared.share_of(asks, asks.tasks[0]))


def test_npu_310_strategy() -> None:
    # Two cards with two chips free each: 3 chips of one card there are none, 3 of any card there are.
    state = state_of(cluster([node("n", 8)]))
    state.nodes["n"].used = 0b11001100
    assert isinstance(policy("binpack").place(request(state, job(1, 3, npu_310_strategy="card"))), Refusal)
    placed = policy("binpack").place(request(state, job(1, 3, npu_310_strategy="chip")))
    assert isinstance(placed, Placement) and placed.chips == (0b010011,)
