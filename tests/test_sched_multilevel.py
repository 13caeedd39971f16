"""Policy multilevel: the examples of cluster.md section 3, and one for each rule there that has none."""

from __future__ import annotations

import pytest
from sched_cases import CHIP, cluster, job, node, request, run_on
from sched_levels import (
    MULTILEVEL,
    RACK,
    SPINE,
    TREE,
    break_node,
    groups,
    levels,
    numbered,
    placed,
    rack,
    refused,
    two_spines,
    wanted,
)

from distsim.scheduler.chips.whole import rule
from distsim.scheduler.policies import policy_name
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import (
    INVALID_ARGUMENT,
    INVALID_REQUEST,
    NOT_SUPPORT_POLICY,
    ORDER_FAILED,
    PREDICATE_FAILED,
    VALIDATE_FAILED,
    Placement,
)

LEFT_OF_EACH = ["a0", "a4", "a5", "b0", "b1", "b4", "b5"]               # 3 free in r0, 2 in each other rack


@pytest.mark.parametrize(("busy", "reserve", "pods", "sizes", "expected"), [
    ([], 0, 8, (2, 4), "a0a1 a2a3 a4a5 a6a7"),
    ([], 1, 8, (2, 4), "a1a2 a5a6 b1b2 b5b6"),
    (["a0"], 0, 4, (2, 4), "a4a5 a6a7"),
    (LEFT_OF_EACH, 0, 4, (2, 4), "b2b3 b6b7"),
    ([], 1, 4, (4,), "a0a1a2a3"),
])
def test_examples(busy: list[str], reserve: int, pods: int, sizes: tuple[int, ...], expected: str) -> None:
    assert groups(two_spines(busy, reserve), wanted(pods, *sizes)) == expected


def test_the_example_that_fails_says_what_there_is() -> None:
    busy = [*numbered("a", 0, 1, 2, 4, 5, 6), *numbered("b", 0, 1, 2, 4, 5, 6)]
    found = refused(two_spines(busy), wanted(4, 2))
    assert found.condition == ORDER_FAILED and not found.final
    assert found.message == (
        "multilevel finds no nodes for 4 pods of job job (level1=2): tree default has 4 usable nodes, reserved ones "
        "included, which make groups of level1=2: 0 of 2; the most in one domain of level1 are 1, in r0")
    assert found.nodes == {"0 of 8 chips free, multilevel needs exactly 8": tuple(busy)}


def test_ranks_and_chips() -> None:
    found = placed(two_spines(["a0"]), wanted(4, 2, 4))
    assert isinstance(found, Placement)
    assert found.nodes == ("a4", "a5", "a6", "a7") and found.chips == (0xFF,) * 4 and found.moves == ()
    # r0: 3 nodes, 1 left over. Spine A: 3 groups of 2, one of them left over: 2 + 10 * 1 = 12. The tree: 10 * 12.
    assert found.notes == {"fragment": 120, "tree": "default", "groups": [["a4", "a5"], ["a6", "a7"]], "reserved": []}


def test_fragment_score_of_reserved_nodes() -> None:
    found = placed(two_spines(reserve=1), wanted(8, 2, 4))
    assert isinstance(found, Placement)
    # Each rack has 3 nodes to give: 1 left over. A spine: 10 * (1 + 1). The tree: 10 * (20 + 20).
    assert found.notes["fragment"] == 400


def racks_only(reserve: int = 0, **racks: int) -> State:
    """A tree of racks; x=2 is rack x with the nodes x0, x1."""
    nodes = [one for name, count in racks.items() for one in rack(name, "A", numbered(name, *range(count)))]
    return state_of(cluster(nodes), SchedulerSettings(levels={"default": ((RACK, reserve),)}))


@pytest.mark.parametrize(("racks", "pods", "expected"), [
    # Capacities in groups of 2 and fragments: x 1 and 0, y 1 and 1, z 2 and 0, w 4 and 0.
    ({"w": 8, "x": 2, "y": 3, "z": 4}, 2, "x0x1"),
    # After x one group is needed: z holds two and is passed over, y holds one.
    ({"w": 8, "x": 2, "y": 3, "z": 4}, 4, "x0x1 y0y1"),
    # Only larger ones: the smallest.
    ({"w": 8, "z": 4}, 2, "z0z1"),
    ({"w": 8, "v": 4, "z": 4}, 2, "v0v1"),
    # z, without a fragment, before y, and then the larger w.
    ({"w": 8, "y": 3, "z": 4}, 8, "z0z1 z2z3 y0y1 w0w1"),
])
def test_order_of_siblings(racks: dict[str, int], pods: int, expected: str) -> None:
    assert groups(racks_only(**racks), wanted(pods, 2)) == expected


def test_nodes_of_a_group_are_in_order_of_their_names() -> None:
    nodes = rack("r0", "A", ["n2", "n10", "n1"])
    assert groups(state_of(cluster(nodes), levels()), wanted(2, 2)) == "n1n10"


