"""Operations of ranks as slices: from the annotated traces, where there are none from chakra-perf."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.results.cache import cached
from distsim.results.timeline.source import Source, end_ns, ns_of

if TYPE_CHECKING:
    from distsim.results.run import Run

COMPLETION, MAPPING, TRANSFERS = "chakra-completion-stats", "chakra-mapping", "chakra-perf"
GROUP = "Ranks"
NO_OPERATION = "METADATA_NODE"
SCHEMA = {"track": pl.String, "name": pl.String, "begin_ns": pl.Int64, "end_ns": pl.Int64, "type": pl.String,
          "size_B": pl.Int64, "process_group": pl.String, "node": pl.Int64}


def operations(run: Run) -> Source | None:
    """A slice for each operation that a rank began, a track a rank. One that did not end runs to the end of the run and
    says so. Without annotated traces: the transfers that each rank sent."""
    if COMPLETION in run.records():
        stats = run.frame(COMPLETION).select("chakra_app_logical_id", "post_annotated_results_path").collect()
        traces = [(rank, run.directory / path) for rank, path in stats.iter_rows() if path]
        if traces and all(path.is_file() for _, path in traces):
            return Source("operations of ranks", GROUP, _annotated(run, traces).lazy())
    return _transfers(run) if TRANSFERS in run.records() else None


def _names(run: Run) -> dict[int, str]:
    """Tracks of ranks: ``rank 3 (NIC-3)``."""
    if MAPPING not in run.records():
        return {}
    mapping = run.frame(MAPPING).select("ChakraId", "Hostname").collect()
    return {rank: f"rank {rank} ({host})" for rank, host in mapping.iter_rows()}


def _annotated(run: Run, traces: list[tuple[int, Path]]) -> pl.DataFrame:
    names, last_ns = _names(run), end_ns(run)
    return pl.concat([_trace(path, names.get(rank, f"rank {rank}"), last_ns) for rank, path in traces])


def _trace(path: Path, track: str, last_ns: int) -> pl.DataFrame:
    """Operations of one rank. The file has a node a line, between the first line and the last."""
    names: list[str] = []
    types: list[str] = []
    groups: list[str | None] = []
    begin, end, number, sizes = array("q"), array("q"), array("q"), array("q")
    with open(path) as file:
        for text in file:
            if not text.startswith('{"id"'):
                continue
            node: dict[str, Any] = json.loads(text.rstrip().rstrip(","))
            at, until = _ns(node["s"]), _ns(node["e"])
            if at is None or node["type"] == NO_OPERATION:
                continue
            names.append(node["name"] if until is not None else f"{node['name']} (not finished)")
            types.append(node.get("comm_type") or node["type"])
            groups.append(node.get("pg_name"))
            begin.append(at)
            end.append(max(at, last_ns if until is None else until))
            number.append(node["id"])
            sizes.append(node.get("comm_size", -1))
    frame = pl.DataFrame({"track": [track] * len(names), "name": names, "begin_ns": begin, "end_ns": end, "type": types,
                          "size_B": sizes, "process_group": groups, "node": number}, schema=SCHEMA)
    return frame.with_columns(pl.when(pl.col("size_B") >= 0).then("size_B"))


def _ns(stamp: str) -> int | None:
    """A stamp in us with three decimals, as ns; None for that of what did not happen."""
    whole, _, part = stamp.partition(".")
    return int(whole) * 1000 + int(part) if whole.isdigit() and part.isdigit() else None


def _transfers(run: Run) -> Source:
    names = pl.LazyFrame({"app": [f"ChakraApp-{rank}" for rank in _names(run)], "track": list(_names(run).values())},
                         schema={"app": pl.String, "track": pl.String})
    rows = cached(run, TRANSFERS).join(names, left_on="sending_app_name", right_on="app", how="left")
    to = pl.col("receiving_app_name").str.replace("ChakraApp-", "rank ", literal=True)
    kind = pl.col("metric_path").str.extract(r"^ChakraFCT\.([^.]*)")
    return Source("transfers of ranks", GROUP, rows.select(
        pl.col("track").fill_null(pl.col("sending_app_name")), pl.format("{} to {}", kind, to).alias("name"),
        ns_of(pl.col("start_time_sec")).alias("begin_ns"), ns_of(pl.col("sim_time_sec")).alias("end_ns"),
        pl.col("flow_comm_size").alias("size_B"), pl.col("comm_tag").alias("tag")))
