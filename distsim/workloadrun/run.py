"""Running a WorkloadRun on a simulated cluster, from its file to its report. The same code on every rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.limits import Limits
from distsim.measure.live import SECOND_PS, spell_ps

from .diagnose import Diagnosis
from .jobs import Job
from .load import load_workloadrun
from .placement import Group
from .plan import Plan, make_plan, with_diagnose
from .profiles import Profiles
from .report import job_entry, run_report
from .schedule import Placed, place, waves
from .simulate import Ranks, Running, Wave, check_job, next_start_s, simulate
from .store import JOBS, MEASUREMENTS, RECORDS, RUN, WORKFLOW, Store
from .traffic import part_name, part_of
from .verdict import (
    PASSED,
    TIMED_OUT,
    TIMED_OUT_MESSAGE,
    Judgement,
    asked_of,
    job_status,
    judge,
    measured_values,
    run_conditions,
    workflow_conditions,
)

if TYPE_CHECKING:
    from distsim.cluster import Cluster

    from .touched import Paths

FIRST_START_S = 0.001


@dataclass(frozen=True)
class Options:
    """What the command line says.

    platform, gpu_arch : in place of what the nodes say. steady : extrapolate large sizes. diagnose : find bad nodes.
    busy : nodes whose accelerators others have for the whole run. limits, quiet : as for `distsim run`.
    """

    platform: str | None = None
    gpu_arch: str | None = None
    steady: bool = False
    diagnose: bool = False
    busy: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    quiet: bool = False

    def kept(self) -> dict[str, Any]:
        """Those that results depend on, by the name of the option."""
        return {"platform": self.platform, "gpu-arch": self.gpu_arch, "steady": self.steady,
                "diagnose": self.diagnose, "busy": sorted(self.busy)}


def run_workload(file: str, cluster_file: str, directory: Path | None, options: Options) -> dict[str, Any]:
    """Run the WorkloadRun of a file and keep its state in a directory (``runs/NAME`` by default); the report.

    A run that was created there before, with the same spec, and has ended is not run again. Raises InputError, before
    anything is created, for whatever is wrong in the files, for too few nodes, and for a changed spec.
    """
    from distsim.cluster import load_cluster

    run, cluster = load_workloadrun(file), load_cluster(cluster_file)
    if options.diagnose:
        run = with_diagnose(run, cluster.rack_label)
    _check_busy(options.busy, cluster)
    plan = make_plan(run, cluster, options.platform, options.gpu_arch)
    store = Store(directory or Path("runs") / run.name)
    session = _Session(plan, store, options, Profiles.of(run, Path(file).parent, store.directory))
    session.check()
    report = session.ranks.once(lambda: session.store.claim(run, cluster, plan.workflow, options.kept()))
    if report is not None:
        return dict(report)
    try:
        return session.run()
    except InputError:                     # every rank raises it; what cannot be run is as if it had not been created
        session.ranks.once(session.store.delete)
        raise


class _Session:
    """A run under way.

    now_s : simulated time at which the next wave starts; end_s : at which the last one ended. entries : the jobs so
    far, as in the report.
    """

    def __init__(self, plan: Plan, store: Store, options: Options, profiles: Profiles):
        self.plan, self.store, self.options, self.profiles, self.ranks = plan, store, options, profiles, Ranks()
        self.now_s = self.end_s = FIRST_START_S
        self.waves, self.entries = 0, list[dict[str, Any]]()
        self._paths: Paths | None = None

    def check(self) -> None:
        """InputError for jobs whose traffic or measurement is not known, naming the first."""
        groups = self.plan.groups or first_round(self.plan)
        job = self.plan.jobs(1, groups[:1], len(groups))[0]
        nodes = job.group.nodes or self.plan.discovery.names[:job.num_nodes]
        part = part_of(job, nodes, self.plan.run.name, self.plan.cluster, self.plan.ranks_per_node,
                       steady=self.options.steady)
        asked_of(job.document["spec"])
        check_job(job, part, self.plan.cluster, self.profiles)

    def run(self) -> dict[str, Any]:
        """All jobs of all iterations, or a diagnosis; then the documents and the report."""
        self.ranks.once(lambda: self.profiles.write(self.store))
        self._write_workflow([])
        diagnosis = self._diagnose() if self.plan.diagnose is not None else None
        if diagnosis is None:
            for iteration in range(1, self.plan.iterations + 1):
                self._iteration(self.plan.jobs(iteration))
        return self._finish(diagnosis)

    def _iteration(self, jobs: Sequence[Job]) -> None:
        for wave in waves(jobs, self.plan.max_concurrent):
            self._wave(wave)

    def _diagnose(self) -> Diagnosis:
        diagnosis = _diagnosis(self.plan)
        while not diagnosis.over:
            known = len(self.entries)
            testable = [group for group in diagnosis.groups if self._ranks_of(group.nodes) > 1]
            self._iteration(self.plan.jobs(diagnosis.round + 1, testable))
            diagnosis.advance([entry["group"] for entry in self.entries[known:] if entry["verdict"] != PASSED])
        return diagnosis

    def _ranks_of(self, nodes: Sequence[str]) -> int:
        most = self.plan.ranks_per_node
        return sum(min(len(self.plan.cluster.by_name[name].nics), most) for name in nodes)

    def _wave(self, wave: Sequence[Job]) -> None:
        """Place and run jobs that start at the same time; those that do not start whole wait until their timeout."""
        plan, self.waves = self.plan, self.waves + 1
        folder = self.store.directory / RECORDS / f"wave-{self.waves}"
        placed = {job.name: self._place(job) for job in wave}
        ready = [job for job in wave if placed[job.name].complete]
        parts = self.ranks.once(lambda: [self._part(job, placed[job.name].nodes, folder) for job in ready])
        running = [Running(job, placed[job.name].nodes, part) for job, part in zip(ready, parts, strict=True)]
        found: dict[str, dict[str, Any]] = {}
        end_s = self.now_s
        if running:
            name = f"{part_name(plan.run.name)[:80]}-{self.waves}"
            together = Wave(name, folder, running, self.now_s, plan.timeout_s)
            found, end_s = simulate(together, plan.cluster, self.ranks, self.profiles, limits=self.options.limits,
                                    quiet=self.options.quiet)
        if len(running) < len(wave):
            end_s = max(end_s, self.now_s + plan.timeout_s)
        for job in wave:
            self._ended(job, placed[job.name], found.get(job.name), end_s)
        self.end_s, self.now_s = end_s, next_start_s(end_s)

    def _place(self, job: Job) -> Placed:
        nodes = self.plan.cluster.nodes
        if job.group.nodes:
            nodes = tuple(self.plan.cluster.by_name[name] for name in job.group.nodes)
        return place(job, nodes, self.plan.discovery.gpus_per_node, self.options.busy)

    def _part(self, job: Job, nodes: Sequence[str], folder: Path) -> dict[str, Any]:
        return part_of(job, nodes, self.plan.run.name, self.plan.cluster, self.plan.ranks_per_node,
                       folder, self.options.steady)

    def _ended(self, job: Job, placed: Placed, outcome: dict[str, Any] | None, end_s: float) -> None:
        """Judge a job, and keep its documents and its entry of the report."""
        start, end = spell_ps(round(self.now_s * SECOND_PS)), spell_ps(round(end_s * SECOND_PS))
        finished = outcome is not None and outcome["finished"]
        judgement: Judgement | None = None
        if outcome is not None:
            start, end = outcome["start"], outcome["end"]
        if finished:
            values = measured_values(*(((outcome or {}).get(kind) or {}).get("status") for kind in
                                       ("bandwidth", "goodput")))
            judgement = judge(*asked_of(job.document["spec"]), values)
        reason, message = ("WorkloadCompleted", "Workload completed") if finished else (TIMED_OUT, TIMED_OUT_MESSAGE)
        if not placed.complete:
            message += f"; {len(placed.nodes)} of {job.num_nodes} pods started"
        status = job_status(placed.nodes, succeeded=finished, reason=reason, message=message, start=start, end=end,
                            judgement=judgement)
        racks = sorted({rack for name in placed.nodes if (rack := self.plan.cluster.by_name[name].rack)})
        switches = self._touched(placed.nodes) if outcome is not None else []
        self.entries.append(job_entry(job, placed.nodes, racks, switches, status, outcome, judgement))
        self.ranks.once(lambda: self._write_job(job, status, outcome))

    def _touched(self, nodes: Sequence[str]) -> list[str]:
        from .traffic import nics_of

        if self._paths is None:
            self._paths = _paths(self.plan.cluster)
        return self._paths.between(nics_of(nodes, self.plan.cluster, self.plan.ranks_per_node))

    # ---- documents ---------------------------------------------------------------------------------------------------
    def _write_job(self, job: Job, status: dict[str, Any], outcome: dict[str, Any] | None) -> None:
        self.store.write_document(f"{JOBS}/{job.name}.yaml", {**job.document, "status": status})
        for kind in ("bandwidth", "goodput"):
            document = (outcome or {}).get(kind)
            if document is not None:
                self.store.write_document(f"{MEASUREMENTS}/{job.name}-{kind}.yaml", document)

    def _write_workflow(self, conditions: list[dict[str, Any]]) -> None:
        plan = self.plan
        groups = [{"name": entry["group"], "iteration": entry["iteration"], "nodes": entry["nodes"],
                   "phase": "Succeeded" if entry["verdict"] == PASSED else "Failed",
                   "jobRef": {"kind": "Job", "name": entry["name"]}} for entry in self.entries]
        status = {"conditions": conditions, "orchestration": {
            "totalNodes": len(plan.discovery.nodes), "nodesPerJob": plan.num_nodes,
            "placement": plan.orchestration.get("placement"), "detectedPlatform": plan.platform,
            "detectedGPUArchitecture": plan.gpu_architecture, "gpuProducts": plan.discovery.gpu_products,
            "excludedNodes": plan.discovery.excluded(), "appliedOverrides": plan.overrides, "groups": groups}}
        self.ranks.once(lambda: self.store.write_document(WORKFLOW, {**plan.workflow, "status": status}))

    def _finish(self, diagnosis: Diagnosis | None) -> dict[str, Any]:
        failed = [entry for entry in self.entries if entry["verdict"] != PASSED]
        validation = any(one["type"] == "ValidationFailed" and one["status"] == "True"
                         for entry in failed for one in entry["conditions"])
        at = spell_ps(round(self.end_s * SECOND_PS))
        conditions = workflow_conditions(len(failed), self.plan.iterations, validation, at,
                                         (diagnosis.failed, diagnosis.message) if diagnosis is not None else None)
        self._write_workflow(conditions)
        above = run_conditions(conditions, at)
        report = run_report(self.plan, self.entries, above, diagnosis.status() if diagnosis is not None else None,
                            diagnosis.message if diagnosis is not None else "")
        self.ranks.once(lambda: self._write_run(report, above))
        return report

    def _write_run(self, report: dict[str, Any], conditions: list[dict[str, Any]]) -> None:
        run, namespace = self.plan.run, self.plan.run.metadata.namespace
        reference = {"name": self.plan.workflow["metadata"]["name"], **({"namespace": namespace} if namespace else {})}
        document = run.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"status": {
            "conditions": conditions, "workflowRef": reference, "detectedPlatform": report["platform"],
            "detectedGPUArchitecture": report["gpuArchitecture"], "resolvedGpusPerNode": report["gpusPerNode"],
            "succeededNodes": report["succeededNodes"], "failedNodes": report["failedNodes"]}}
        self.store.write_document(RUN, document)
        self.store.finish(report)


def _diagnosis(plan: Plan) -> Diagnosis:
    settings = plan.diagnose or {}
    key = settings.get("topologyKey") or ""
    domains = {node.name: node.labels.get(key, "") for node in plan.discovery.nodes} if key else {}
    return Diagnosis(plan.discovery.names, domains, int(settings.get("minGroupSize") or 2))


def first_round(plan: Plan) -> list[Group]:
    """The groups that a diagnosis tests first."""
    return _diagnosis(plan).groups


def _paths(cluster: Cluster) -> Paths:
    from distsim.config import from_dict
    from distsim.fabric import build
    from distsim.fabric.routing import build_routes

    from .touched import Paths

    config = from_dict({"simulation": "paths", "fabric": cluster.fabric, "workload": {"kind": "permutation"}})
    fabric = build(config.fabric, config.link_rules())
    return Paths(fabric, build_routes(fabric))


def _check_busy(names: Sequence[str], cluster: Cluster) -> None:
    unknown = [name for name in names if name not in cluster.by_name]
    if unknown:
        raise InputError(f"{', '.join(unknown)}: no such node in cluster {cluster.name}", where="--busy")

