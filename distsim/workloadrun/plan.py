"""What a run is going to do on a cluster, before any job is made: nodes, the resolved Workflow, groups and jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.measure.units import parse_duration_s

from .discovery import Discovery, targeted, with_capacity
from .hardware import check_architecture, check_platform, hardware_of, usual_gpus
from .jobs import Job, job_documents
from .orchestration import Diagnose
from .placement import Group, groups, ignored_topology_key
from .pods import plain
from .render import resolve_run
from .requests import gpus_per_node, nodes_per_job

if TYPE_CHECKING:
    from distsim.cluster import Cluster

    from .spec import WorkloadRun


@dataclass(frozen=True)
class Plan:
    """workflow : the resolved document. groups : of every iteration; under diagnose those of the first round are made
    later. num_nodes : of a job. warnings, overrides : to be told. platform, gpu_architecture : as given, else as
    found."""

    run: WorkloadRun
    cluster: Cluster
    workflow: dict[str, Any]
    discovery: Discovery
    groups: list[Group]
    num_nodes: int
    warnings: list[str]
    overrides: list[dict[str, Any]]
    platform: str
    gpu_architecture: str

    @property
    def orchestration(self) -> Mapping[str, Any]:
        """spec.orchestration of the Workflow."""
        found: Mapping[str, Any] = self.workflow["spec"]["orchestration"]
        return found

    @property
    def iterations(self) -> int:
        """How often all groups run."""
        return int(self.orchestration.get("iterations") or 1)

    @property
    def ranks_per_node(self) -> int:
        """Processes of a job on each of its nodes."""
        trainer = self.workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]["trainer"]
        given = trainer.get("numProcPerNode")
        return given if isinstance(given, int) else self.discovery.gpus_per_node      # auto, gpu: one a GPU

    @property
    def max_concurrent(self) -> int:
        """Jobs that run at once, 0: no limit."""
        return int((self.orchestration.get("execution") or {}).get("maxConcurrent") or 0)

    @property
    def timeout_s(self) -> float:
        """Longest time of a job, simulated seconds."""
        return parse_duration_s((self.orchestration.get("execution") or {}).get("timeoutPerJob") or "1h")

    @property
    def diagnose(self) -> Mapping[str, Any] | None:
        """Settings of a diagnosis, None without one."""
        found: Mapping[str, Any] | None = self.orchestration.get("diagnose")
        return found

    def jobs(self, iteration: int = 1, chosen: list[Group] | None = None, total: int | None = None) -> list[Job]:
        """The jobs of one iteration, of all groups or of those chosen. total : groups that there are, for the names."""
        return job_documents(self.workflow, self.discovery, self.groups if chosen is None else chosen, iteration,
                             iterations=self.iterations, diagnose=self.diagnose is not None, total=total)


def make_plan(run: WorkloadRun, cluster: Cluster, platform: str | None = None, gpu_arch: str | None = None) -> Plan:
    """Discover nodes, resolve the Workflow, and group the nodes.

    platform, gpu_arch : in place of what the nodes say. InputError for whatever stands in the way of the run, with the
    texts of the original; nothing has been made then.
    """
    found = targeted(cluster.nodes, run.spec.target.model_dump(), platform=cluster.platform)
    platform, gpu_arch = check_platform(platform), check_architecture(gpu_arch)
    hardware = hardware_of(run.spec, platform or found.platform, gpu_arch or _known(found.gpu_architecture),
                           usual_gpus(found.nodes))
    resolved = resolve_run(run, hardware, found.nodes)
    spec = resolved.workflow["spec"]
    target = spec["orchestration"].get("target")
    if target != plain(run.spec.target):                 # an override named other nodes
        found = targeted(cluster.nodes, target, platform=cluster.platform)
    _check_queue(spec.get("gangScheduler"), cluster)
    num_nodes = nodes_per_job(resolved.workflow)
    discovery = with_capacity(found, gpus_per_node(resolved.workflow) or hardware.gpus)
    warnings = [*cluster.warnings, *resolved.notices()]
    ignored = ignored_topology_key(spec["orchestration"])
    if ignored:
        warnings.append(f"orchestration.topology.topologyKey {ignored} is not used: Unpinned makes no groups")
    if discovery.excluded():
        warnings.append(discovery.exclusion_reason())
    made = [] if spec["orchestration"].get("diagnose") else groups(discovery, spec["orchestration"], num_nodes)
    return Plan(run, cluster, resolved.workflow, discovery, made, num_nodes, warnings,
                [one.to_dict() for one in resolved.applied], platform or discovery.platform,
                gpu_arch or discovery.gpu_architecture)


def with_diagnose(run: WorkloadRun, topology_key: str) -> WorkloadRun:
    """The same run in diagnose mode, as its orchestration.diagnose would say; what the file says of it comes first.
    InputError where the placement contradicts it."""
    given = run.spec.orchestration
    diagnose = given.diagnose or Diagnose(minGroupSize=2, topologyKey=topology_key)
    orchestration = given.model_copy(update={"diagnose": diagnose})
    changed = run.model_copy(update={"spec": run.spec.model_copy(update={"orchestration": orchestration})})
    return changed


def _known(architecture: str) -> str:
    return "" if architecture == "unknown" else architecture


def _check_queue(gang: Mapping[str, Any] | None, cluster: Cluster) -> None:
    names = [queue.name for queue in cluster.queues]
    if gang and names and gang.get("queue") not in names:
        raise InputError(f"queue {gang.get('queue')!r} is not a queue of cluster {cluster.name}; valid: "
                         f"{', '.join(names)}", where="spec.gangScheduler.queue")
