"""A small run of ranks by hand, for the tests of the chakra records. Times in us after the start, which is at 1 ms.

Three ranks on hosts 2, 0 and 1; rank 2 does nothing. Rank 0 computes (5 us) and sends 1,000 B to rank 1; then both do
an AllReduce of 4,000 B by ring, two steps of 2,000 B, after a barrier of one empty transfer each way.
"""

import dataclasses

import numpy as np

from distsim.records.chakra.run import ChakraRun
from distsim.records.chakra.write import write_chakra_records
from distsim.state.tables import OPLOG, PERF
from distsim.workload.graph import ALL_REDUCE, COLL, COMP, DEPS, FIXED, NODES, RECV, Graph, Group
from distsim.workload.graph import SEND as SEND_NODE
from distsim.workload.types import (
    COMPUTE,
    DELAY,
    EDGES,
    INSTANCES,
    JOIN,
    LABELS,
    LOG_MESSAGE,
    LOG_OP,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SENT,
    OPS,
    ROLE_BEGIN,
    ROLE_END,
    ROLE_NODE,
    ROLE_SYNC,
    ROLE_TRANSFER,
    SEND,
    Workload,
)

US = 10**6
START_PS = 1000 * US
AT = 1768331979.9  # 2026-01-13T19:19:39Z


def table(dtype, rows):
    """Rows of a structured dtype from mappings of field to value, 0 elsewhere."""
    out = np.zeros(len(rows), dtype)
    for index, values in enumerate(rows):
        for name, value in values.items():
            out[index][name] = value
    return out


def op(kind, role, rank, peer=-1, node=-1, instance=-1, size=0, tag=-1, start=None, sent=None, done=None):
    """An operation with its label and what became of it."""
    return {"op": {"kind": kind, "flags": LOG_OP | LOG_MESSAGE, "size_bytes": size},
            "label": {"node": node, "instance": instance, "rank": rank, "peer": peer, "tag": tag, "role": role},
            "start": start, "sent": sent, "done": done}


NODE_ROWS = [
    {"rank": 0, "kind": COMP, "id": 10, "duration_ps": 5 * US, "peer": -1, "group": -1},
    {"rank": 0, "kind": SEND_NODE, "id": 11, "size_bytes": 1000, "peer": 1, "tag": 7, "group": -1},
    {"rank": 0, "kind": COLL, "id": 12, "size_bytes": 4000, "peer": -1, "group": 0, "collective": ALL_REDUCE},
    {"rank": 1, "kind": RECV, "id": 20, "size_bytes": 1000, "peer": 0, "tag": 7, "group": -1},
    {"rank": 1, "kind": FIXED, "id": 21, "duration_ps": 3 * US, "peer": -1, "group": -1},
    {"rank": 1, "kind": COLL, "id": 22, "size_bytes": 4000, "peer": -1, "group": 0, "collective": ALL_REDUCE},
]
DEP_ROWS = [(1, 0), (2, 1), (4, 3), (5, 3)]
OP_ROWS = [
    op(COMPUTE, ROLE_NODE, 0, node=0, start=0, done=5),
    op(SEND, ROLE_NODE, 0, 1, node=1, size=1000, tag=7, start=5, sent=6, done=8),
    op(JOIN, ROLE_NODE, 1, node=3, start=7, done=7),
    op(DELAY, ROLE_NODE, 1, node=4, start=7, done=10),
    op(JOIN, ROLE_BEGIN, 0, node=2, instance=0, start=8, done=8),
    op(JOIN, ROLE_BEGIN, 1, node=5, instance=0, start=9, done=9),
    op(SEND, ROLE_SYNC, 1, 0, instance=0, tag=50, start=7, sent=7.1, done=8.5),
    op(SEND, ROLE_SYNC, 0, 1, instance=0, tag=51, start=8, sent=8.1, done=9.5),
    op(SEND, ROLE_TRANSFER, 0, 1, node=2, instance=0, size=2000, tag=100, start=8, sent=9, done=11),
    op(SEND, ROLE_TRANSFER, 1, 0, node=5, instance=0, size=2000, tag=101, start=9, sent=10, done=12),
    op(SEND, ROLE_TRANSFER, 0, 1, node=2, instance=0, size=2000, tag=102, start=11, sent=12, done=14),
    op(SEND, ROLE_TRANSFER, 1, 0, node=5, instance=0, size=2000, tag=103, start=10, sent=11, done=13),
    op(JOIN, ROLE_END, 0, node=2, instance=0, start=12, done=12),
    op(JOIN, ROLE_END, 1, node=5, instance=0, start=13, done=13),
]
EDGE_ROWS = [
    (0, 1, ON_FIRE), (1, 2, ON_RECV_DONE), (2, 3, ON_FIRE), (2, 6, ON_FIRE), (1, 7, ON_SENT), (6, 7, ON_RECV_DONE),
    (6, 4, ON_RECV_DONE), (7, 5, ON_RECV_DONE), (4, 8, ON_FIRE), (5, 9, ON_FIRE), (9, 10, ON_RECV_DONE),
    (8, 10, ON_SENT), (8, 11, ON_RECV_DONE), (9, 11, ON_SENT), (8, 12, ON_SENT), (10, 12, ON_SENT),
    (9, 12, ON_RECV_DONE), (11, 12, ON_RECV_DONE), (9, 13, ON_SENT), (11, 13, ON_SENT), (8, 13, ON_RECV_DONE),
    (10, 13, ON_RECV_DONE),
]
INSTANCE_ROWS = [{"collective": ALL_REDUCE, "group": 0, "group_size": 2, "size_bytes": 4000, "algorithm": 1}]