def test_level1_alone_is_tried_first_as_if_level2_were_the_job() -> None:
    pair_in_each = ["a2", "a3", "a4", "a5", "a6", "a7", "b2", "b3", "b6", "b7"]
    # Racks r0, r2 and r3 hold a group each; r0 and r2 come first by name, but only r2 and r3 are below one spine.
    assert groups(two_spines(pair_in_each), wanted(4, 2)) == "b0b1 b4b5"
    assert groups(two_spines([*pair_in_each, "b4"]), wanted(4, 2)) == "a0a1 b0b1"


def test_upper_levels_of_a_tree_collapse() -> None:
    pods = {"p0": ("s0", "k0"), "p1": ("s1", "k1")}
    nodes = [node(f"{name}-{number}", labels={RACK: name, SPINE: spine, "net/core": core})
             for name, (spine, core) in pods.items() for number in range(4)]
    settings = SchedulerSettings(levels={"default": ((RACK, 0), (SPINE, 0), ("net/core", 0))})
    state = state_of(cluster(nodes), settings)
    assert groups(state, wanted(8, 2, 4)) == "p0-0p0-1 p0-2p0-3 p1-0p1-1 p1-2p1-3"
    assert refused(state, wanted(8, 2, 4, 8)).message.endswith(
        "which make groups of level1=2: 4 of 4, level2=4: 2 of 2, level3=8: 0 of 1; the most in one domain of level1 "
        "are 4, in p0")


def two_trees(default: int, other: int, reserve: int = 0) -> State:
    """One rack of so many nodes in tree default (d0, d1 ...) and in tree other (o0, o1, ...), which has no spines."""
    nodes = [*rack("d", "A", numbered("d", *range(default))), *rack("o", "B", numbered("o", *range(other)), "other")]
    return state_of(cluster(nodes), levels(reserve, other=((RACK, 0),)))


def test_the_tree_with_the_lowest_fragment_score() -> None:
    assert groups(two_trees(5, 4), wanted(2, 2)) == "d0d1"               # tried as level2=2: tree other has no level 2
    assert groups(two_trees(1, 4), wanted(2, 2)) == "o0o1"
    nodes = [*rack("d", "A", numbered("d", 0, 1, 2)), *rack("o", "B", numbered("o", 0, 1), "other")]
    state = state_of(cluster(nodes), levels(other=((RACK, 0), (SPINE, 0))))
    assert groups(state, wanted(2, 2)) == "o0o1"                         # 0 against 100 for the node left over in d


def test_a_job_never_spans_trees() -> None:
    assert refused(two_trees(2, 2), wanted(4, 2)).message.endswith(
        "tree default has 2 usable nodes, reserved ones included, which make groups of level1=2: 1 of 2; the most in "
        "one domain of level1 are 2, in d; tree other has 2 usable nodes, reserved ones included, which make groups of "
        "level1=2: 1 of 2; the most in one domain of level1 are 2, in o")


def test_trees_with_fewer_levels_are_passed_over() -> None:
    assert "tree other has 1 of the job's 2 levels" in refused(two_trees(2, 8), wanted(8, 2, 4)).message


def test_reserved_nodes_are_lent_one_by_one_to_complete_groups() -> None:
    state = racks_only(reserve=2, x=4)
    found = placed(state, wanted(3, 3))
    assert isinstance(found, Placement)
    assert found.nodes == ("x1", "x2", "x3") and found.notes["reserved"] == ["x1"]        # x0 stays reserved
    assert groups(state, wanted(4, 4)) == "x0x1x2x3"
    # 5 of 7 nodes may be used: two groups of 2 without a reserved one, the third with the one that is lent.
    assert groups(racks_only(reserve=2, x=7), wanted(4, 2)) == "x2x3 x4x5"
    assert groups(racks_only(reserve=2, x=7), wanted(6, 2)) == "x1x2 x3x4 x5x6"


def test_a_rack_with_no_more_than_its_reserve_gives_nothing_at_first() -> None:
    state = racks_only(reserve=2, x=2, y=4)
    assert groups(state, wanted(2, 2)) == "y2y3"
    assert groups(state, wanted(4, 2)) == "x0x1 y2y3"                    # the third pass lends both reserved nodes of x


def test_a_tree_without_need_of_its_reserve_comes_first() -> None:
    # Rack d needs its reserved node for 4; the node left over gives tree other the worse score.
    nodes = [*rack("d", "A", numbered("d", 0, 1, 2, 3)), *rack("o", "B", numbered("o", 0, 1, 2, 3, 4), "other")]
    state = state_of(cluster(nodes), levels(1, other=((RACK, 0), (SPINE, 0))))
    assert groups(state, wanted(4, 4)) == "o0o1o2o3"


def test_unsound_nodes_of_a_rack_come_last() -> None:
    state = racks_only(x=4)
    state.nodes["x0"].bad_score, state.nodes["x2"].sub_healthy = 64, True
    assert groups(state, wanted(2, 2)) == "x1x3"
    assert groups(state, wanted(3, 3)) == "x1x2x3"


