"""npu-310-strategy: chips of Atlas 300I cards (seed 001, PodGroup Table 1; mind-cluster's ascend310)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from distsim.scheduler.chips import rule_of
from distsim.scheduler.state import state_of
from tests.sched_cases import cluster, job, node


def chosen(strategy: str, wanted: int, free: Iterable[int], size: int = 16) -> list[int] | str:
    """The chips of a pod on a node of cards of four, where only these are free; or why none."""
    at = state_of(cluster([node("n", size)])).nodes["n"]
    asks = job(1, wanted, npu_310_strategy=strategy)
    found = rule_of(asks).choose(at, sum(1 << chip for chip in free), asks.tasks[0], asks)
    return found if isinstance(found, str) else [chip for chip in range(size) if found[0] >> chip & 1]


def test_card_takes_the_card_that_suits_best() -> None:
    # Cards 0-3, 4-7, 8-11, 12-15 with 4, 3, 2, 1 chips free.
    free = [0, 1, 2, 3, 4, 5, 6, 8, 9, 12]
    assert chosen("card", 1, free) == [12]
    assert chosen("card", 2, free) == [8, 9]
    assert chosen("card", 3, free) == [4, 5, 6]
    assert chosen("card", 4, free) == [0, 1, 2, 3]


def test_one_chip_rather_breaks_a_card_of_three_than_one_of_two() -> None:
    assert chosen("card", 1, [0, 1, 4, 5, 6]) == [4]
    assert chosen("card", 1, [0, 1, 2, 3, 4, 5]) == [4]


def test_card_never_spans_two_cards() -> None:
    assert chosen("card", 3, [0, 1, 4, 5]) == "at most 2 chips free on one card of 4, 3 requested"


def test_chip_takes_broken_cards_first() -> None:
    # Cards with 4, 1 and 2 free: the single chip, then the pair, then one of the full card.
    assert chosen("chip", 4, [0, 1, 2, 3, 6, 8, 9], 12) == [0, 6, 8, 9]
    assert chosen("chip", 9, range(4, 16)) == [*range(4, 13)]
    assert chosen("chip", 5, [0, 1, 8, 9]) == "4 of 16 chips free, 5 requested"


@pytest.mark.parametrize(("strategy", "chips", "most"), [("card", 5, 4), ("chip", 65, 64)])
def test_more_chips_than_a_card_or_server_has(strategy: str, chips: int, most: int) -> None:
    asks = job(1, chips, npu_310_strategy=strategy)
    found = rule_of(asks).validate(asks)
    assert found is not None and found.reason == "InvalidResourceRequest" and found.final
    assert found.message == (f"pod job-worker-0 of job job requests {chips} chips; npu-310-strategy {strategy} gives 1 "
                             f"to {most}")


def test_valid_requests() -> None:
    for strategy, chips in (("card", 4), ("chip", 5)):
        asks = job(2, chips, npu_310_strategy=strategy)
        assert rule_of(asks).validate(asks) is None