def workload(ranks=3, nodes=NODE_ROWS, deps=DEP_ROWS, ops=OP_ROWS, edges=EDGE_ROWS, instances=INSTANCE_ROWS,
             placement=(2, 0, 1), members=(0, 1)):
    """A workload from rows as above."""
    placement = np.array(placement, np.int32)
    graph = Graph(ranks, table(NODES, nodes), np.array(deps, DEPS),
                  [Group("tp", np.array(members))], names={0: "matmul"})
    labels = table(LABELS, [row["label"] for row in ops])
    rows = table(OPS, [row["op"] for row in ops])
    rows["host"] = placement[labels["rank"]]
    rows["dst"] = np.where(labels["peer"] >= 0, placement[labels["peer"]], -1)
    made = np.zeros(len(edges), EDGES)
    made["src"], made["dst"], made["when"] = np.array(edges, np.int64).reshape(-1, 3).T
    rows["deps"] = np.bincount(made["dst"], minlength=len(rows))
    return Workload(rows, made, labels=labels, instances=table(INSTANCES, instances), graph=graph, placement=placement)


def rows_of(made, ops=OP_ROWS, until=None):
    """PERF and OPLOG rows of what happened, up to and with `until`; not in order of time, as they may come."""
    perf, log = [], []
    for number, row in enumerate(ops):
        start = START_PS + round((row["start"] or 0) * US)
        for what, at in ((0, row["done"]), (1, row["sent"])):
            if at is None or (until is not None and at > until):
                continue
            time_ps = START_PS + round(at * US)
            log.append({"time_ps": time_ps, "start_ps": start, "op": number, "what": what})
            if what == 0 and made.ops["dst"][number] >= 0 and row["sent"] is not None:
                perf.append({"time_ps": time_ps, "start_ps": start, "op": number, "node": made.ops["host"][number],
                             "dst": made.ops["dst"][number], "length_bytes": row["op"]["size_bytes"]})
    return table(PERF, perf[::-1]), table(OPLOG, log[::-1])


def ideal(collective, algorithm, members, size_bytes, rate_bps):
    """2 S 8 (N - 1) / (N B) of ring, ps."""
    assert (collective, algorithm) == (ALL_REDUCE, "ring")
    return 2 * size_bytes * 8 * (members - 1) / (members * rate_bps) * 1e12


def run_of(directory, until=None, made=None, ops=OP_ROWS, **changes):
    """The run, stopped `until` us after the start, or ended."""
    made = made or workload()
    perf, oplog = rows_of(made, ops, until)
    run = ChakraRun(
        "sim", str(directory), "trace", made, perf, oplog, START_PS, START_PS + round((until or 20) * US), 4 * US,
        owner=np.array([0, 0, 1]), names=["NIC-0", "NIC-1", "NIC-2"], rate_bps=np.array([8, 16, 8]) * 10**9,
        algorithms=("tree", "ring"), ideal_time_ps=ideal, clock=lambda: AT)
    return dataclasses.replace(run, **changes)


def written(directory, **changes):
    """The run's files, written: {file name: lines}."""
    facts = write_chakra_records(run_of(directory, **changes))
    return {fact["file"]: (directory / fact["file"]).read_text().splitlines() for fact in facts}


def record(directory, name, **changes):
    """The rows of one record, without its header, split at commas."""
    return [line.split(",") for line in written(directory, **changes)[f"sim-{name}-0.csv"][1:]]
