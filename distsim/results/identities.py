"""What the records of a run and its run.json must agree on: independent accounts of the same packets and messages.

The sums at the end hold for a run that finished and whose last periodic rows came after its last event; those of a
record that MaxRecordRows cut short are left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from distsim.records.run_json import FINISHED
from distsim.records.schema import INT, RecordSchema
from distsim.results.columns import MAX, over_nodes, time_column
from distsim.results.scan import scan_shards
from distsim.results.verify import RUN_JSON, Check

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

ND, UET, PFC, PERF, HOPS = "nd-stats", "uet-transport-stats", "ecn-pfc-stats", "perf", "tier-hop"
READABLE = "rows can be read"
COLLECTIVES = "chakra-comm-collective-stats"
# Workloads that run in phases and whose messages are not written one by one.
_UNLOGGED = ("nccl-tests", "training")
_CLOSE_S = 1e-9


def identities(run: Run, records: Collection[str]) -> list[Check]:
    """The checks that apply, of these records alone."""
    checks = [check for record in records for check in _readable(run, record)]
    unreadable = {check.of for check in checks if check.what == READABLE}
    records = [record for record in records if record not in unreadable]
    if not run.info or "counts" not in run.info:
        return checks
    checks += _counts(run)
    whole = [record for record in records if not _left_out(run, record)]
    if PERF in whole:
        checks += _messages(run)
    if COLLECTIVES in whole and "collectives" in run.info and run.status == FINISHED:
        rows = _count(run.scan(COLLECTIVES))
        checks.append(_equal(COLLECTIVES, "collectives of run.json", rows, len(run.info["collectives"])))
    drained = [record for record in whole if run.status == FINISHED and _is_drained(run, record)]
    if ND in drained:
        checks += _ports(run)
    if UET in drained:
        checks += _transport(run, PFC if PFC in whole else "")
    if ND in drained and HOPS in drained:
        checks.append(_hops(run))
    return checks


def running_sums(schema: RecordSchema) -> list[tuple[str, str, str]]:
    """(cumulative column, column of its interval, sum or max): what has the same name but for ``ivl_``, ``interval_``
    or a final ``Int``."""
    kinds = {column.name: column for column in schema.columns if column.dtype == INT}
    found = []
    for name, column in kinds.items():
        for twin in (f"ivl_{name}", f"interval_{name}", f"{name}Int", name.replace("total_", "ivl_", 1)):
            if twin != name and twin in kinds:
                found.append((name, twin, MAX if over_nodes(column) == MAX else "sum"))
                break
    return found


def _readable(run: Run, record: str) -> list[Check]:
    """The checks of one record; only that it cannot be read, when it cannot."""
    import polars as pl

    try:
        return list(_record(run, record))
    except pl.exceptions.PolarsError as error:
        return [Check(record, READABLE, False, str(error).strip().splitlines()[0])]


def _record(run: Run, record: str) -> Iterator[Check]:
    """What the rows of one record keep by themselves."""
    schema = run.schema(record)
    time = time_column(schema)
    if time is not None and not schema.whole_run:
        for file in run.files(record):
            rows = scan_shards(schema, [file], not run.info)
            back = int(_value(rows, _col(time.name).diff().lt(0).sum()) or 0)
            yield Check(record, f"rows of shard {file.shard} in order of time", back == 0,
                        f"{back:,} rows go back" if back else "")
    if not schema.clock or schema.wall_clock or _left_out(run, record):
        return
    keys, rows = list(schema.order), run.scan(record)
    twice = _count(rows) - _count(rows.select(keys).unique())
    yield Check(record, "one row a component and instant", twice == 0, f"{twice:,} rows more" if twice else "")
    key = [name for name in keys if time is None or name != time.name]
    for total, interval, rule in running_sums(schema):
        running = _col(interval).cum_max() if rule == MAX else _col(interval).cum_sum()
        wrong = int(_value(run.frame(record), (running.over(key) != _col(total)).sum()) or 0)
        yield Check(record, f"{total} is the {rule} of {interval} so far", wrong == 0,
                    f"{wrong:,} rows differ" if wrong else "")


def _counts(run: Run) -> Iterator[Check]:
    counts, flows = run.info["counts"], run.info.get("flows") or {}
    ended = counts["delivered"] + counts["dropped"] + counts["in_flight"]
    yield _equal(RUN_JSON, "packets created = delivered + dropped + in flight", counts["created"], ended)
    if flows:
        yield _equal(RUN_JSON, "flows = finished + unfinished", flows["total"], flows["finished"] + flows["unfinished"])


def _messages(run: Run) -> Iterator[Check]:
    """perf against the flows and completion times of run.json."""
    flows, times = run.info.get("flows") or {}, run.info.get("fct_us") or {}
    rows = run.scan(PERF)
    count = _count(rows)
    if flows and not _is_unlogged(run):
        yield _equal(PERF, "rows = finished flows", count, flows["finished"])
    took = (_col("sim_time_sec") - _col("start_time_sec")) * 1e6 - _col("perf_metric_usec")
    wrong = int(_value(rows, (took.abs() > 1e-3).sum()) or 0)
    yield Check(PERF, "completion times are from start to end", wrong == 0, f"{wrong:,} rows differ" if wrong else "")
    for name in ("p50", "p99", "max") if count else ():
        if times.get(name):                    # of the flows on the fabric, by nearest rank: each has occurred
            near = int(_value(rows, ((_col("perf_metric_usec") - times[name]).abs() < 1e-6).sum()) or 0)
            yield Check(PERF, f"{name} of run.json is one of the times", near > 0, f"{times[name]} us")


def _ports(run: Run) -> Iterator[Check]:
    """nd-stats at the end against the packets of run.json."""
    counts = run.info["counts"]
    lost = int((run.info.get("faults") or {}).get("lost_packets", 0))
    last = _last(run, ND).select("total_packets_tx", "total_packets_rx", "tx_drops", "rx_drops").sum()
    sent, came, before, after = last.collect(engine="streaming").row(0)
    yield _equal(ND, "frames received = packet-hops", came, counts["hops"])
    yield _equal(ND, "frames sent = frames received + lost on links", sent, came + lost)
    yield _equal(ND, "drops of all ports + lost on links = packets dropped", before + after + lost, counts["dropped"])
    rows = run.frame(ND)
    for way in ("tx", "rx"):
        summed = (_col(f"interval_bytes_{way}_MB") * 1e6).round().cum_sum().over("node_id", "ifid")
        unlike = summed != (_col(f"total_bytes_{way}_GB") * 1e9).round()
        wrong = int(_value(rows, unlike.sum()) or 0)
        yield Check(ND, f"total_bytes_{way}_GB is the sum of interval_bytes_{way}_MB so far", wrong == 0,
                    f"{wrong:,} rows differ" if wrong else "")


def _transport(run: Run, pauses: str) -> Iterator[Check]:
    """uet-transport-stats at the end against run.json. pauses : the record of PFC frames, "" when there is none."""
    counts, flows = run.info["counts"], run.info.get("flows") or {}
    for prefix in ("", "ivl_"):
        for way in ("sent", "rcvd"):
            parts = sum((_col(f"{prefix}{kind}_pkts_{way}") for kind in ("ack", "nack")),
                        _col(f"{prefix}write_pkts_{way}"))
            wrong = int(_value(run.scan(UET), (_col(f"{prefix}total_pkts_{way}") != parts).sum()) or 0)
            yield Check(UET, f"{prefix}total_pkts_{way} = write + ack + nack", wrong == 0,
                        f"{wrong:,} rows differ" if wrong else "")
    if not _every_nic(run):
        return
    last = _last(run, UET).select("num_rtx", "wqes_completed", "total_pkts_sent", "probe_sent").sum()
    again, completed, sent, probes = last.collect(engine="streaming").row(0)
    yield _equal(UET, "num_rtx of all NICs = packets retransmitted", again, counts["retransmitted"])
    yield Check(UET, "messages completed <= finished flows", completed <= flows.get("finished", completed),
                f"{completed:,} of {flows.get('finished', completed):,}")
    if pauses:
        frames = int(_value(_last(run, pauses), _col("pfcxoff_tx").sum() + _col("pfcxon_tx").sum()) or 0)
        yield _equal(UET, "packets sent + probes + PFC frames = packets created", sent + probes + frames,
                     counts["created"])


def _hops(run: Run) -> Check:
    hops = int(_value(_last(run, HOPS), _col("spine").sum() + _col("fabric").sum() + _col("rack").sum()) or 0)
    ports = _last(run, ND).filter(_col("component_type") == "Switch")
    return _equal(HOPS, "packets by tier = frames received by switches", hops,
                  int(_value(ports, _col("total_packets_rx").sum()) or 0))


def _is_drained(run: Run, record: str) -> bool:
    """Whether the record's last rows came when all was over."""
    schema = run.schema(record)
    last = _value(run.scan(record), _col("sim_time_sec").max()) if time_column(schema) and schema.clock else None
    ended = run.info.get("simulated_s")
    return last is not None and ended is not None and abs(last - ended) < _CLOSE_S


