"""Clusters with HyperNodes for the tests of policy hypernode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sched_cases import cluster, job, node, request

from distsim.cluster.types import HyperNodeInfo
from distsim.scheduler.policies import policy
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, Placement, Refusal, Task

HYPERNODE = policy("hypernode")
Members = Mapping[str, Sequence[str]]


def hyper_state(racks: Members, *above: Members, names: Sequence[str] = (), busy: Iterable[str] = (),
                chips: int = 8) -> State:
    """A cluster of HyperNodes. racks : tier 1 and its nodes. above : the members of tier 2, of tier 3 ... names : of
    the tiers."""
    nodes = [node(name, chips, rack=rack) for rack, members in racks.items() for name in members]
    parents = {member: name for tier in above for name, members in tier.items() for member in members}
    found: dict[str, HyperNodeInfo] = {}
    below: dict[str, list[str]] = {}
    for tier, groups in enumerate((racks, *above), 1):
        for name, members in groups.items():
            below[name] = list(members) if tier == 1 else [one for member in members for one in below[member]]
            found[name] = HyperNodeInfo(tier, names[tier - 1] if names else "", parents.get(name, ""),
                                        tuple(below[name]))
    return state_of(replace(cluster(nodes), hyper_nodes=found), busy=busy)


def eight(busy: Iterable[str] = (), names: Sequence[str] = ()) -> State:
    """The tree of volcano's design: s0-s3 of two nodes each (n0-n7), s4 = s0 s1, s5 = s2 s3, s6 = s4 s5."""
    racks = {f"s{at}": [f"n{2 * at}", f"n{2 * at + 1}"] for at in range(4)}
    return hyper_state(racks, {"s4": ["s0", "s1"], "s5": ["s2", "s3"]}, {"s6": ["s4", "s5"]}, names=names, busy=busy)


def wanted(pods: int, topology: dict[str, Any] | None = None, chips: int = 8, least: int | None = None) -> Job:
    """A job with this networkTopology."""
    one = job(pods, chips, min_available=least)
    one.network_topology = topology
    return one


def hard(tier: int, **more: Any) -> dict[str, Any]:
    """networkTopology with a highest tier."""
    return {"mode": "hard", "highestTierAllowed": tier, **more}


def soft(**more: Any) -> dict[str, Any]:
    """networkTopology without one."""
    return {"mode": "soft", **more}


def parts(total: int, size: int, topology: dict[str, Any] | None = None, least: int = 0, role: str = "worker",
          ) -> dict[str, Any]:
    """partitionPolicy of a task."""
    policy_ = {"totalPartitions": total, "partitionSize": size, "minPartitions": least}
    return {role: policy_ | ({"networkTopology": topology} if topology else {})}


def placed(state: State, one: Job, tasks: Sequence[Task] | None = None) -> Placement:
    """The placement; AssertionError for a refusal."""
    found = HYPERNODE.place(request(state, one, tasks))
    assert isinstance(found, Placement), found
    return found


def nodes_of(state: State, one: Job, tasks: Sequence[Task] | None = None) -> str:
    """Names of the nodes in rank order."""
    return " ".join(placed(state, one, tasks).nodes)


def refused(state: State, one: Job, tasks: Sequence[Task] | None = None) -> Refusal:
    """The refusal; AssertionError for a placement."""
    found = HYPERNODE.place(request(state, one, tasks))
    assert isinstance(found, Refusal), found
    return found
