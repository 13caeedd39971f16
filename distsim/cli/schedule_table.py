"""The tables of `distsim schedule`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from distsim.measure.show import printable

MOST_RANKS = 16          # nodes of a job in the first table
MOST_NODES = 20          # of a reason of refusal, as NodePredicateFailed shows them (cluster.md section 5)
MOST_NAMES = 6
_NOTES = {"fragment": "fragment score"}


def table_lines(report: Mapping[str, Any]) -> list[str]:
    """A row for each job, then why jobs wait, then with --explain each job by itself, then the cluster."""
    jobs, cluster = report["jobs"], report["cluster"]
    lines = aligned([("JOB", "QUEUE", "POLICY", "STATE", "PODS", "NODES BY RANK"), *map(_row, jobs)])
    lines += [f"{_uid(job)}: {job['state']}: {job['reason']}" for job in jobs if job["reason"]]
    for job in jobs:
        if "crossings" in job:
            lines += ["", *_explained(job)]
    if "racks" in cluster:
        lines += ["", *_racks(cluster)]
    counts = ", ".join(f"{sum(job['state'] == state for job in jobs)} {state}"
                       for state in ("scheduled", "pending", "failed"))
    lines += ["", f"{_count(len(jobs), 'job')}: {counts}; {_count(report['sessions'], 'session')}",
              f"{cluster['name']}: {cluster['used']} of {cluster['chips']} chips used, {cluster['free']} free, "
              f"{cluster['partlyUsedFree']} of them on partly used nodes (fragmentation {cluster['fragmentation']:g})"]
    return [printable(line) for line in lines]


def aligned(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[str]:
    """Rows as lines, columns as wide as their longest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [(indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths))).rstrip() for row in rows]


def spans(numbers: Sequence[int]) -> str:
    """0-3,8 for 0, 1, 2, 3, 8; - for none."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts) or "-"


def few(names: Sequence[str], most: int) -> str:
    """The names, or the first of them and how many more there are; - for none."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return " ".join(names[:most]) + more if names else "-"


def _row(job: Mapping[str, Any]) -> tuple[str, ...]:
    return (_uid(job), job["queue"], job["policy"] or "-", job["state"], f"{job['placed']}/{job['pods']}",
            few(job["ranks"] or [], MOST_RANKS))


def _explained(job: Mapping[str, Any]) -> Iterator[str]:
    by = f" by {job['policy']}" if job["policy"] else ""
    yield f"{_uid(job)}: {job['state']}{by}, {job['placed']} of {job['pods']} pods placed"
    if job["ranks"]:
        yield from _ranks(job)
    rows = [*(_figures(job) if job["ranks"] else []), *_refused(job["refused"])]
    yield from aligned(rows, "  ") if rows else []


def _ranks(job: Mapping[str, Any]) -> list[str]:
    rows = [("RANK", "NODE", "RACK", "CHIPS", "NICS", "POD")]
    for rank, node in enumerate(job["ranks"]):
        names, hosts = job["nicNames"][rank], job["nics"][rank]
        prefix = names[0].rpartition("-")[0] + "-" if names else ""
        rows.append((str(rank), node, job["rackOfRank"][rank] or "-", spans(job["chips"][rank]), prefix + spans(hosts),
                     job["podNames"][rank]))
    return aligned(rows, "  ")


def _figures(job: Mapping[str, Any]) -> list[tuple[str, str]]:
    ring, pairs = job["crossings"], job["crossings"]["nicPairs"]
    rows = [("nodes", f"{job['nodeCount']} in {_count(len(job['racks']), 'rack')}: {few(job['racks'], MOST_NAMES)}")]
    if job["slices"]:
        rows.append(("slices", ", ".join(f"{slice_}: {_count(nodes, 'node')}"
                                         for slice_, nodes in job["slices"].items())))
    if job["switches"]:
        rows.append(("switches", f"{len(job['switches'])}: {few(job['switches'], MOST_NAMES)}"))
    rows.append(("ring", f"{_count(ring['edges'], 'edge')}: {ring['inNode']} in a node, {ring['inRack']} in a rack, "
                         f"{ring['crossRack']} between racks; {ring['crossLeaf']} cross a leaf, {ring['crossSpine']} "
                         "a spine"))
    if any(pairs.values()):
        rows.append(("NIC pairs", ", ".join(f"{count} by {tier}" for tier, count in pairs.items() if count)))
    rows += [("share", f"{one['pod']}: chip {one['chip']} of {one['node']}, {one['aicoreQuota']} % of its AI cores, "
                       f"{one['hbmQuotaMB']} MB, {one['policy']}") for one in job["shares"]]
    said = {"policy", *(name for name, _ in rows)}
    return rows + [(_NOTES.get(name, name), _note(value)) for name, value in job["notes"].items() if name not in said]


def _refused(refused: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for reason, nodes in refused.items():
        yield "refused", f"{_count(len(nodes), 'node')}: {reason}: {few(nodes, MOST_NODES)}"


def _racks(cluster: Mapping[str, Any]) -> list[str]:
    rows = [("RACK", "NODES", "WHOLE NODES FREE", "CHIPS", "USED", "FREE", "UNAVAILABLE")]
    rows += [(rack["name"], *(str(rack[key]) for key in ("nodes", "wholeNodes", "chips", "used", "free",
                                                         "unavailable"))) for rack in cluster["racks"]]
    return aligned(rows)


def _note(value: Any) -> str:
    """A note of a policy: lists of lists as groups in brackets, maps as key=value."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_note(inner)}" for key, inner in value.items()) or "-"
    if isinstance(value, list):
        return " ".join(f"[{_note(inner)}]" if isinstance(inner, (list, Mapping)) else str(inner)
                        for inner in value) or "-"
    return str(value)


def _uid(job: Mapping[str, Any]) -> str:
    return f"{job['namespace']}/{job['name']}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
