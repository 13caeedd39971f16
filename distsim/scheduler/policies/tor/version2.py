"""Switch affinity 2.0: a job that spans fills idle switches and leaves its remainder to a few shared ones.

The network steers flows around each other (iMaster NCE-Fabric), so slices do not matter, and a switch may serve several
jobs that span, as long as each of them uses at most shared-tor-num shared switches.
Source: cluster.md section 2; the page on node-based affinity; nslbv2.go of mind-cluster. Where the page and the code
differ: of two shared switches the page takes those whose usable nodes together are the fewest that fit (the code only
looks at neighbours, and may take nodes twice): the page is followed. For the remainder the code takes the next idle
switch in emptiest-first order, the page the one closest to the remainder: the code is followed, as in cluster.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor import words
from distsim.scheduler.policies.tor.classes import Kind
from distsim.scheduler.policies.tor.states import SwitchState, switch_states
from distsim.scheduler.policies.tor.switches import Plan, Switch, View, emptiest_first, fullest_first

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

# States in the order in which a job that fits one switch tries them.
ONE_SWITCH_ORDER = (SwitchState.EXCLUSIVE, SwitchState.UNHEALTHY, SwitchState.SHARED, SwitchState.IDLE)


@dataclass
class Parts:
    """A placement in the making. left : nodes still to find."""

    left: int
    rows: list[Sequence[NodeState]] = field(default_factory=list)
    states: dict[int, str] = field(default_factory=dict)

    def take(self, switch: Switch, kind: SwitchState, count: int | None = None) -> None:
        """The first `count` nodes of a switch (all by default), which becomes such a one."""
        row = switch.nodes[:count]
        if row:
            self.rows.append(row)
            self.states[switch.tor] = kind
            self.left -= len(row)

    def fill(self, switches: Iterable[Switch], kind: SwitchState) -> Switch | None:
        """Whole switches in their order; the first that has more nodes than are left, which is not taken."""
        for switch in switches:
            if self.left < switch.free:
                return switch
            self.take(switch, kind)
        return None

    def plan(self, form: str) -> Plan:
        """The finished placement."""
        return Plan(self.rows, form, self.states if len(self.rows) > 1 else {})


def affine(view: View, count: int) -> Plan | str:
    """`count` nodes for a job by the rules of large jobs, or why not."""
    at = by_state(view.switches, switch_states(view.state))
    if count < view.size or view.kind is Kind.FILLER:
        for kind in ONE_SWITCH_ORDER:
            one = next((switch for switch in fullest_first(at[kind]) if switch.free >= count), None)
            if one is not None:
                return Plan([one.nodes[:count]], f"one {kind} switch")
        if view.kind is Kind.FILLER:
            return words.no_switch(count, view.switches)
    most = view.state.settings.shared_tor_num
    shared = fullest_first(at[SwitchState.SHARED])
    lack = _lack(at, most, count)
    if lack:
        return lack
    parts = Parts(count)
    nearly = parts.fill(emptiest_first(at[SwitchState.IDLE]), SwitchState.EXCLUSIVE)
    remainder(parts, shared, most, nearly, SwitchState.SHARED)
    return parts.plan("idle and shared switches")


def overflow(view: View, count: int) -> Plan | str:
    """Where a normal job goes that is too large for `affine`: all idle switches, then unhealthy shared ones, then those
    that no large job spans; what it shares so becomes unhealthy. Or why not."""
    at = by_state(view.switches, switch_states(view.state))
    parts = Parts(count)
    parts.fill(emptiest_first(at[SwitchState.IDLE]), SwitchState.EXCLUSIVE)
    for switches in (at[SwitchState.UNHEALTHY], _without_large(view, at[SwitchState.SHARED])):
        nearly = parts.fill(fullest_first(switches), SwitchState.UNHEALTHY)
        if nearly is not None:
            parts.take(nearly, SwitchState.UNHEALTHY, parts.left)
    if parts.left:
        return (f"idle switches, unhealthy shared ones and those that no large job spans have {count - parts.left} of "
                f"{count} usable nodes (lack {parts.left}); {_not_idle(at)}")
    return parts.plan("idle and unhealthy switches")


def by_state(switches: Iterable[Switch], states: dict[int, SwitchState]) -> dict[SwitchState, list[Switch]]:
    """The switches of each state."""
    at: dict[SwitchState, list[Switch]] = {kind: [] for kind in SwitchState}
    for switch in switches:
        at[states.get(switch.tor, SwitchState.IDLE)].append(switch)
    return at


def remainder(parts: Parts, shared: Sequence[Switch], most: int, nearly: Switch | None, turns: SwitchState) -> None:
    """What is left after the idle switches, into at most `most` healthy shared switches; if they cannot hold it, into
    the next idle switch `nearly`, which turns into one of state `turns`."""
    if parts.left == 0:
        return
    chosen = closest(shared, most, parts.left)
    if chosen:
        for switch in chosen:
            parts.take(switch, SwitchState.SHARED, parts.left)
    elif nearly is not None:
        parts.take(nearly, turns, parts.left)


def closest(shared: Sequence[Switch], most: int, count: int) -> list[Switch]:
    """The shared switch, or the two (if `most` is 2), whose usable nodes are the fewest that hold `count`; two rather
    than one that has as many; [] if none do. shared : fullest first, as the result is."""
    if most < 1:
        return []
    one = next((switch for switch in shared if switch.free >= count), None)
    two = _closest_pair(shared, count) if most > 1 else None
    if two is not None and (one is None or two[0].free + two[1].free <= one.free):
        return list(two)
    return [] if one is None else [one]


def _closest_pair(shared: Sequence[Switch], count: int) -> tuple[Switch, Switch] | None:
    """From both ends of the list: a sum that is enough lets go of the emptiest switch, another of the fullest."""
    low, high = 0, len(shared) - 1
    best: tuple[Switch, Switch] | None = None
    while low < high:
        free = shared[low].free + shared[high].free
        if free < count:
            low += 1
            continue
        if best is None or free <= best[0].free + best[1].free:
            best = shared[low], shared[high]
        high -= 1
    return best


def capacity(shared: Sequence[Switch], most: int) -> int:
    """Usable nodes of the `most` emptiest switches."""
    return sum(switch.free for switch in emptiest_first(shared)[:max(most, 0)])


def _lack(at: dict[SwitchState, list[Switch]], most: int, count: int) -> str:
    """What is missing for a job that spans, "" if nothing is."""
    idle = sum(switch.free for switch in at[SwitchState.IDLE])
    shared = capacity(at[SwitchState.SHARED], most)
    if count <= idle + shared:
        return ""
    return (f"idle switches have {idle} usable nodes and the best {most} healthy shared ones (shared-tor-num) "
            f"{shared}, {count} needed (lack {count - idle - shared}); {_not_idle(at)}")


def _not_idle(at: dict[SwitchState, list[Switch]]) -> str:
    """The switches that are not idle and have usable nodes. There are some, since all nodes together would do."""
    parts = [f"switch {switch.tor} ({kind}, {words.nodes(switch.free)})"
             for kind in (SwitchState.SHARED, SwitchState.UNHEALTHY, SwitchState.EXCLUSIVE) for switch in at[kind]]
    return f"not idle: {words.listed(parts)}"


def _without_large(view: View, shared: Iterable[Switch]) -> list[Switch]:
    return [switch for switch in shared if not view.usage.large_spans(switch.tor)]
