"""New nodes for the pods that lost theirs while the others of their job run on: version 2.0.

Source: nslbv2.go, setServerListForPartialPods, and the page on node-based affinity: first exclusive switches that the
job uses, then shared ones that it uses, then switches that are new to it. A job at one switch stays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor import words
from distsim.scheduler.policies.tor.reschedule import matched
from distsim.scheduler.policies.tor.states import NOTE, SwitchState, switch_states
from distsim.scheduler.policies.tor.switches import Plan, Switch, View, fullest_first
from distsim.scheduler.policies.tor.usage import reach
from distsim.scheduler.policies.tor.version2 import Parts, by_state, capacity, remainder

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState
    from distsim.scheduler.types import Task

_FIRST = (SwitchState.EXCLUSIVE, SwitchState.SHARED, SwitchState.UNHEALTHY, SwitchState.IDLE)


def replacements(view: View, lost: Sequence[Task], kept: Sequence[NodeState]) -> Plan | str:
    """A node for each lost pod, in their order, or why not. kept : nodes of the pods that run."""
    states = switch_states(view.state)
    spans = len(reach(view.job, view.state)) > 1
    own = _own_states(view, kept, states) if spans else {node.tor: SwitchState.IDLE for node in kept}
    parts = Parts(len(lost))
    for switch in sorted((switch for switch in view.switches if switch.tor in own),
                         key=lambda switch: (_FIRST.index(own[switch.tor]), switch.tor)):
        parts.take(switch, own[switch.tor], parts.left)
    if parts.left:
        others = [switch for switch in view.switches if switch.tor not in own]
        lack = _elsewhere(view, parts, others, own, states) if spans else (
            f"a job at one switch stays there: switch {kept[0].tor} has {len(lost) - parts.left} "
            f"of {words.nodes(len(lost))} needed (lacks {parts.left})")
        if lack:
            return lack
    nodes = [node for row in parts.rows for node in row]
    return Plan([matched(lost, nodes, view.state)], "own switches first", {**parts.states, **own} if spans else {})


def _own_states(view: View, kept: Sequence[NodeState], states: dict[int, SwitchState]) -> dict[int, SwitchState]:
    """What the job has made of the switches that it still uses: by its notes, else by what they are."""
    said = view.job.notes.get(NOTE, states)
    return {node.tor: SwitchState(said.get(node.tor, SwitchState.IDLE)) for node in kept}


def _elsewhere(view: View, parts: Parts, others: Sequence[Switch], own: dict[int, SwitchState],
               states: dict[int, SwitchState]) -> str:
    """Take the rest at switches that are new to the job; why not, or "".

    Idle ones are filled, fullest first; then come as many shared ones as shared-tor-num still allows the job, else the
    next idle one, which becomes shared if it may have one more, else exclusive."""
    most = view.state.settings.shared_tor_num
    more = max(0, most - sum(kind in (SwitchState.SHARED, SwitchState.UNHEALTHY) for kind in own.values()))
    at = by_state(others, states)
    idle, shared = fullest_first(at[SwitchState.IDLE]), fullest_first(at[SwitchState.SHARED])
    free = sum(switch.free for switch in idle)
    lack = parts.left - free - capacity(shared, more)
    if lack > 0:
        return (f"{words.nodes(parts.left)} more needed than the job's switches have; other idle switches have {free} "
                f"and the best {more} shared ones that the job may still use (shared-tor-num {most}) "
                f"{capacity(shared, more)} (lack {lack})")
    nearly = parts.fill(idle, SwitchState.EXCLUSIVE)
    remainder(parts, shared, more, nearly, SwitchState.SHARED if more else SwitchState.EXCLUSIVE)
    return ""
