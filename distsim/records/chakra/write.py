"""Writes all chakra records of a run, on rank 0, as shard 0."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from distsim.records.chakra import schemas
from distsim.records.chakra.annotated import write_annotated
from distsim.records.chakra.collectives import collective_spans, collective_stats, percentiles
from distsim.records.chakra.completion import cdf, completion
from distsim.records.chakra.dependencies import Dependencies
from distsim.records.chakra.parts import parts_of
from distsim.records.chakra.placement import apps, capable_hosts, mapping
from distsim.records.chakra.profiling import write_profiles
from distsim.records.chakra.run import ChakraRun, graphed
from distsim.records.chakra.times import op_times, rank_ends
from distsim.records.chakra.transfers import transfer_batches
from distsim.records.row_limit import RowLimit
from distsim.records.schema import Columns, RecordSchema
from distsim.records.writer import ShardWriter


def write_chakra_records(run: ChakraRun) -> list[dict[str, Any]]:
    """Writes the eight records, the annotated traces and, when it is on, the profiling of a run that has ended or was
    stopped. Returns what run.json says of each file, as RecordSet.files(); call it once, on rank 0.

    Raises InputError when a record's file cannot be created, RunError when one cannot be written to its end, ValueError
    when the workload was not made from a graph.
    """
    what = graphed(run)
    times = op_times(run, what)
    parts, ends = parts_of(run, what, times), rank_ends(run, what, times)
    spans = collective_spans(run, what, times)
    deps = Dependencies(run)
    # A component has one row of the first three and of the completion record, so MaxRecordRows cuts none of these.
    by_nic = RowLimit(run.max_rows, "")
    facts = [
        write(run, schemas.CAPABLE_HOSTS, [capable_hosts(run)]),
        write(run, mapping_schema(run), [mapping(run, what)]),
        write(run, schemas.APPS, [apps(run, what)]),
        write(run, schemas.PERF, transfer_batches(run, what, by_nic), by_nic),
        write(run, schemas.COMPLETION, [completion(run, parts, ends)]),
    ]
    for schema, columns in ((schemas.CDF, cdf(run, parts, ends)),
                            (schemas.COLLECTIVES, collective_stats(run, what, spans)),
                            (schemas.PERCENTILES, percentiles(run, what, spans))):
        by_record = RowLimit(run.max_rows, "")
        facts.append(write(run, schema, [by_record.cut_columns(columns)], by_record))
    if run.annotate:
        facts += write_annotated(run, what, times, deps)
    if run.profiling_ps:
        facts += write_profiles(run, what, parts, ends, deps)
    return facts


def mapping_schema(run: ChakraRun) -> RecordSchema:
    """The schema of chakra-mapping, without the columns of scale-up groups when there are none."""
    if run.scale_up_group is not None:
        return schemas.MAPPING
    return dataclasses.replace(schemas.MAPPING, columns=schemas.MAPPING.columns[:-schemas.SCALE_UP_COLUMNS])


def write(run: ChakraRun, schema: RecordSchema, batches: Iterable[Columns],
          limit: RowLimit | None = None) -> dict[str, Any]:
    """Writes one record; `limit` has counted the rows that were left out of its batches."""
    writer = ShardWriter(schema, run.directory, run.simulation, 0, run.clock)
    try:
        for columns in batches:
            writer.append(columns)
    finally:
        writer.close()
    return {"record": schema.name, "shard": 0, "file": writer.name, "rows": writer.rows,
            "rows_left_out": limit.left_out if limit else 0, "bytes": writer.bytes, "sha256": writer.sha256}
