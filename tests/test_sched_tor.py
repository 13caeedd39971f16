"""The classes of tor-affinity, what makes a job impossible, and a cluster file through to a placement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sched_cases import CHIP, cluster, job, node, request, tor_state

from distsim.cluster import load_cluster
from distsim.cluster.tor_node import TorNodes
from distsim.scheduler.policies import policy, policy_name
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import (
    INVALID_ARGUMENT,
    INVALID_REQUEST,
    NOT_SUPPORT_POLICY,
    VALIDATE_FAILED,
    Placement,
    Refusal,
)

LARGE, NORMAL = "large-model-schema", "normal-schema"
POLICY = policy("tor-affinity")


def test_classes() -> None:
    """Three nodes free at each switch, none of slice 0. Large (4 pods and more): pending. Filler (fewer): one switch.
    Normal: what there is. null (None once it is read) or absent: another policy."""
    state = tor_state(busy=[0, 4, 8, 12])

    def ranks_of(label: str, pods: int) -> tuple[str, ...] | None:
        found = POLICY.place(request(state, job(pods, tor_affinity=label)))
        return found.nodes if isinstance(found, Placement) else None

    assert ranks_of(LARGE, 4) is None
    assert ranks_of(LARGE, 3) == ("n13", "n14", "n15")
    assert ranks_of(NORMAL, 4) == ("n1", "n2", "n3", "n5")
    assert [policy_name(job(4, tor_affinity=label), state) for label in (LARGE, NORMAL)] == [POLICY.name] * 2
    assert policy_name(job(4, tor_affinity=None), state) == "binpack"


def flat() -> State:
    """A cluster whose nodes name no switch."""
    return state_of(cluster([node("n0"), node("n1", number=1)]))


@pytest.mark.parametrize("state, settings, pods, reason, message", [
    (tor_state(), {"tor_affinity": "big"}, 4, INVALID_ARGUMENT,
     "label tor-affinity of job job is 'big'; valid values: large-model-schema, normal-schema, null"),
    (flat(), {"tor_affinity": NORMAL}, 2, INVALID_ARGUMENT,
     "tor-affinity of job job needs a basic-tor-node-cm; cluster lab has none: no node names its switch"),
    (tor_state(), {"tor_affinity": NORMAL, "schedule_policy": "chip1-softShareDev"}, 2, NOT_SUPPORT_POLICY,
     "job job asks for parts of chips (chip1-softShareDev); tor-affinity places whole chips"),
    (tor_state(per_tor=2), {"tor_affinity": LARGE}, 3, INVALID_REQUEST,
     "job job has 3 pods and stays at one switch (it is a filler, large-model-schema with fewer than 4 pods); a switch "
     "has 2 nodes"),
])
def test_jobs_that_cannot_be(state: State, settings: dict[str, Any], pods: int, reason: str, message: str) -> None:
    assert POLICY.validate(job(pods, **settings), state) == Refusal(VALIDATE_FAILED, message, reason=reason, final=True)


@pytest.mark.parametrize("label, pods", [(LARGE, 3), (LARGE, 16), (NORMAL, 1), (NORMAL, 16), (None, 5), ("null", 5)])
def test_jobs_that_can_be(label: str | None, pods: int) -> None:
    """Pods need not ask for whole nodes nor be alike, as in mind-cluster."""
    wanted = job(pods, chips=3, tor_affinity=label)
    wanted.tasks[0].chips = 8
    assert POLICY.validate(wanted, tor_state(busy=range(16))) is None


def test_tor_count_says_how_many_nodes_a_switch_has() -> None:
    """tor_count 5 and four nodes at each switch: none is whole, slice 4 is empty, and six pods need two rows."""
    state = tor_state()
    state.cluster = replace(state.cluster, tor_nodes=TorNodes("double_layer", [], 5))
    found = POLICY.place(request(state, job(6, tor_affinity=LARGE)))
    assert isinstance(found, Refusal)
    assert found.message.endswith("2 rows of one node a slice cannot be made: slice 4 has 0 of 1 usable nodes (lacks "
                                  "1)")
    four = POLICY.place(request(state, job(4, tor_affinity=LARGE)))
    assert isinstance(four, Placement) and four.nodes == ("n12", "n13", "n14", "n15")


def server_list() -> list[dict[str, Any]]:
    """Four switches of four servers 10.0.0.(4t+s)."""
    return [{"tor_id": t, "tor_ip": f"10.1.0.{t}", "server": [
        {"server_ip": f"10.0.0.{4 * t + s}", "npu_count": 8, "slice_id": s} for s in range(4)]} for t in range(4)]


def written(tmp_path: Path, level: str | None = None, **first: int) -> str:
    """A basic-tor-node-cm: plain JSON, or the ConfigMap with tor_level. first : further keys of switch 0."""
    switches = server_list()
    switches[0] |= first
    info: Any = {"version": "1.0", "tor_count": 4, "server_list": switches}
    if level is not None:
        info = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "basic-tor-node-cm"},
                "data": {"tor_level": level, "tor_info": json.dumps(info)}}
    path = tmp_path / "tor.json"
    path.write_text(json.dumps(info))
    return str(path)


def ranks(state: State, pods: int, label: str = LARGE) -> list[int] | str:
    """Last numbers of the nodes' addresses by rank, or the refusal."""
    found = POLICY.place(request(state, job(pods, tor_affinity=label)))
    return found.message if isinstance(found, Refusal) else [int(name.rsplit(".", 1)[1]) for name in found.nodes]


def test_a_file_is_placed_on(tmp_path: Path) -> None:
    """The worked examples by way of a file."""
    loaded = load_cluster(written(tmp_path))
    assert loaded.nodes[0].resources == {CHIP: 8}
    for busy, pods, wanted in (([0], 3, [1, 2, 3]), ([0, 1, 2], 6, [4, 5, 6, 7, 8, 9]),
                               ([0, 5, 10, 15], 12, [4, 1, 2, 3, 8, 9, 6, 7, 12, 13, 14, 11])):
        assert ranks(state_of(loaded, None, [f"10.0.0.{number}" for number in busy]), pods) == wanted
    assert "slice 0 has 0 of 2" in ranks(state_of(loaded, None, [f"10.0.0.{4 * tor}" for tor in range(4)]), 8)


def test_tor_level_and_states_of_a_file_reach_the_policy(tmp_path: Path) -> None:
    single = state_of(load_cluster(written(tmp_path, "single_layer")))
    assert POLICY.validate(job(5, tor_affinity=NORMAL), single) is not None
    settings = SchedulerSettings(nslb_version="2.0")
    exclusive = state_of(load_cluster(written(tmp_path, "double_layer", IsSharedTor=2)), settings)
    assert ranks(exclusive, 6) == [4, 5, 6, 7, 8, 9]
    shared = state_of(load_cluster(written(tmp_path, "double_layer", IsSharedTor=1)), settings)
    assert ranks(shared, 6) == [4, 5, 6, 7, 0, 1]
    unhealthy = state_of(load_cluster(written(tmp_path, "double_layer", IsSharedTor=1, IsHealthy=1)), settings)
    assert ranks(unhealthy, 2) == [0, 1]
    assert ranks(unhealthy, 6) == [4, 5, 6, 7, 8, 9]
