"""Plain placement, which knows no topology: binpack, spread and random, for comparison and for jobs that ask for none.

binpack: the node with the fewest free chips that still has enough (plugin binpack of volcano); spread: the one with
the most; random: any, drawn by the seed of the settings and the job. Ties go to cluster order. Nodes of bad_score
(volcano's nodeorder: where pods failed before) come last, sub-healthy ones (subHealthyStrategy ignore) after the rest.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from distsim.scheduler.policies import Request
from distsim.scheduler.types import PREDICATE_FAILED, Job, Placement, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State


class Plain:
    """See `NodePolicy`. name : binpack, spread or random."""

    def __init__(self, name: str):
        self.name = name

    def validate(self, job: Job, state: State) -> Refusal | None:
        """Every job can be placed so."""
        return None

    def place(self, request: Request) -> Placement | Refusal:
        """Task by task, the best node left."""
        draw = random.Random(f"{request.state.settings.seed}/{request.job.uid}")
        given: dict[str, int] = {}
        taken: set[str] = set()
        chosen: list[NodeState] = []
        masks: list[int] = []
        order = list(request.nodes)
        if self.name == "random":
            draw.shuffle(order)
        for task in request.tasks:
            best: tuple[tuple[int, ...], NodeState, int] | None = None
            for at, node in enumerate(order):
                if task.spread and node.name in taken:
                    continue
                found = request.chips_on(node, task, given.get(node.name, 0))
                if isinstance(found, str):
                    continue
                key = (*self._key(node, found[1], given.get(node.name, 0)), at)
                if best is None or key < best[0]:
                    best = (key, node, found[0])
            if best is None:
                return self._refusal(request, len(chosen))
            _, node, mask = best
            given[node.name] = given.get(node.name, 0) | mask
            taken.add(node.name)
            chosen.append(node)
            masks.append(mask)
        return Placement(tuple(node.name for node in chosen), tuple(masks))

    def _key(self, node: NodeState, score: int, given: int) -> tuple[int, ...]:
        worse = node.bad_score, int(node.sub_healthy)
        if self.name == "random":
            return worse
        left = (node.idle() & ~given).bit_count()
        return (*worse, score, left) if self.name == "binpack" else (*worse, -left)

    def _refusal(self, request: Request, placed: int) -> Refusal:
        job, wanted = request.job, len(request.tasks)
        return Refusal(PREDICATE_FAILED, f"{placed} of {wanted} pods of job {job.name} find a node: "
                                         f"{len(request.nodes)} nodes have chips for one",
                       nodes={reason: tuple(names) for reason, names in request.refused.items()})


def policy(name: str) -> Plain:
    """The policy of a name."""
    return Plain(name)
