"""Plain placement, which knows no topology: binpack, spread and random, for comparison and for jobs that ask for none.

binpack: the node with the fewest free chips that still has enough (plugin binpack of volcano); spread: the one with
the most; random: any, drawn by the seed of the settings and the job. Ties go to cluster order. Nodes of bad_score
(where pods failed before) and those that plugin nodeorder dislikes come last, sub-healthy ones (subHealthyStrategy
ignore) after their equals.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from distsim.scheduler.policies import Request
from distsim.scheduler.scores import dislike
from distsim.scheduler.types import PREDICATE_FAILED, Job, Placement, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State

Ranked = tuple[tuple[int, ...], int, int]


class Plain:
    """See `NodePolicy`. name : binpack, spread or random."""

    def __init__(self, name: str):
        self.name = name

    def validate(self, job: Job, state: State) -> Refusal | None:
        """Every job can be placed so."""
        return None

    def place(self, request: Request) -> Placement | Refusal:
        """Task by task, the best node left; with prefer-previous-node first those that can go back to their node."""
        order = list(request.nodes)
        if self.name == "random":
            random.Random(f"{request.state.settings.seed}/{request.job.uid}").shuffle(order)
        filling = _Filling(request, order, self._key)
        if request.state.settings.prefer_previous_node:
            filling.put_back()
        for at, task in enumerate(request.tasks):
            if at not in filling.found and not filling.put(at, task):
                return self._refusal(request, len(filling.found))
        return filling.placement()

    def fewer(self, request: Request, least: int) -> tuple[Sequence[Task], Placement] | None:
        """The longest beginning of tasks of one shape that finds nodes; where some do, any fewer of them do."""
        low, high, best = least, len(request.tasks) - 1, None
        while low <= high:
            # The least number first: if that fails, no other is needed.
            count = low if best is None else (low + high + 1) // 2
            found = self.place(replace(request, tasks=request.tasks[:count], planned={}))
            if isinstance(found, Placement):
                best, low = (request.tasks[:count], found), count + 1
            elif best is None:
                return None
            else:
                high = count - 1
        return best

    def _key(self, node: NodeState, score: int, given: int) -> tuple[int, ...]:
        if self.name == "random":
            return ()
        left = (node.idle() & ~given).bit_count()
        return (score, left) if self.name == "binpack" else (-left,)

    def _refusal(self, request: Request, placed: int) -> Refusal:
        nodes, wanted = len(request.nodes), len(request.tasks)
        return Refusal(PREDICATE_FAILED, f"{placed} of {wanted} {'pod' if wanted == 1 else 'pods'} of job "
                                         f"{request.job.name} find a node: {nodes} {'node' if nodes == 1 else 'nodes'} "
                                         "with chips for one",
                       nodes={reason: tuple(names) for reason, names in request.refused.items()})


class _Filling:
    """A placement in the making. found : number of a task -> its node and chips. key : what ranks nodes of equal
    standing, lowest first: (node, score of the rule, chips given there) -> key."""

    def __init__(self, request: Request, order: Sequence[NodeState],
                 key: Callable[[NodeState, int, int], tuple[int, ...]]):
        self.found: dict[int, tuple[NodeState, int]] = {}
        self._request, self._order, self._key = request, order, key
        self._given: dict[str, int] = {}
        self._ranking: list[Ranked] = []
        self._like: Task | None = None

    def put_back(self) -> None:
        """Give tasks the node that they had, unless pods failed there or it has no chips for them."""
        ran = [(at, task) for at, task in enumerate(self._request.tasks) if task.last_node is not None]
        sound = {node.name: node for node in self._order if not node.bad_score and not node.sub_healthy} if ran else {}
        for at, task in ran:
            node = sound.get(task.last_node or "")
            if node is not None and self._open(task, node):
                chips = self._request.chips_on(node, task, self._given.get(node.name, 0))
                if not isinstance(chips, str):
                    self._take(at, node, chips[0])

    def put(self, at: int, task: Task) -> bool:
        """Give a task the best node that is left; False if there is none."""
        if self._like is None or not _alike(self._like, task):
            self._like = task
            self._ranking = [entry for place, node in enumerate(self._order)
                             if (entry := self._ranked(task, place, node)) is not None]
            heapq.heapify(self._ranking)
        if not self._ranking:
            return False
        _, place, mask = heapq.heappop(self._ranking)
        self._take(at, self._order[place], mask)
        # Only this node has changed for the tasks that follow.
        again = self._ranked(task, place, self._order[place])
        if again is not None:
            heapq.heappush(self._ranking, again)
        return True

    def placement(self) -> Placement:
        """What was found, in the order of the tasks."""
        chosen = [self.found[at] for at in range(len(self.found))]
        return Placement(tuple(node.name for node, _ in chosen), tuple(mask for _, mask in chosen))

    def _open(self, task: Task, node: NodeState) -> bool:
        return not task.spread or node.name not in self._given

    def _take(self, at: int, node: NodeState, mask: int) -> None:
        self._given[node.name] = self._given.get(node.name, 0) | mask
        self._request.plan(node, mask)
        self.found[at] = node, mask

    def _ranked(self, task: Task, place: int, node: NodeState) -> Ranked | None:
        """A node's key, its place in the order, and the chips that the task would get there; None if it gets none."""
        if not self._open(task, node):
            return None
        given = self._given.get(node.name, 0)
        chips = self._request.chips_on(node, task, given)
        if isinstance(chips, str):
            return None
        worse = node.bad_score + dislike(node, task, self._request.state.settings), int(node.sub_healthy)
        return (*worse, *self._key(node, chips[1], given)), place, chips[0]


def _alike(first: Task, second: Task) -> bool:
    """Whether the nodes stand in the same order for two tasks."""
    return ((first.chips, first.spread, first.affinity, first.tolerations)
            == (second.chips, second.spread, second.affinity, second.tolerations))


def policy(name: str) -> Plain:
    """The policy of a name."""
    return Plain(name)
