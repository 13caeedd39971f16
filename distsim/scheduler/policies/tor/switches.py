"""What a placement is made from, and what it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor import topology
from distsim.scheduler.policies.tor.classes import Kind, kind_of
from distsim.scheduler.policies.tor.usage import Usage, usage_of

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State
    from distsim.scheduler.types import Job


@dataclass(frozen=True)
class Switch:
    """A switch with the nodes that the job may use, by slice."""

    tor: int
    nodes: tuple[NodeState, ...]

    @property
    def free(self) -> int:
        """How many nodes the job may use here."""
        return len(self.nodes)


@dataclass(frozen=True)
class View:
    """What a placement looks at. size : M. switches : those with a node that the job may use, by tor_id."""

    state: State
    job: Job
    kind: Kind
    size: int
    switches: tuple[Switch, ...]

    @cached_property
    def usage(self) -> Usage:
        """Who uses the switches, besides the job itself."""
        return usage_of(self.state, but=self.job)


@dataclass(frozen=True)
class Plan:
    """Where a job goes.

    rows : nodes by rank, row by row. form : how the nodes were found, in two words. states : for version 2.0, what
    the job makes of the switches that it uses (tor_id -> SwitchState), {} if it stays at one.
    """

    rows: Sequence[Sequence[NodeState]]
    form: str
    states: dict[int, str] = field(default_factory=dict)

    @property
    def nodes(self) -> list[NodeState]:
        """The nodes by rank."""
        return [node for row in self.rows for node in row]


def view_of(state: State, job: Job, nodes: Iterable[NodeState]) -> View:
    """The view of a job that may use these nodes; those at no switch are passed over."""
    at: dict[int, list[NodeState]] = {}
    for node in nodes:
        if node.tor >= 0:
            at.setdefault(node.tor, []).append(node)
    switches = tuple(Switch(tor, tuple(by_slice(at[tor]))) for tor in sorted(at))
    return View(state, job, kind_of(job), topology.switch_size(state), switches)


def by_slice(nodes: Iterable[NodeState]) -> list[NodeState]:
    """Nodes in ascending order of slice_id; equal ones (of different switches) by tor_id."""
    return sorted(nodes, key=lambda node: (node.slice, node.tor))


def emptiest_first(switches: Iterable[Switch]) -> list[Switch]:
    """By usable nodes, most first; then by tor_id."""
    return sorted(switches, key=lambda switch: (-switch.free, switch.tor))


def fullest_first(switches: Iterable[Switch]) -> list[Switch]:
    """By usable nodes, fewest first; then by tor_id."""
    return sorted(switches, key=lambda switch: (switch.free, switch.tor))


def tightest(switches: Iterable[Switch], count: int) -> Switch | None:
    """The switch with the fewest usable nodes that has `count`; of equal ones that with the greatest tor_id, since
    mind-cluster goes through the emptiest-first list from its end (util.go, setFillJobServerList)."""
    return min((switch for switch in switches if switch.free >= count),
               key=lambda switch: (switch.free, -switch.tor), default=None)
