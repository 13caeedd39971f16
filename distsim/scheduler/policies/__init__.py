"""Which nodes a job gets, in which order of ranks: one module a policy, and the registry.

To add one: a module with an object that fits `NodePolicy`, its row in `POLICIES`, and a test.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from distsim.scheduler.chips import sharing
from distsim.scheduler.scores import plain_name
from distsim.scheduler.types import Job, Placement, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.chips import ChipRule
    from distsim.scheduler.state import NodeState, State


SP_BLOCK = "sp-block"


@dataclass
class Request:
    """What a policy is asked to place.

    tasks : those to place, in rank order; all of the job's tasks with chips, or after a fault those that lost their
    node (the others of `job.tasks` keep `node`). They all ask for the same number of chips unless `uniform` is False.
    nodes : the nodes that pass the ordinary filters for a task of the job (predicates.py) and where `rule` finds
    chips for it, in cluster order. refused : reason -> names of the other nodes.
    rule : which chips a task gets. state : the cluster.
    planned : node -> chips that tasks have got there, kept by `plan` for a rule that gives parts of chips.
    """

    state: State
    job: Job
    tasks: Sequence[Task]
    nodes: Sequence[NodeState]
    rule: ChipRule
    refused: dict[str, list[str]] = field(default_factory=dict)
    uniform: bool = True
    planned: dict[str, list[int]] = field(default_factory=dict)

    def chips_on(self, node: NodeState, task: Task, given: int = 0) -> tuple[int, int] | str:
        """(mask, score) of a task on a node, or why not. given : mask of chips that this placement has given there."""
        idle = node.idle(several_pods=self.job.several) & ~given
        shared = sharing(self.rule)
        if shared is not None:
            return shared.choose_beside(node, idle, task, self.job, self.planned.get(node.name, ()))
        return self.rule.choose(node, idle, task, self.job)

    def plan(self, node: NodeState, mask: int) -> None:
        """Note that the placement in the making gives a task these chips, so that a chip that tasks share is not
        given beyond its quota. Policies that put several tasks on a node call it for each."""
        if sharing(self.rule) is not None:
            self.planned.setdefault(node.name, []).append(mask.bit_length() - 1)

    def place_on(self, order: Sequence[NodeState], **notes: object) -> Placement:
        """Task i on order[i], with the chips that the rule chooses; for policies that found one node a task.

        Raises AssertionError if a node that was offered has no chips for its task."""
        given: dict[str, int] = {}
        masks = []
        for task, node in zip(self.tasks, order, strict=True):
            found = self.chips_on(node, task, given.get(node.name, 0))
            assert not isinstance(found, str), f"{node.name}: {found}"
            given[node.name] = given.get(node.name, 0) | found[0]
            self.plan(node, found[0])
            masks.append(found[0])
        return Placement(tuple(node.name for node in order), tuple(masks), notes)


class NodePolicy(Protocol):
    """A policy."""

    name: str

    def validate(self, job: Job, state: State) -> Refusal | None:
        """What makes a job impossible under this policy (JobValidateFailed), or None. Looks at no chip in use."""

    def place(self, request: Request) -> Placement | Refusal:
        """Nodes and chips for all tasks of the request, or why not (NodePredicateFailed or BatchOrderFailed).

        Changes nothing. Deterministic: ties by tor_id, then cluster order of the nodes."""


class PartialPolicy(NodePolicy, Protocol):
    """A policy that can place a part of a gang whose minAvailable is below its pods."""

    def fewer(self, request: Request, least: int) -> tuple[Sequence[Task], Placement] | None:
        """The most tasks of a request that it refuses as a whole, in their order, and where they go; None if those are
        fewer than `least`."""


def partial(policy: NodePolicy) -> PartialPolicy | None:
    """A policy that can place a part of a gang; None for one that places all pods or none."""
    return cast("PartialPolicy", policy) if hasattr(policy, "fewer") else None


# Module of each policy; its attribute POLICY, or policy(name) where a module has several.
POLICIES = {
    "tor-affinity": "tor_affinity",        # label tor-affinity
    "multilevel": "multilevel",            # schedule_policy: multilevel
    "super-pod": "super_pod",              # schedule_policy chip*-*-sp, sp-block, sp-fit, ra-block
    "hypernode": "hypernode",              # spec.networkTopology
    "binpack": "plain",
    "spread": "plain",
    "random": "plain",
}


def policy(name: str) -> NodePolicy:
    """The policy of a name of POLICIES."""
    module = importlib.import_module(f"{__name__}.{POLICIES[name]}")
    found: NodePolicy = module.policy(name) if hasattr(module, "policy") else module.POLICY
    return found


def policy_name(job: Job, state: State) -> str:
    """Which policy a job asks for. What the user forces (settings.policy) stands above what the job says only for jobs
    that may be placed by it; `validate` of that policy says so."""
    settings, scheduler = job.settings, state.settings
    if scheduler.policy:
        return scheduler.policy
    if not job.resource or settings.skip_ascend or not scheduler.has("volcano-npu"):
        return plain_name(scheduler)
    asked = settings.schedule_policy or ""
    if asked == "multilevel":
        return "multilevel"
    if asked.endswith("-sp"):
        return "super-pod"
    if settings.tor_affinity:
        return "tor-affinity"
    if not asked and (settings.sp_block is not None or SP_BLOCK in job.annotations):      # idlest too
        return "super-pod"                     # as mind-cluster's factory.go: sp-block by itself asks for it
    if job.network_topology:
        return "hypernode"
    return plain_name(scheduler)