def _every_nic(run: Run) -> bool:
    """Whether every NIC of the run writes uet-transport-stats."""
    said = json.dumps(run.info.get("configuration") or {})
    return '"EnableTransportStats": false' not in said


def _is_unlogged(run: Run) -> bool:
    workload = (run.info.get("configuration") or {}).get("workload") or {}
    return any(part.get("kind") in _UNLOGGED for part in [workload, *(workload.get("parts") or ())])


def _left_out(run: Run, record: str) -> int:
    return sum(int(file.get("rows_left_out", 0)) for file in run.info.get("files") or () if file["record"] == record)


def _last(run: Run, record: str) -> pl.LazyFrame:
    """The rows of the last instant."""
    rows = run.scan(record)
    last = _value(rows, _col("sim_time_sec").max())
    return rows if last is None else rows.filter(_col("sim_time_sec") == last)


def _col(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name)


def _value(rows: pl.LazyFrame, expression: pl.Expr) -> Any:
    """One value of a frame."""
    return rows.select(expression.alias("value")).collect(engine="streaming").item()


def _count(rows: pl.LazyFrame) -> int:
    import polars as pl

    return int(_value(rows, pl.len()))


def _equal(of: str, what: str, found: int, wanted: int) -> Check:
    return Check(of, what, found == wanted, f"{found:,}" if found == wanted else f"{found:,}, not {wanted:,}")
