"""The table that ends a run: completion times, goodput, retransmissions, speed, record files, unfinished flows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LABEL_WIDTH = 22
LISTED = 10  # unfinished flows shown one by one
COLLECTIVES_LISTED = 12
PS_PER_US = 10**6


@dataclass(frozen=True)
class FlowStatistics:
    """Figures over finished flows. Completion times in ps, goodput in Gb/s; all 0 without flows.

    Percentiles by nearest rank: the p-th is the value at place ceil(p * n / 100) of the n sorted values, so it is
    always one that occurred.
    flow_goodput_gbps : mean over flows with payload of size / completion time.
    receiver_goodput_gbps : greatest over receivers of (bytes of its finished flows) / (first start to last completion).
    """

    flows: int = 0
    mean_ps: float = 0.0
    p50_ps: int = 0
    p99_ps: int = 0
    max_ps: int = 0
    last_ps: int = 0
    flow_goodput_gbps: float = 0.0
    receiver_goodput_gbps: float = 0.0
    retransmitted: int = 0


@dataclass(frozen=True)
class Unfinished:
    """A flow that had not finished when the run ended; `acked_bytes` is None when it is not known."""

    user_id: int
    source: str
    destination: str
    size_bytes: int
    acked_bytes: int | None = None


@dataclass(frozen=True)
class Totals:
    """What the engine counted over all ranks.

    flows : messages of the workload. retransmitted : data packets sent again, of unfinished flows too.
    hops : packet-hops. loop_seconds : wall time of the run after set-up. packets : packets counted by name
    (sent, delivered, trimmed, dropped, in flight), in the order shown. unfinished : in the order shown; may be cut
    short after the first ten, `unfinished_count` counts. finished : messages that are done, None: as many as have a
    row of the perf record. waiting : sentences on nodes of ranks that are not done, likewise cut short; unreceived : on
    sends of ranks that no receive belongs to.
    """

    flows: int
    retransmitted: int
    hops: int
    loop_seconds: float
    simulated_ps: int = 0
    packets: Mapping[str, int] = field(default_factory=dict)
    unfinished_count: int = 0
    unfinished: Sequence[Unfinished] = ()
    finished: int | None = None
    waiting_count: int = 0
    waiting: Sequence[str] = ()
    unreceived_count: int = 0
    unreceived: Sequence[str] = ()


def nearest_rank(ordered: np.ndarray, percent: int) -> int:
    """The percentile of a sorted, non-empty array by nearest rank, 0 < percent <= 100."""
    return int(ordered[-(-percent * len(ordered) // 100) - 1])


def flow_statistics(perf_rows: np.ndarray) -> FlowStatistics:
    """Statistics of finished flows: state.tables.PERF[n] of all ranks, in any order."""
    if not len(perf_rows):
        return FlowStatistics()
    taken_ps = np.sort(perf_rows["time_ps"] - perf_rows["start_ps"])
    return FlowStatistics(
        flows=len(perf_rows),
        mean_ps=int(taken_ps.sum()) / len(taken_ps),
        p50_ps=nearest_rank(taken_ps, 50),
        p99_ps=nearest_rank(taken_ps, 99),
        max_ps=int(taken_ps[-1]),
        last_ps=int(perf_rows["time_ps"].max()),
        flow_goodput_gbps=_flow_goodput_gbps(perf_rows),
        receiver_goodput_gbps=_receiver_goodput_gbps(perf_rows),
        retransmitted=int(perf_rows["rtx_packets"].sum()),
    )


def _flow_goodput_gbps(rows: np.ndarray) -> float:
    rows = rows[rows["length_bytes"] > 0]
    if not len(rows):
        return 0.0
    goodput = np.sort(rows["length_bytes"] * 8000 / (rows["time_ps"] - rows["start_ps"]))
    return float(goodput.mean())  # sorted first: the sum does not depend on the order of the rows


def _receiver_goodput_gbps(rows: np.ndarray) -> float:
    order = np.argsort(rows["dst"], kind="stable")
    begin = np.flatnonzero(np.diff(rows["dst"][order], prepend=-1))
    received = np.add.reduceat(rows["length_bytes"][order], begin)
    span_ps = np.maximum.reduceat(rows["time_ps"][order], begin) - np.minimum.reduceat(rows["start_ps"][order], begin)
    return float((received * 8000 / span_ps).max())


def summary_lines(perf_rows: np.ndarray, totals: Totals, limit_gbps: float, files: Sequence[Mapping[str, Any]],
                  directory: str | os.PathLike[str] = "") -> list[str]:
    """The lines of the final table, plain text of at most 100 columns (file paths apart).

    perf_rows : state.tables.PERF[n] of all ranks. limit_gbps : payload rate of one link (389.9 for 400 Gb/s and
    4,096 B packets). files : RecordSet.files() of all ranks, gathered. With unfinished flows the last line says so.
    """
    flows = flow_statistics(perf_rows)
    finished = flows.flows if totals.finished is None else totals.finished
    lines = [_line("flows", f"{finished:,} of {totals.flows:,} finished")]
    if flows.flows:
        lines.append(_line("completion time (us)", "   ".join(
            f"{name} {value / PS_PER_US:,.2f}" for name, value in
            (("mean", flows.mean_ps), ("p50", flows.p50_ps), ("p99", flows.p99_ps), ("max", flows.max_ps)))))
        lines.append(_line("goodput (Gb/s)", f"mean flow {_share(flows.flow_goodput_gbps, limit_gbps)}, "
                                             f"busiest receiver {_share(flows.receiver_goodput_gbps, limit_gbps)}"))
        lines.append(_line("", f"limit of a link {limit_gbps:.1f}"))
    lines.append(_line("retransmissions", f"{totals.retransmitted:,} packets"))
    if totals.packets:
        lines.append(_line("packets", ", ".join(f"{count:,} {name}" for name, count in totals.packets.items())))
    lines.append(_line("packet-hops", _speed(totals.hops, totals.loop_seconds)))
    if totals.simulated_ps:
        lines.append(_line("simulated time (ms)", f"{totals.simulated_ps / 10**9:,.6f}"))
    lines += _record_lines(files, directory)
    lines += _node_lines("not received", totals.unreceived, totals.unreceived_count,
                         "sends of ranks had no receive; what they sent was never received")
    lines += _node_lines("waiting", totals.waiting, totals.waiting_count,
                         "nodes of ranks had not finished when the run ended")
    return lines + _unfinished_lines(totals)


def _line(label: str, text: str) -> str:
    return f"{label:<{LABEL_WIDTH}}{text}".rstrip()


def _share(goodput_gbps: float, limit_gbps: float) -> str:
    return f"{goodput_gbps:.1f} ({100 * goodput_gbps / limit_gbps:.1f} %)" if limit_gbps > 0 else f"{goodput_gbps:.1f}"


def _speed(hops: int, seconds: float) -> str:
    text = f"{hops:,} in {seconds:.2f} s"
    return f"{text}, {hops / seconds / 1e6:.2f} million a second" if seconds > 0 else text


def _record_lines(files: Sequence[Mapping[str, Any]], directory: str | os.PathLike[str]) -> list[str]:
    """One line a record: its path, or its pattern when there are several shards, and its rows."""
    shards: dict[str, list[Mapping[str, Any]]] = {}
    for file in files:
        shards.setdefault(file["record"], []).append(file)
    lines: list[str] = []
    for group in shards.values():
        rows = sum(file["rows"] for file in group)
        name = group[0]["file"]
        if len(group) > 1:
            name = pattern_of([file["file"] for file in group])
        count = f"{len(group)} files, {rows:,} rows" if len(group) > 1 else f"{rows:,} rows"
        lines.append(_line("" if lines else "records", f"{os.path.join(directory, name)}  ({count})"))
    return lines


def collective_lines(collectives: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first collectives of a run (rank_records.collective_times) and what each took."""
    if not collectives:
        return []
    lines = [_line("collectives", f"{'':<22} {'ranks':>6} {'bytes':>16} {'begin us':>12} {'time us':>12}".rstrip())]
    for one in collectives[:COLLECTIVES_LISTED]:
        name = f"{one['collective']} {one['algorithm']}"
        lines.append(_line("", f"{name:<22} {one['members']:>6} {one['size_bytes']:>16,} {one['begin_us']:>12,.2f} "
                               f"{one['time_us']:>12,.2f}"))
    if len(collectives) > COLLECTIVES_LISTED:
        lines.append(_line("", f"and {len(collectives) - COLLECTIVES_LISTED:,} more, in run.json"))
    return lines


