"""npu-310-strategy: chips of inference servers with Atlas 300I cards of four chips each (seed 001, PodGroup Table 1).

Ascend/mind-cluster, component/ascend-for-volcano/internal/npu/ascend310: card310x4 and chip310x4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.chips.any import lowest
from distsim.scheduler.types import INVALID_REQUEST, VALIDATE_FAILED, Job, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

CARD_CHIPS, NODE_CHIPS = 4, 64                  # maxCardNPUNum and maxNodeNPUNum of card310x4/type.go
# Chips wanted -> which number of free chips a card should have, best first (card310x4/task.go: one chip rather breaks a
# card of three, whose two others remain a pair, than one of two).
PREFERENCE = {1: (1, 3, 2, 4), 2: (2, 3, 4), 3: (3, 4), 4: (4,)}


class Infer310:
    """See `ChipRule`. name : card (all chips of a pod from one card) or chip (from any)."""

    def __init__(self, name: str):
        self.name = name
        self._most = CARD_CHIPS if name == "card" else NODE_CHIPS

    def validate(self, job: Job) -> Refusal | None:
        """InvalidResourceRequest for a pod that asks for more chips than a card (or a server) has."""
        for task in job.npu_tasks:
            if not 1 <= task.chips <= self._most:
                return Refusal(VALIDATE_FAILED, f"pod {task.name} of job {job.name} requests {task.chips} chips; "
                               f"npu-310-strategy {self.name} gives 1 to {self._most}", INVALID_REQUEST, final=True)
        return None

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> tuple[int, int] | str:
        """card: the card whose free chips suit best, the score is its place in PREFERENCE. chip: chips of the cards
        with the fewest free ones first; the score is how many stay free."""
        cards = _cards(idle, node.all_chips)
        return self._of_one_card(cards, task.chips) if self.name == "card" else _of_any(cards, idle, node, task.chips)

    def _of_one_card(self, cards: list[int], wanted: int) -> tuple[int, int] | str:
        order = PREFERENCE[wanted]
        fitting = [card for card in cards if card.bit_count() >= wanted]
        if not fitting:
            most = max((card.bit_count() for card in cards), default=0)
            return f"at most {most} chips free on one card of {CARD_CHIPS}, {wanted} requested"
        best = min(fitting, key=lambda card: order.index(card.bit_count()))
        return lowest(best, wanted), order.index(best.bit_count())


def _cards(idle: int, all_chips: int) -> list[int]:
    """The free chips of each card, lowest card first."""
    full = (1 << CARD_CHIPS) - 1
    return [idle & full << first for first in range(0, all_chips.bit_length(), CARD_CHIPS)]


def _of_any(cards: list[int], idle: int, node: NodeState, wanted: int) -> tuple[int, int] | str:
    have = idle.bit_count()
    if have < wanted:
        return f"{have} of {node.chips} chips free, {wanted} requested"
    mask, left = 0, wanted
    for card in sorted(cards, key=int.bit_count):
        took = lowest(card, min(left, card.bit_count()))
        mask, left = mask | took, left - took.bit_count()
    return mask, have - wanted


def rule(name: str) -> Infer310:
    """The rule of a value of npu-310-strategy."""
    return Infer310(name)
