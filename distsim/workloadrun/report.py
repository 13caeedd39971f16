"""What a run came to, as plain data, and as a table for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from distsim.measure.show import printable

from .orchestration import PINNED, UNPINNED
from .verdict import FAILED, PASSED

if TYPE_CHECKING:
    from .jobs import Job
    from .plan import Plan
    from .verdict import Judgement

FORMS = ("table", "json", "yaml")
MOST_NAMES = 4
EXIT_OK, EXIT_FAILED, EXIT_VALIDATION = 0, 3, 4


def job_entry(job: Job, nodes: Sequence[str], racks: Sequence[str], switches: Sequence[str], status: Mapping[str, Any],
              outcome: Mapping[str, Any] | None, judgement: Judgement | None) -> dict[str, Any]:
    """One job. outcome : of `simulate`, None for a job that never ran; status : of its Job document."""
    bandwidth = ((outcome or {}).get("bandwidth") or {}).get("status") or {}
    goodput = ((outcome or {}).get("goodput") or {}).get("status")
    holds = next(one for one in status["conditions"] if one["status"] == "True" and one["type"] != "ValidationFailed")
    results = list(bandwidth.get("results") or ())
    largest = max(results, key=lambda row: row["sizeBytes"], default=None)
    failed = holds["type"] != "Succeeded" or (judgement is not None and judgement.failed)
    found: dict[str, Any] = {
        "name": job.name, "group": job.group.name, "iteration": job.iteration, "nodes": list(nodes),
        "domains": list(job.group.domains) or list(racks), "switches": list(switches), "phase": holds["type"],
        "reason": holds["reason"], "message": holds["message"], "results": results,
        "busBW": largest["busBW"] if largest else None, "sizeBytes": largest["sizeBytes"] if largest else None,
        "transport": list(bandwidth.get("transport") or ()), "verdict": FAILED if failed else PASSED,
        "conditions": list(status["conditions"]), "failedNodes": list(status.get("failedNodes") or ()),
    }
    if judgement is not None:
        found["thresholds"] = judgement.evaluations
        found["violation"] = judgement.message if judgement.failed else ""
    if bandwidth:
        found["bandwidth"] = _complete(bandwidth)
    if goodput is not None:
        found["goodput"] = goodput | _complete(goodput)
    return found


def run_report(plan: Plan, jobs: Sequence[Mapping[str, Any]], conditions: Sequence[Mapping[str, Any]],
               diagnosis: Mapping[str, Any] | None = None, message: str = "") -> dict[str, Any]:
    """The whole run. conditions : of the WorkloadRun. diagnosis : of diagnose mode, with what it says."""
    holds = next(one for one in conditions if one["status"] == "True" and one["type"] in ("Succeeded", "Failed"))
    failed = {node["name"]: node["reason"] for job in jobs for node in job["failedNodes"]}
    if diagnosis is not None:
        failed = {name: "WorkloadFailed" for name in diagnosis.get("suspectNodes", ())}
    tested = sorted({name for job in jobs for name in job["nodes"]})
    found: dict[str, Any] = {
        "name": plan.run.name, "phase": holds["type"], "reason": holds["reason"], "message": holds["message"],
        "platform": plan.platform, "gpuArchitecture": plan.gpu_architecture,
        "cluster": plan.cluster.name, "placement": plan.orchestration.get("placement") or PINNED,
        "nodesPerJob": plan.num_nodes, "gpusPerNode": plan.discovery.gpus_per_node, "iterations": plan.iterations,
        "targetNodes": len(plan.discovery.nodes), "testedNodes": len(tested), "jobs": list(jobs),
        "failedNodes": [{"name": name, "reason": failed[name]} for name in sorted(failed)],
        "succeededNodes": [name for name in tested if name not in failed],
        "excludedNodes": plan.discovery.excluded(), "exclusionReason": plan.discovery.exclusion_reason(),
        "appliedOverrides": plan.overrides, "warnings": plan.warnings, "conditions": list(conditions),
    }
    if diagnosis is not None:
        found["diagnose"] = {**diagnosis, "message": message}
    return found


def exit_code(report: Mapping[str, Any]) -> int:
    """0 when the run succeeded; 4 when thresholds failed it, also in a diagnosis; 3 when jobs did not end."""
    if report["phase"] == "Succeeded":
        return EXIT_OK
    judged = any(one["type"] == "ValidationFailed" and one["status"] == "True"
                 for job in report["jobs"] for one in job["conditions"])
    return EXIT_VALIDATION if judged else EXIT_FAILED


def shown(report: Mapping[str, Any], form: str) -> str:
    """The report as text: table, json or yaml."""
    if form == "json":
        return json.dumps(report, indent=2, ensure_ascii=False)
    if form == "yaml":
        from .render import to_yaml

        return to_yaml(dict(report)).rstrip("\n")
    return "\n".join(table_lines(report))


def table_lines(report: Mapping[str, Any]) -> list[str]:
    """Lines for a terminal: a row for each job, then what is wrong, then the run itself."""
    rows: list[tuple[str, ...]] = [("JOB", "NODES", "SWITCHES", "SIZE (B)", "BUSBW (GB/s)", "TRANSPORT",
                                    "VERDICT")]
    rows += [_row(job) for job in report["jobs"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = (3, 4)
    lines = ["  ".join(cell.rjust(width) if at in right else cell.ljust(width)
                       for at, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
    lines = lines if report["jobs"] else []
    remarks: dict[str, list[str]] = {}
    for job in report["jobs"]:
        for text in _remarks(job):
            remarks.setdefault(printable(text), []).append(job["name"])
    lines += [f"{names[0] if len(names) == 1 else f'{len(names)} jobs'}: {text}" for text, names in remarks.items()]
    lines += _diagnosis(report.get("diagnose"))
    scope = f" ({report['testedNodes']} of {report['targetNodes']} target nodes exercised)" * (
        report["placement"] == UNPINNED)
    per_job = "" if report.get("diagnose") else f"{report['nodesPerJob']} nodes/job, "
    lines.append(f"{report['name']} on {report['cluster']}: {report['gpuArchitecture']}, {report['placement']}{scope}, "
                 f"{per_job}{report['gpusPerNode']} GPUs/node, jobs: {len(report['jobs'])}")
    if report["excludedNodes"]:
        lines.append(f"excluded: {report['exclusionReason']}")
    failed = ", ".join(node["name"] for node in report["failedNodes"])
    lines.append(f"failed nodes: {failed or 'none'}")
    lines.append(f"{report['phase']}: {report['reason']}: {printable(report['message'])}")
    return lines


def _row(job: Mapping[str, Any]) -> tuple[str, ...]:
    size = "-" if job["sizeBytes"] is None else str(job["sizeBytes"])
    return (job["name"], short(job["nodes"]), short(job["switches"]), size, job["busBW"] or "-",
            printable(", ".join(job["transport"])) or "-", job["verdict"])


def short(names: Sequence[str]) -> str:
    """A list of names; of a long one the first, the last and the count."""
    if len(names) <= MOST_NAMES:
        return ",".join(names) or "-"
    return f"{names[0]}..{names[-1]} ({len(names)})"


def _remarks(job: Mapping[str, Any]) -> list[str]:
    found = [] if job["phase"] == "Succeeded" else [f"{job['reason']}: {job['message']}"]
    if job.get("violation"):
        found.append(job["violation"])
    bandwidth, goodput = job.get("bandwidth"), job.get("goodput")
    if bandwidth and bandwidth["reason"] != "JobSucceeded":
        found.append(f"no final bandwidth: {bandwidth['reason']}: {bandwidth['message']}")
    if goodput and goodput.get("result"):
        found.append(f"goodput {goodput['result']}")
    elif goodput:
        found.append(f"no goodput data: {goodput['reason']}: {goodput['message']}")
    return found


def _diagnosis(diagnosis: Mapping[str, Any] | None) -> list[str]:
    if diagnosis is None:
        return []
    lines = [f"diagnosis after {diagnosis['round']} rounds: {diagnosis['message']}"]
    lines += [f"  domain {name}: its links to other domains are slow" for name in diagnosis.get("faultyDomains", ())]
    lines += [f"  between {short(fault['groupA'])} and {short(fault['groupB'])}: each group passes alone"
              for fault in diagnosis.get("infrastructureFaults", ())]
    return lines


def _complete(status: Mapping[str, Any]) -> dict[str, str]:
    found = next((one for one in status.get("conditions") or () if one["type"] == "Complete"), None)
    return {"reason": found["reason"], "message": found["message"]} if found else {"reason": "", "message": ""}
