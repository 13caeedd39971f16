"""Why pods find no HyperNode, in words with names and figures."""

from __future__ import annotations

from distsim.scheduler.policies.hyper.lumps import shape_of
from distsim.scheduler.policies.hyper.place import Search
from distsim.scheduler.policies.hyper.tiers import Hyper


def why_not(search: Search) -> str:
    """Why a search has failed: the pods that find no place, or what the roomiest HyperNode takes."""
    if search.stuck is None:
        return _nowhere(search)
    lump, where = search.stuck
    search.room.measure(search.root, lump.tasks[0])
    pods, name = f"{where.slots} of {len(lump.tasks)}", _named(where)
    if lump.kept:
        return f"{lump.name} runs in {name}, which takes {pods} lost pods"
    if lump.role is not None:
        found = [one for one in where.all if one.tier <= lump.tier]
        roomiest = max(found, key=lambda one: (one.slots, -one.tier), default=None)
        return (f"{lump.name} needs {len(lump.tasks)} pods in one HyperNode of tier {lump.tier} or lower in {name}; "
                + (f"the roomiest, {_named(roomiest)}, takes {roomiest.slots}" if roomiest else "there is none"))
    if search.beside:
        return f"the job may not leave {name}, which takes {pods} lost pods"
    return f"{name} takes {pods} pods of {lump.tasks[0].chips} chips, beside those of partitions and larger ones"


def _nowhere(search: Search) -> str:
    """No HyperNode is large enough."""
    asks, lumps, pods = search.asks, search.lumps, len(search.request.tasks)
    what = f"no HyperNode of tier {asks.tier} or lower" if asks.limited else "no HyperNode"
    smallest = min((lump.tasks[0] for lump in lumps), key=lambda task: task.chips)
    search.room.measure(search.root, smallest)
    found = [one for one in search.root.all if one.tier <= asks.tier]
    if len({shape_of(lump.tasks[0]) for lump in lumps}) == 1:
        roomiest = max(found, key=lambda one: (one.slots, -one.tier))
        return f"{what} takes {pods} pods; the roomiest, {_named(roomiest)}, takes {roomiest.slots}"
    roomiest = max(found, key=lambda one: (one.chips, -one.tier))
    chips = sum(lump.chips for lump in lumps)
    return (f"{what} takes {pods} pods of {chips} chips together; the roomiest, {_named(roomiest)}, has "
            f"{roomiest.chips} chips for them")


def _named(hyper: Hyper) -> str:
    return f"{hyper.name} (tier {hyper.tier})"
