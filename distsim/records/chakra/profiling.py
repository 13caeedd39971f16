"""{simulation}-chakra-profiling-<rank>-0.txt: what of a rank is running, every ProfilingInterval.

Format: scala-computing/docs, models/chakra-workload/records, Profiling. A node is listed from its start until it
finishes, a send until it is acknowledged; the instant of its end no longer counts. The transfers of a collective are
listed with the id and the dependencies of the collective's node, its receives while their transfers are under way and
their rank is in the collective.
Barriers that were put before collectives are not nodes of the trace and not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from distsim.records.chakra.dependencies import Dependencies
from distsim.records.chakra.parts import Parts
from distsim.records.chakra.run import ChakraRun, Graphed
from distsim.records.chakra.side_file import SideFile
from distsim.records.chakra.times import NEVER

RECORD = "chakra-profiling"
RULE = "=" * 32
KINDS = (("send_nodes", "S"), ("receive_nodes", "R"), ("computation_nodes", "C"))
BATCH = 1024


def write_profiles(run: ChakraRun, what: Graphed, parts: Parts, ends: np.ndarray,
                   deps: Dependencies) -> list[dict[str, Any]]:
    """Writes the file of every rank; what run.json says of each. RunError when one cannot be written."""
    kinds = [_by_rank(rows, what.ranks) for rows in (parts.sends, parts.receives, parts.waits)]
    facts = []
    for rank in range(what.ranks):
        until_ps = run.end_ps if ends[rank] == NEVER else int(ends[rank])
        count = max((until_ps - run.start_ps) // run.profiling_ps, 0)
        own = [of_rank[rank] for of_rank in kinds]
        with SideFile(run, RECORD, f"{run.simulation}-{RECORD}-{rank}-0.txt") as file:
            file.write("CHAKRA PROFILING\n")
            for begin in range(1, count + 1, BATCH):
                file.write("".join(blocks(run, what, own, deps, begin, min(begin + BATCH, count + 1))))
        facts.append(file.facts(count))
    return facts


def _by_rank(rows: np.ndarray, ranks: int) -> list[np.ndarray]:
    """The PART rows of each rank that began, in their order."""
    began = np.flatnonzero((rows["node"] >= 0) & (rows["began_ps"] != NEVER))
    began = began[np.argsort(rows["rank"][began], kind="stable")]
    bounds = np.searchsorted(rows["rank"][began], np.arange(ranks + 1))
    return [rows[began[bounds[rank]:bounds[rank + 1]]] for rank in range(ranks)]


def blocks(run: ChakraRun, what: Graphed, kinds: list[np.ndarray], deps: Dependencies, begin: int,
           end: int) -> Iterator[str]:
    """The blocks numbered begin to end - 1, the first of a rank being 1. kinds : its PART rows that began, by KINDS."""
    running = [_running(run, rows, begin, end) for rows in kinds]
    for number in range(begin, end):
        at_ps = run.start_ps + number * run.profiling_ps
        lines = [RULE, f"sim_time_sec: {at_ps / 1e12!r}"]
        for (title, letter), rows, of_block in zip(KINDS, kinds, running, strict=True):
            lines.append(f"{title}:")
            lines += [f"    {letter}({_node(what, letter, rows[row], deps)})" for row in of_block[number - begin]]
        yield "\n".join(lines) + "\n"


def _running(run: ChakraRun, rows: np.ndarray, begin: int, end: int) -> list[list[int]]:
    """Rows that run at each of the blocks, in order of their rows."""
    found: list[list[int]] = [[] for _ in range(end - begin)]
    first = np.maximum(-((run.start_ps - rows["began_ps"]) // run.profiling_ps), begin)
    last = np.where(rows["done_ps"] == NEVER, end - 1,
                    np.minimum(-((run.start_ps - rows["done_ps"]) // run.profiling_ps) - 1, end - 1))
    for row in np.flatnonzero(first <= last).tolist():
        for number in range(int(first[row]), int(last[row]) + 1):
            found[number - begin].append(row)
    return found


def _node(what: Graphed, letter: str, row: np.void, deps: Dependencies) -> str:
    """The text in the brackets of a node."""
    node = int(row["node"])
    own = [str(int(what.nodes["id"][node]))]
    if letter != "C":
        own += [str(int(row["peer"])), str(int(row["size_bytes"]))]
    return ",".join([*own, *(f"[{','.join(map(str, ids))}]" for ids in (deps.data(node), deps.control(node)))])
