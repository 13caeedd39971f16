"""Which chips of a node a task gets: one module a rule, and the registry.

A rule looks at one node at a time; which nodes a job gets is for `policies/`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from distsim.scheduler.types import Job, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, Share


class ChipRule(Protocol):
    """A rule for the chips of a task on a node."""

    name: str

    def validate(self, job: Job) -> Refusal | None:
        """What is wrong with a job's request under this rule (InvalidResourceRequest, InvalidArgument), or None."""

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> tuple[int, int] | str:
        """(mask of the chips, score) of a task on a node, or why it gets none there (a few words, with figures).

        idle : mask of the chips that may be given (NodeState.idle less what the placement in the making has given).
        A lower score is the tighter fit. Deterministic: ties go to the lowest chip.
        """


class SharingRule(ChipRule, Protocol):
    """A rule by which several tasks hold parts of one chip (`State.share` instead of `State.assign`)."""

    shares: bool

    def impossible(self, job: Job, nodes: Iterable[NodeState]) -> Refusal | None:
        """What makes a job impossible on these nodes, however empty they are, or None."""

    def share_of(self, job: Job, task: Task) -> Share:
        """The part of a chip that a task holds."""

    def choose_beside(self, node: NodeState, idle: int, task: Task, job: Job,
                      planned: Sequence[int]) -> tuple[int, int] | str:
        """As `choose`; planned : the chips of the node that tasks of this job get in the placement in the making, one
        entry a task."""


def sharing(rule: ChipRule) -> SharingRule | None:
    """A rule that gives parts of chips; None for one that gives whole chips."""
    return cast("SharingRule", rule) if getattr(rule, "shares", False) else None


# Module of each rule; `rule(policy: str) -> ChipRule` of a module gives it for a value of huawei.com/schedule_policy.
RULES = {
    **dict.fromkeys(("chip4-node8", "chip1-node2", "chip4-node4", "chip8-node8", "chip8-node16", "chip2-node8",
                     "chip2-node16", "chip2-node8-sp", "chip2-node16-sp", "chip4-node16", "chip1-node8", "chip1-node16",
                     "chip8-node8-sp", "chip8-node8-ra64-sp"), "rings"),
    "chip1-softShareDev": "soft_share",
    "multilevel": "whole",
    "card": "infer310",           # of npu-310-strategy
    "chip": "infer310",
    "": "any",                    # no policy asked for
}


def rule_of(job: Job) -> ChipRule:
    """The rule for the chips of a job, by its schedule_policy, else by npu-310-strategy, else any free chips."""
    settings = job.settings
    name = settings.schedule_policy or settings.npu_310_strategy or ""
    if settings.skip_ascend:
        name = ""
    found: ChipRule = importlib.import_module(f"{__name__}.{RULES[name]}").rule(name)
    return found
