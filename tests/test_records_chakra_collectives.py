"""The chakra records of collectives: their start, end, whether they count, and percentiles."""

import numpy as np
from chakra_record_cases import US, op, record, workload

from distsim.records.chakra.collectives import statistics_us
from distsim.records.chakra.identity import TYPES
from distsim.workload.graph import BARRIER, BROADCAST, COLL, Group
from distsim.workload.types import (
    JOIN,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SENT,
    ROLE_BEGIN,
    ROLE_END,
    ROLE_TRANSFER,
    SEND,
)


def test_a_collective_starts_with_its_latest_or_its_earliest_rank(tmp_path):
    row = record(tmp_path, "chakra-comm-collective-stats")[0]
    assert row[1:] == ["AllReduce", "4000", "tp", "2", "1009.0", "1014.0", "1", "1"]
    row = record(tmp_path, "chakra-comm-collective-stats", use_max_start=False)[0]
    assert row[1:] == ["AllReduce", "4000", "tp", "2", "1008.0", "1014.0", "0", "1"]


def test_a_collective_that_the_stop_cut_short(tmp_path):
    assert record(tmp_path, "chakra-comm-collective-stats", until=9.5)[0][5:] == ["1009.0", "", "1", "0"]
    assert record(tmp_path, "chakra-comm-collective-stats", until=12.5)[0][5:] == ["1009.0", "1012.0", "1", "1"]
    assert record(tmp_path, "chakra-comm-collective-percentiles-stats", until=12.5) == []   # rank 1 had not finished
    assert record(tmp_path, "chakra-comm-collective-stats", until=5) == []                  # nobody had entered


def test_percentiles_and_their_ratio_to_the_ideal_time(tmp_path):
    # 5 us; ideal at the slowest NIC, 8 Gb/s: 2 x 4000 x 8 x 1 / (2 x 8e9) = 4 us
    assert record(tmp_path, "chakra-comm-collective-percentiles-stats") == [
        ["AllReduce", "ring", "4000", "2", "1", *["5.0"] * 5, *["1.25"] * 5]]


def test_percentiles_are_nearest_rank():
    times = np.array([7, 1, 3, 9, 5]) * US
    assert statistics_us(times) == [5.0, 5.0, 9.0, 9.0, 9.0]
    assert statistics_us(times[:4]) == [5.0, 3.0, 9.0, 9.0, 9.0]              # the 2nd of 4, not between two
    assert statistics_us(np.arange(1, 1001) * US) == [500.5, 500.0, 990.0, 999.0, 1000.0]
    assert statistics_us(np.arange(1, 2003) * US) == [1001.5, 1001.0, 1982.0, 2000.0, 2002.0]


def several(tmp_path, **changes):
    """Three Broadcasts from rank 0 to rank 1, of 100, 100 and 200 B, and a Barrier of rank 2 alone."""
    nodes, ops, edges = [], [], []
    # start of the send, entry of the receiver, acknowledgement; the receiver leaves half a us before that
    for instance, (start, entry, ack) in enumerate(((0, 2, 4), (5, 5, 11), (12, 13, 20))):
        size, first, end = 100 if instance < 2 else 200, len(ops), ack - 0.5
        for rank in (0, 1):
            nodes.append({"rank": rank, "kind": COLL, "id": instance, "size_bytes": size, "peer": -1, "group": 0,
                          "collective": BROADCAST})
        own = {"instance": instance, "node": 2 * instance}
        other = {"instance": instance, "node": 2 * instance + 1}
        ops += [op(JOIN, ROLE_BEGIN, 0, start=start, done=start, **own),
                op(JOIN, ROLE_BEGIN, 1, start=entry, done=entry, **other),
                op(SEND, ROLE_TRANSFER, 0, 1, size=size, start=start, sent=end - 1, done=ack, **own),
                op(JOIN, ROLE_END, 0, start=end - 1, done=end - 1, **own),
                op(JOIN, ROLE_END, 1, start=end, done=end, **other)]
        edges += [(first, first + 2, ON_FIRE), (first + 2, first + 3, ON_SENT), (first + 2, first + 4, ON_RECV_DONE)]
    nodes.append({"rank": 2, "kind": COLL, "id": 3, "peer": -1, "group": 1, "collective": BARRIER})
    ops += [op(JOIN, role, 2, node=6, instance=3, start=at, done=at) for role, at in ((ROLE_BEGIN, 1), (ROLE_END, 3))]
    instances = [{"collective": BROADCAST, "group_size": 2, "size_bytes": size, "order": order, "algorithm": 1}
                 for order, size in enumerate((100, 100, 200))]
    instances.append({"collective": BARRIER, "group": 1, "group_size": 1, "algorithm": 0})
    made = workload(nodes=nodes, deps=[], ops=ops, edges=edges, instances=instances)
    made.graph.groups.append(Group("alone", np.array([2])))
    return {"made": made, "ops": ops, "ideal_time_ps": lambda *what: {100: 2 * US, 200: 4 * US}[what[3]], **changes}


def test_a_rank_that_only_receives_starts_when_it_enters(tmp_path):
    rows = record(tmp_path, "chakra-comm-collective-stats", **several(tmp_path))
    assert [row[1:7] for row in rows] == [
        ["Barrier", "0", "alone", "1", "1001.0", "1003.0"], ["Broadcast", "100", "tp", "2", "1002.0", "1004.0"],
        ["Broadcast", "100", "tp", "2", "1005.0", "1011.0"], ["Broadcast", "200", "tp", "2", "1013.0", "1020.0"]]
    assert len({row[0] for row in rows}) == 4
    rows = record(tmp_path, "chakra-comm-collective-stats", **several(tmp_path, use_max_start=False))
    assert [row[5] for row in rows] == ["1000.0", "1001.0", "1005.0", "1012.0"]


def test_percentiles_of_each_type_and_size(tmp_path):
    rows = record(tmp_path, "chakra-comm-collective-percentiles-stats", **several(tmp_path))
    assert rows == [
        ["Broadcast", "ring", "100", "2", "2", "4.0", "2.0", "6.0", "6.0", "6.0", "2.0", "1.0", "3.0", "3.0", "3.0"],
        ["Broadcast", "ring", "200", "2", "1", *["7.0"] * 5, *["1.75"] * 5],
        ["Barrier", "tree", "0", "1", "1", *["2.0"] * 5, *["NA"] * 5]]


def test_barriers_have_no_ideal_time(tmp_path):
    made = workload()
    made.instances["collective"], made.instances["size_bytes"] = 9, 0
    row = record(tmp_path, "chakra-comm-collective-percentiles-stats", made=made)[0]
    assert row[:3] == ["Barrier", "ring", "0"] and row[5] == "5.0" and row[10:] == ["NA"] * 5


def test_names_of_types():
    assert TYPES == ("AllReduce", "Reduce", "AllGather", "Gather", "Scatter", "Broadcast", "AllToAll", "ReduceScatter",
                     "ReduceScatterBlock", "Barrier")