def _node_lines(label: str, sentences: Sequence[str], count: int, told: str) -> list[str]:
    """The first of `count` nodes of ranks, one a line, and what is to be told of all of them."""
    if not count:
        return []
    lines = [_line("" if at else label, text) for at, text in enumerate(sentences[:LISTED])]
    more = count - min(len(sentences), LISTED)
    if more:
        lines.append(_line("", f"and {more:,} more"))
    return [*lines, f"unfinished: {count:,} {told}"]


def pattern_of(names: Sequence[str]) -> str:
    """File names with a star for the part in which they differ: ``a-perf-*.csv`` for a-perf-0.csv and a-perf-1.csv."""
    begin = os.path.commonprefix(list(names))  # noqa: RUF071 - letter by letter
    end = os.path.commonprefix([name[len(begin):][::-1] for name in names])[::-1]  # noqa: RUF071
    return f"{begin}*{end}"


def _unfinished_lines(totals: Totals) -> list[str]:
    if not totals.unfinished_count:
        return []
    lines = [_line("unfinished", f"{'id':>10}  {'from':<16} {'to':<16} {'bytes':>15} {'acknowledged':>15}".rstrip())]
    for flow in totals.unfinished[:LISTED]:
        acked = "" if flow.acked_bytes is None else f"{flow.acked_bytes:,}"
        lines.append(_line("", f"{flow.user_id:>10}  {flow.source:<16} {flow.destination:<16} "
                               f"{flow.size_bytes:>15,} {acked:>15}"))
    if totals.unfinished_count > min(len(totals.unfinished), LISTED):
        more = totals.unfinished_count - min(len(totals.unfinished), LISTED)
        lines.append(_line("", f"{'':>10}  and {more:,} more"))
    lines.append(f"unfinished: {totals.unfinished_count:,} of {totals.flows:,} flows had not finished "
                 "when the run ended")
    return lines
