"""Packet-hops of a run, worked out by hand, and the limit on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nccl_cases import run, spec

from distsim.config import from_dict
from distsim.errors import InputError
from distsim.fabric import build as build_fabric
from distsim.fabric.routing import build_routes
from distsim.projection import (
    HOPS_A_SECOND,
    Projection,
    Senders,
    check_projection,
    default_limit,
    leaf_hops,
    project,
    spell_seconds,
)
from distsim.workload.base import Context, sends
from distsim.workload.nccl_tests import build
from distsim.workload.types import EDGES, JOIN, Workload


def network(**kind: Any) -> tuple[Any, Any]:
    config = from_dict({"simulation": "x", "fabric": kind, "workload": {"kind": "permutation"}}, [])
    fabric = build_fabric(config.fabric, config.link_rules())
    return fabric, build_routes(fabric)


FOUR = network(kind="leaf-spine", racks=2, nics_per_rack=2)


def senders(hosts: int, every: int = 1, first: int = 1, last: int = 1, mss: int = 4096) -> Senders:
    return Senders(*(np.full(hosts, value, "i8") for value in (mss, every, first, last)))


@pytest.mark.parametrize(("size", "packets"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (10_000, 3)])
def test_a_message_with_an_ack_for_each_packet(size, packets):
    found = senders(2).packets(np.zeros(1, "i8"), np.array([size]))
    assert found.tolist() == [2 * packets + 2]


@pytest.mark.parametrize(("packets", "every", "first", "last", "acks"), [
    (5, 2, 1, 1, 3),        # 1, 3, 5
    (4, 2, 1, 1, 3),        # 1, 3 and the last
    (4, 2, 1, 0, 2),
    (5, 2, 0, 1, 3),        # 2, 4 and the last
    (4, 2, 0, 1, 2),
    (3, 8, 0, 0, 0),
    (3, 8, 1, 1, 2)])
def test_ack_requests(packets, every, first, last, acks):
    found = senders(2, every, first, last).packets(np.zeros(1, "i8"), np.array([packets * 4096]))
    assert found.tolist() == [packets + acks + 2]


def test_hops_of_messages_by_hand():
    fabric, routes = FOUR
    ops = sends(np.array([0, 0, 3]), np.array([1, 2, 0]), 10_000, 0)
    # 8 packets each: 2 links inside a rack, 4 between racks
    assert project(Workload(ops, np.zeros(0, EDGES)), fabric, routes, senders(4)).hops == 8 * (2 + 4 + 4)
    ops["kind"][1] = JOIN
    assert project(Workload(ops, np.zeros(0, EDGES)), fabric, routes, senders(4)).hops == 8 * (2 + 4)
    assert project(Workload(ops[:0], np.zeros(0, EDGES)), fabric, routes, senders(4)).hops == 0


def test_hops_of_a_run_that_was_simulated():
    # launch/windows.py: two senders of 4 MB, in other pods of a fat tree: 25,320 hops with 154 packets sent again
    fabric, routes = network(kind="fat-tree", k=4)
    ops = sends(np.array([8, 12]), np.array([0, 0]), 4_000_000, 0)
    found = project(Workload(ops, np.zeros(0, EDGES)), fabric, routes, senders(16)).hops
    assert found == 2 * (977 + 977 + 2) * 6 == 25_320 - 154 * 2 * 6


def test_links_between_leaves_of_three_tiers():
    fabric, routes = network(kind="fat-tree", k=4)
    hops = leaf_hops(fabric, routes)
    assert hops[0].tolist() == [0, 2, 4, 4, 4, 4, 4, 4] and (hops == hops.T).all()


@pytest.mark.parametrize("command", [
    "all_reduce_perf -b 256K -e 1M -f 2 -n 3 -w 1 -N 2", "all_gather_perf -b 1M -e 1M -n 1",
    "alltoall_perf -b 1M -e 1M -n 2", "broadcast_perf -b 1M -e 1M -n 1 -r 3", "gather_perf -b 1M -e 1M -n 1 -r 2",
    "sendrecv_perf -b 1M -e 1M -n 1", "hypercube_perf -b 1M -e 1M -n 1", "reduce_perf -b 1M -e 1M -n 1 -r all"])
@pytest.mark.parametrize("scale_up", [None, {"gpus_per_server": 2}])
def test_a_sweep_comes_to_the_hops_of_its_phases(command, scale_up):
    fabric, routes = network(kind="leaf-spine", racks=2, nics_per_rack=4)
    section = spec(command, scale_up=scale_up)
    phases, _ = run(section, 8, lambda ran: 10**6)
    exact = 0
    for ran in phases:
        ran.workload.sweep = None
        exact += project(ran.workload, fabric, routes, senders(8)).hops
    whole = project(build(section, Context(8, 1)), fabric, routes, senders(8))
    assert whole.hops == pytest.approx(exact, rel=0.03) and not whole.most


@pytest.mark.parametrize(("words", "most"), [
    ("-n 4", True), ("-n 2 -m 10", True), ("-n 5 -G 2", True),
    ("-n 5", False)])                  # the fifth follows when the third and the fourth are not alike
def test_a_sweep_that_may_stop_says_at_most_unless_iterations_may_follow(words, most):
    fabric, routes = FOUR
    found = project(build(spec(f"all_reduce_perf -b 8 -e 8 {words}", steady=True), Context(4, 1)), fabric, routes,
                    senders(4))
    assert found.most is most and found.text().startswith("projected: at most ") is most


def test_text():
    assert Projection(1_200_000_000).text() == "projected: 1.2e+09 hops, about 5 min"
    assert Projection(1_200_000_000).text(ranks=4) == "projected: 1.2e+09 hops, about 75 s"
    assert [spell_seconds(s) for s in (0.1, 89, 90, 5399, 5400, 129_600, 1e8)] == [
        "1 s", "89 s", "2 min", "90 min", "2 h", "2 days", "1,157 days"]


def test_the_limit():
    day = HOPS_A_SECOND * 86_400
    assert default_limit() == day and default_limit(2) == 2 * day
    check_projection(Projection(day))
    check_projection(Projection(day + 1), yes=True)
    check_projection(Projection(day + 1), ranks=2)
    check_projection(Projection(2 * day), limit_hops=2 * day)
    with pytest.raises(InputError) as caught:
        check_projection(Projection(2 * day))
    assert str(caught.value) == ("workload: projected: 6.9e+11 hops, about 2 days; that is above the limit of 3.5e+11 "
                                 "hops (a day): --yes runs it all the same, --max-hops sets another limit")
    with pytest.raises(InputError, match=r"limit of 1e\+03 hops \(--max-hops\)"):
        check_projection(Projection(1001), limit_hops=1000)
