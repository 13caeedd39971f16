"""How many pods of a shape the nodes, and so the HyperNodes, still take while a placement is in the making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distsim.scheduler.chips import sharing
from distsim.scheduler.policies import Request
from distsim.scheduler.policies.hyper.lumps import Shape, shape_of
from distsim.scheduler.policies.hyper.tiers import Hyper
from distsim.scheduler.types import Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


@dataclass(frozen=True)
class Seat:
    """A pod on a node, with the chips of a mask. before : mask of what the placement had given there before it."""

    task: Task
    node: NodeState
    mask: int
    before: int


class Room:
    """What the placement in the making has given, and what is left. home : innermost HyperNode of each node."""

    def __init__(self, request: Request, home: Mapping[str, Hyper]):
        self.seats: list[Seat] = []
        self.slots: dict[str, int] = {}              # further pods of the measured shape, by node
        self._request, self._home = request, home
        self._several = request.job.several
        self.shares = sharing(request.rule) is not None          # whether the rule gives parts of chips
        self._given: dict[str, int] = {}
        self._pods: dict[str, int] = {}
        self._spent: dict[str, dict[str, int]] = {}
        self._first = shape_of(request.tasks[0])
        self._measured: tuple[Hyper, Shape] | None = None

    def measure(self, top: Hyper, task: Task) -> None:
        """Count the pods like this one that a HyperNode, all below it and their nodes take (Hyper.slots and so on)."""
        shape = shape_of(task)
        if self._measured is not None and self._measured[1] == shape and self._measured[0].holds(top):
            return                                   # `put` has kept the counts up to date
        self._measured = top, shape
        most = len(self._request.tasks)
        for hyper in reversed(list(top.all)):
            hyper.slots = sum(child.slots for child in hyper.children)
            hyper.sound = sum(child.sound for child in hyper.children)
            hyper.chips = sum(child.chips for child in hyper.children)
            for node in hyper.nodes:
                slots = self.slots[node.name] = self._slots(node, task, shape, most)
                if slots:
                    hyper.slots += slots
                    hyper.sound += slots if is_sound(node) else 0
                    hyper.chips += self.left(node)

    def left(self, node: NodeState) -> int:
        """Chips of a node that are free."""
        return (node.idle(self._several) & ~self._given.get(node.name, 0)).bit_count()

    def put(self, node: NodeState, task: Task) -> None:
        """Give a pod of the measured shape chips of a node that has a slot."""
        name, before, chips = node.name, self._given.get(node.name, 0), self.left(node)
        found = self._request.chips_on(node, task, before)
        assert not isinstance(found, str), f"{name}: {found}"
        self._request.plan(node, found[0])
        self._count(node, task, 1)
        self._given[name] = before | found[0]
        self.seats.append(Seat(task, node, found[0], before))
        self.slots[name] -= 1
        gone = chips - (self.left(node) if self.slots[name] else 0)
        for hyper in self._home[name].up:
            hyper.slots -= 1
            hyper.sound -= is_sound(node)
            hyper.chips -= gone

    def undo(self, mark: int) -> None:
        """Take back all seats but the first `mark`. What was measured is out of date then."""
        while len(self.seats) > mark:
            seat = self.seats.pop()
            self._given[seat.node.name] = seat.before
            self._count(seat.node, seat.task, -1)
            if self.shares:
                self._request.planned[seat.node.name].pop()
        self._measured = None

    def _count(self, node: NodeState, task: Task, sign: int) -> None:
        self._pods[node.name] = self._pods.get(node.name, 0) + sign
        spent = self._spent.setdefault(node.name, {})
        for name, amount in task.request.items():
            spent[name] = spent.get(name, 0) + sign * amount

    def _slots(self, node: NodeState, task: Task, shape: Shape, most: int) -> int:
        """How many further pods like this one a node takes: by its chips, its other resources, and one where pods of
        the job may not share a node."""
        untouched = not self._pods.get(node.name)
        if task.spread:
            most = min(most, int(untouched))
        if untouched and shape == self._first and not self.shares and 0 < self.left(node) < 2 * task.chips:
            return min(most, 1)                      # the request offers nodes that take one such pod
        return self._by_chips(node, task, min(most, self._by_resources(node, task)))

    def _by_resources(self, node: NodeState, task: Task) -> int:
        spent = self._spent.get(node.name, {})
        bounds = [(node.free[name] - spent.get(name, 0)) // amount for name, amount in task.request.items()
                  if amount and name in node.free and name != self._request.job.resource]
        return max(0, min(bounds, default=len(self._request.tasks)))

    def _by_chips(self, node: NodeState, task: Task, most: int) -> int:
        request, given, found = self._request, self._given.get(node.name, 0), 0
        planned = len(request.planned.get(node.name, ()))
        while found < most:
            chosen = request.chips_on(node, task, given)
            if isinstance(chosen, str):
                break
            request.plan(node, chosen[0])
            given |= chosen[0]
            found += 1
        if self.shares:
            del request.planned.get(node.name, [])[planned:]
        return found


def is_sound(node: NodeState) -> bool:
    """Whether nothing speaks against a node: no pod failed there lately (bad_score), and it is not sub-healthy."""
    return not node.bad_score and not node.sub_healthy


@dataclass(frozen=True)
class Option:
    """A HyperNode or node among those to choose from. slots : pods that it takes. sound : of those on sound nodes.
    chips : that are free. order : what ties are broken by."""

    slots: int
    sound: int
    chips: int
    order: tuple[object, ...]


def tightest(options: Sequence[Option], count: int) -> int | None:
    """Which option takes so many pods and has the fewest chips free, those with enough sound nodes first; None if none
    takes them."""
    fits = [at for at, option in enumerate(options) if option.slots >= count]
    return min(fits, default=None, key=lambda at: (max(0, count - options[at].sound), options[at].chips,
                                                   options[at].order))


def few(options: Sequence[Option], count: int) -> list[int]:
    """Pods for each option, on as few as possible (volcano-sh/volcano#4343): those that take most, filled, and last the
    tightest one that takes the rest. Together they take `count`."""
    parts = [0] * len(options)
    left = sorted(range(len(options)), key=lambda at: (-options[at].slots, options[at].order))
    for place, at in enumerate(left):
        if options[at].slots >= count:
            rest = left[place:]
            best = tightest([options[other] for other in rest], count)
            assert best is not None
            parts[rest[best]] = count
            return parts
        parts[at] = options[at].slots
        count -= options[at].slots
    assert not count, f"{count} pods are left over"
    return parts
