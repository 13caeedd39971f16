"""post_annotated/<prefix>.<rank>.json: a rank's trace with the times of every node.

One JSON object a rank, `nodes` in the order of its file, one a line. Nodes are those of the user's trace: a collective
is one node, from when the rank entered it to when it left it; its transfers are in chakra-perf. `s` and `e` are
simulation times in us with nanoseconds (a send ends when it is acknowledged); `r` is the wall time in us since the run
started at which the simulator came to `s`. The kernels do not read the clock a node, so `r` is interpolated between
the instants at which the run did.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from distsim.records.chakra.dependencies import Dependencies
from distsim.records.chakra.identity import TYPES
from distsim.records.chakra.run import ChakraRun, Graphed, annotated_name
from distsim.records.chakra.side_file import SideFile
from distsim.records.chakra.times import NEVER, Times
from distsim.records.schema import microseconds
from distsim.workload.graph import COLL, COMP, FIXED, META, RECV, SEND
from distsim.workload.types import LOCAL_IN, ROLE_BEGIN, ROLE_END, ROLE_NODE

RECORD = "post_annotated"
WIDTH = 13
PLACEHOLDER = "X" * WIDTH
NODE_TYPES = {COMP: "COMP_NODE", SEND: "COMM_SEND_NODE", RECV: "COMM_RECV_NODE", COLL: "COMM_COLL_NODE",
              META: "METADATA_NODE"}
MEMORY = "MEM_NODE"      # of kind FIXED, and no COMP_NODE: a load or a store
BATCH = 4096


def write_annotated(run: ChakraRun, what: Graphed, times: Times, deps: Dependencies) -> list[dict[str, Any]]:
    """Writes the trace of every rank; what run.json says of each file. RunError when one cannot be written."""
    stamps = node_stamps(run, what, times)
    order = np.argsort(what.nodes["rank"], kind="stable")
    bounds = np.searchsorted(what.nodes["rank"][order], np.arange(what.ranks + 1))
    facts = []
    for rank in range(what.ranks):
        rows = order[bounds[rank]:bounds[rank + 1]]
        with SideFile(run, RECORD, annotated_name(run, rank)) as file:
            file.write(f'{{"rank": {rank}, "nodes": [')
            for begin in range(0, len(rows), BATCH):
                lines = [json.dumps(node_fields(run, what, deps, row) | stamps_of(stamps, row))
                         for row in rows[begin:begin + BATCH].tolist()]
                file.write(("," if begin else "") + "\n" + ",\n".join(lines))
            file.write("\n]}\n")
        facts.append(file.facts(len(rows)))
    return facts


def node_stamps(run: ChakraRun, what: Graphed, times: Times) -> np.ndarray:
    """f8[3, nodes]: s, e and r of each node of the graph, us; NEVER: it did not come to that."""
    began, ended = np.full((2, len(what.nodes)), NEVER, np.int64)
    role, node = what.labels["role"], what.labels["node"]
    of_node = (role == ROLE_NODE) & (node >= 0) & (what.ops["kind"] != LOCAL_IN)
    entry, leave = (role == ROLE_BEGIN) & (node >= 0), (role == ROLE_END) & (node >= 0)
    for table, at, rows in ((began, times.began, of_node), (ended, times.done, of_node),
                            (began, times.began, entry), (ended, times.done, leave)):
        np.maximum.at(table, node[rows], at[rows])
    wall = np.interp(began, run.wall_ps, run.wall_us) if len(run.wall_ps) else np.full(len(began), float(NEVER))
    stamps = np.stack([microseconds(began), microseconds(ended), wall])
    stamps[:, began == NEVER] = NEVER
    stamps[1, ended == NEVER] = NEVER
    return stamps


def stamps_of(stamps: np.ndarray, row: int) -> dict[str, str]:
    """The three times of a node as the file has them: WIDTH characters, zeros in front."""
    return {key: padded(float(value)) for key, value in zip("ser", stamps[:, row], strict=True)}


def padded(time_us: float) -> str:
    """A time in us with three decimals, or the placeholder for NEVER."""
    return PLACEHOLDER if time_us == NEVER else f"{time_us:0{WIDTH}.3f}"


def node_fields(run: ChakraRun, what: Graphed, deps: Dependencies, row: int) -> dict[str, Any]:
    """What the file says of a node, in the spelling of the documented trace."""
    node = what.nodes[row]
    kind = int(node["kind"])
    fields: dict[str, Any] = {"id": int(node["id"])}
    name = run.workload.graph.names.get(row)
    if name is not None:
        fields["name"] = name
    fields["type"] = NODE_TYPES.get(kind) or (
        MEMORY if run.computation is not None and not run.computation[row] else NODE_TYPES[COMP])
    if kind in (COMP, FIXED):
        fields["durationMicros"] = int(node["duration_ps"]) / 1e6
    elif kind in (SEND, RECV):
        fields |= {"comm_size": int(node["size_bytes"]), "partner": int(node["peer"]), "comm_tag": int(node["tag"])}
    elif kind == COLL:
        group = run.workload.graph.groups[int(node["group"])].name
        fields |= {"comm_type": TYPES[int(node["collective"])], "comm_size": int(node["size_bytes"]), "pg_name": group}
    return fields | {"dataDeps": deps.data(row), "ctrlDeps": deps.control(row)}
