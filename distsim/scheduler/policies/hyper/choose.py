"""Which HyperNodes and nodes pods get: the lowest tier that holds them, the tightest HyperNode of it, few inside it.

volcano-sh/volcano, docs/design/Network Topology Aware Scheduling.md (gradients by tier, bin packing by HyperNode); soft
placement fills HyperNodes instead of scattering (#4343), and nodes of a HyperNode are consecutive in the rank order
(#4233).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from distsim.scheduler.policies.blocks.pods import natural
from distsim.scheduler.policies.hyper.lumps import Lump
from distsim.scheduler.policies.hyper.room import Option, Room, few, is_sound
from distsim.scheduler.policies.hyper.tiers import Hyper
from distsim.scheduler.types import Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


def fits(top: Hyper, tier: int, count: int) -> list[Hyper]:
    """The HyperNodes at or below `top`, of this tier at most, that take so many pods of the measured shape: from the
    lowest tier up, in each the one with the fewest free chips first, ties by name."""
    found = [one for one in top.all if one.slots >= count and one.tier <= tier]
    return sorted(found, key=lambda one: (one.tier, max(0, count - one.sound), one.chips, natural(one.name)))


def fill(room: Room, hyper: Hyper, tasks: Sequence[Task]) -> None:
    """Put pods of the measured shape on few nodes of few HyperNodes below this one, in the order of the tree."""
    waiting = iter(tasks)
    for node, count in list(_pick(room, hyper, len(tasks))):
        for _ in range(count):
            room.put(node, next(waiting))


def partitions(room: Room, top: Hyper, lumps: Iterable[Lump]) -> Lump | None:
    """Put whole partitions of a task below `top`; the first that finds no place, if any.

    Partitions of one size are alike: each HyperNode takes as many as it holds, the lowest tiers first and the tightest
    HyperNode of a tier first; then they are numbered in the order of the tree."""
    order = {node.name: at for at, node in enumerate(node for one in top.all for node in one.nodes)}
    for size, group in groupby(sorted(lumps, key=lambda lump: -len(lump.tasks)), key=lambda lump: len(lump.tasks)):
        alike = sorted(group, key=lambda lump: lump.tasks[0].index)
        room.measure(top, alike[0].tasks[0])
        first, waiting = len(room.seats), list(reversed(alike))
        for tier in sorted({one.tier for one in top.all if one.tier <= alike[0].tier}):
            for into in [one for one in fits(top, tier, size) if one.tier == tier]:
                while waiting and into.slots >= size:
                    fill(room, into, waiting.pop().tasks)
        if waiting:
            return waiting[-1]
        _number(room, first, alike, order)
    return None


def _number(room: Room, first: int, alike: Sequence[Lump], order: dict[str, int]) -> None:
    """Let partitions that are alike change places so that they follow the order of the tree."""
    size = len(alike[0].tasks)
    spots = [room.seats[at:at + size] for at in range(first, len(room.seats), size)]
    spots.sort(key=lambda spot: order[spot[0].node.name])
    room.seats[first:] = [replace(seat, task=task) for lump, spot in zip(alike, spots)
                          for seat, task in zip(spot, lump.tasks)]


def _pick(room: Room, hyper: Hyper, count: int) -> Iterator[tuple[NodeState, int]]:
    """Pods for each node below a HyperNode that takes so many, in the order of the tree."""
    if not count:
        return
    loose = sum(room.slots[node.name] for node in hyper.nodes)
    options = [Option(child.slots, child.sound, child.chips, natural(child.name)) for child in hyper.children]
    # Nodes that are in no HyperNode of their own come after those that are.
    inside = min(count, sum(option.slots for option in options)) if hyper.children else 0
    for child, part in zip(hyper.children, few(options, inside)):
        yield from _pick(room, child, part)
    assert count - inside <= loose
    yield from _on_nodes(room, hyper.nodes, count - inside)


def _on_nodes(room: Room, nodes: Sequence[NodeState], count: int) -> list[tuple[NodeState, int]]:
    """Pods for each of these nodes, in their order: on sound ones as far as they go."""
    sound = [node for node in nodes if is_sound(node)]
    on_sound = min(count, sum(room.slots[node.name] for node in sound))
    parts: dict[str, int] = {}
    for some, part in ((sound, on_sound), ([node for node in nodes if not is_sound(node)], count - on_sound)):
        options = [Option(room.slots[node.name], 0, room.left(node), (node.index,)) for node in some]
        parts.update((node.name, pods) for node, pods in zip(some, few(options, part)))
    return [(node, parts[node.name]) for node in nodes if parts[node.name]]