def test_nodes_outside_the_trees_are_named() -> None:
    nodes = [*rack("d", "A", ["n0", "n1"]), node("n2", labels={RACK: "d"}), node("n3", labels={SPINE: "A"}),
             node("n4", labels={RACK: "d", SPINE: "A", TREE: "west"}), *rack("d", "A", ["n5"], chips=16),
             *rack("d", "A", ["n6"])]
    state = state_of(cluster(nodes), levels(), ["n6"])
    state.nodes["n1"].used = 1
    found = refused(state, wanted(2, 2))
    assert found.condition == PREDICATE_FAILED
    assert found.message == ("multilevel finds no nodes for 2 pods of job job (level1=2): 1 of 2 nodes needed can be "
                             "used")
    assert found.nodes == {
        "7 of 8 chips free, multilevel needs exactly 8": ("n1",),
        "0 of 8 chips free, multilevel needs exactly 8": ("n6",),
        "16 of 16 chips free, multilevel needs exactly 8": ("n5",),
        f"no label {SPINE} (level2 of tree default)": ("n2",),
        f"no label {RACK} (level1 of tree default)": ("n3",),
        f"tree 'west' (label {TREE}) is not in resource-level-config": ("n4",)}


def test_chips_without_a_network_do_not_count_for_several_pods() -> None:
    state = racks_only(x=3)
    state.nodes["x0"].cut = 1
    assert groups(state, wanted(2, 2)) == "x1x2"
    assert groups(state, wanted(1, 1)) == "x0"
    break_node(state, "x0")
    assert groups(state, wanted(1, 1)) == "x1"


@pytest.mark.parametrize(("pods", "sizes", "message"), [
    (8, (2, 4), None),
    (6, (2, 4), "job job: huawei.com/affinity-config: the job's 6 pods are not a multiple of level2=4"),
    (12, (3, 4), "job job: huawei.com/affinity-config: level2=4 is not a multiple of level1=3"),
    (9, (2,), "job job: huawei.com/affinity-config: the job's 9 pods are not a multiple of level1=2"),
    (8, (0,), "job job: huawei.com/affinity-config: level1=0 is out of range; valid: 1 or more"),
    (8, (2, -4), "job job: huawei.com/affinity-config: level2=-4 is out of range; valid: 1 or more"),
    (8, (), "job job: annotation huawei.com/affinity-config is missing; policy multilevel needs it, e.g. "
            "level1=2,level2=4"),
    (8, (2, 4, 8), "job job: huawei.com/affinity-config has 3 levels, but no tree of resource-level-config has more "
                   "than 2 (levels by tree: default: 2)"),
])
def test_validity(pods: int, sizes: tuple[int, ...], message: str | None) -> None:
    found = MULTILEVEL.validate(wanted(pods, *sizes), two_spines())
    if message is None:
        assert found is None
        return
    assert found is not None and found.message == message
    assert (found.condition, found.reason, found.final) == (VALIDATE_FAILED, INVALID_ARGUMENT, True)


def test_a_cluster_without_resource_level_config() -> None:
    state = state_of(cluster([node("n0")]))
    found = MULTILEVEL.validate(wanted(1, 1), state)
    assert found is not None and found.reason == NOT_SUPPORT_POLICY
    assert found.message == ("job job: the scheduler has no resource-level-config; policy multilevel needs one, which "
                             "names the node label of each level")
    assert MULTILEVEL.place(request(state, wanted(1, 1))) == found


def test_a_policy_that_is_forced_on_a_job_without_levels() -> None:
    state = two_spines(settings=SchedulerSettings(levels=levels().levels, policy="multilevel"))
    one = job(2)
    assert policy_name(one, state) == "multilevel"
    found = MULTILEVEL.validate(one, state)
    assert found is not None and found.message.startswith("job job: annotation huawei.com/affinity-config is missing")
    assert policy_name(wanted(2, 2), two_spines()) == "multilevel"


def test_pods_that_are_no_whole_nodes() -> None:
    none = wanted(2, 2)
    none.tasks[1].chips = 0
    found = rule("multilevel").validate(none)
    assert found is not None and (found.condition, found.reason) == (VALIDATE_FAILED, INVALID_REQUEST)
    assert found.message == ("job job (schedule_policy multilevel): pod job-worker-1 asks for no chips; each pod needs "
                             "those of a whole node")
    none.tasks[1].role = "Scheduler"                                    # of MindSpore
    assert rule("multilevel").validate(none) is None
    mixed = wanted(2, 2)
    mixed.tasks[1].chips, mixed.tasks[1].request = 4, {CHIP: 4}
    found = rule("multilevel").validate(mixed)
    assert found is not None and found.message == (
        "job job (schedule_policy multilevel): pod job-worker-0 asks for 8 chips and pod job-worker-1 for 4; all pods "
        "must ask for the same whole node")


def test_other_jobs_stay_where_they_are() -> None:
    state = two_spines()
    run_on(state, wanted(4, 2, 4, name="first"), ["a0", "a1", "a2", "a3"])
    assert groups(state, wanted(4, 4, name="second")) == "a4a5a6a7"
