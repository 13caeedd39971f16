"""Random graphs become operations that all end, whose `deps` are their edges, and that keep the graph's order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from lower_cases import Node, coll, comp, execute, fixed, graph, lowered, meta, recv, send

from distsim.workload import collectives
from distsim.workload.graph import COLL, Graph
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import LOCAL_IN, ROLE_END, ROLE_SYNC, ROLE_TRANSFER, Workload

TIMES = (3, 400, 1000)


@st.composite
def programs(draw: st.DrawFn) -> Graph:
    """A graph that some order of the whole program can run: steps are dealt to the ranks in one global order, and a
    node waits for some of the nodes that its rank was dealt before, always for the one before it. Receives from any
    rank stand where one rank sends, since a match is made before the run (lower/matching.py)."""
    ranks = draw(st.integers(1, 6))
    groups = draw(st.lists(st.permutations(range(ranks)).flatmap(
        lambda order: st.integers(1, ranks).map(lambda size: order[:size])), min_size=1, max_size=3))
    mine: list[list[Node]] = [[] for _ in range(ranks)]
    issued = [0] * ranks
    sender: dict[tuple[int, int], int] = {}
    for kind in draw(st.lists(st.integers(0, 4), max_size=12)):
        if kind == 0:
            rank = draw(st.integers(0, ranks - 1))
            mine[rank].append(draw(st.sampled_from([comp(rank, 5), fixed(rank, 7), meta(rank)])))
        elif kind == 1 and ranks > 1:
            src, dst = draw(st.permutations(range(ranks)))[:2]
            tag, size = draw(st.integers(0, 1)), draw(st.integers(0, 9000))
            alone = sender.setdefault((dst, tag), src) == src
            mine[src].append(send(src, dst, size, tag if alone else tag + 2))
            mine[dst].append(recv(dst, -1 if alone and draw(st.booleans()) else src, size, tag if alone else tag + 2))
        else:
            number = draw(st.integers(0, len(groups) - 1))
            which, size = draw(st.integers(0, 9)), draw(st.integers(0, 5000))
            for rank in groups[number]:
                mine[rank].append(coll(rank, which, size, number, issue=issued[rank]))
                issued[rank] += 1
    nodes = [node for part in mine for node in part]
    deps, first = [], 0
    for part in mine:
        for place in range(1, len(part)):
            extra = draw(st.lists(st.integers(0, place - 1), max_size=2))
            deps += [(first + place, first + on) for on in {place - 1, *extra}]
        first += len(part)
    return graph(ranks, nodes, deps, groups)


@st.composite
def networks(draw: st.DrawFn, ranks: int) -> ScaleUp | None:
    if draw(st.booleans()):
        return None
    group = np.array([draw(st.integers(-1, 1)) for _ in range(ranks)])
    subgroup = np.array([draw(st.integers(0, 1)) for _ in range(ranks)])
    return ScaleUp(group, subgroup, (0, 1), (10**11, 10**12), (0, 100), (25, 0))


def ends(workload: Workload) -> dict[int, int]:
    """Place in the execution of the end of each node: its last operation that is no transfer."""
    place = np.empty(len(workload.ops), "i8")
    place[execute(workload)] = np.arange(len(workload.ops))
    labels, found = workload.labels, {}
    for row in np.flatnonzero((labels["role"] != ROLE_TRANSFER) & (labels["role"] != ROLE_SYNC)
                              & (workload.ops["kind"] != LOCAL_IN) & (labels["node"] >= 0)).tolist():
        node = int(labels["node"][row])
        found[node] = max(found.get(node, -1), int(place[row]))
    return found


@settings(max_examples=80, deadline=None)
@given(st.data(), programs())
def test_everything_ends_in_order(data: st.DataObject, case: Graph) -> None:
    synchronization, serialization = data.draw(st.booleans()), data.draw(st.booleans())
    scale_up = data.draw(networks(case.ranks))
    placement = data.draw(st.permutations(range(case.ranks + 2)))[:case.ranks]
    options = collectives.Options(channels=data.draw(st.integers(1, 2)),
                                  chunk_bytes=data.draw(st.sampled_from([0, 700])))
    made = lowered(case, placement, case.ranks + 2, synchronization=synchronization, serialization=serialization,
                   scale_up=scale_up, options=options)
    assert not any("never end" in line for line in made.warnings)
    order = execute(made)
    assert sorted(order) == list(range(len(made.ops)))
    when = ends(made)
    assert all(when[int(dep["on"])] < when[int(dep["node"])] for dep in case.deps)
    check_sizes(made, case)
    numbers = made.ops["user_id"][np.isin(made.ops["kind"], (0, 4)) & (made.ops["dst"] >= 0)]
    assert sorted(numbers.tolist()) == list(range(1, len(numbers) + 1))


def check_sizes(made: Workload, case: Graph) -> None:
    """Every collective moves what its algorithm says, and ends once at each member."""
    for index, row in enumerate(made.instances):
        name = collectives.ALGORITHMS[row["algorithm"]]
        mine = (made.labels["instance"] == index) & (made.labels["role"] == ROLE_TRANSFER)
        mine &= made.ops["kind"] != LOCAL_IN
        assert made.ops["size_bytes"][mine].sum() == collectives.wire_bytes(
            row["collective"], name, row["group_size"], row["size_bytes"], 0, made.settings.options)
        assert (made.labels["role"][made.labels["instance"] == index] == ROLE_END).sum() == row["group_size"]
    assert (case.nodes["kind"] == COLL).sum() == made.instances["group_size"].sum()


@settings(max_examples=15, deadline=None)
@given(programs())
def test_lowering_is_repeatable_and_leaves_the_graph_alone(case: Graph) -> None:
    nodes, deps = case.nodes.copy(), case.deps.copy()
    first, second = lowered(case, synchronization=True), lowered(case, synchronization=True)
    assert (first.ops == second.ops).all() and (first.edges == second.edges).all()
    assert (first.labels == second.labels).all() and (case.nodes == nodes).all() and (case.deps == deps).all()
