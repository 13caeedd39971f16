"""Rendering: the Workflow of a run, its overrides applied where the platform is known.

Source: NVIDIA/cluster-readiness-engine, `workloadrun render`. `sim` and --cluster are ours: a cluster file stands in
for the live cluster of --dry-run.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from distsim.errors import InputError

from .conditions import BY_TOPOLOGY, SIMPLE, Facts
from .gang import checked
from .hardware import Hardware, check_architecture, check_platform, hardware_of
from .load import load_workloadrun
from .names import ARCHITECTURE_NOTE, PLATFORM_NOTE
from .orchestration import check_placement
from .overrides import AppliedOverride, OverrideError, apply_overrides
from .requests import nodes_per_job
from .spec import WorkloadRun
from .workflow import build_workflow, generated_overrides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distsim.cluster import Node

Data = dict[str, Any]
OUTPUTS = ("yaml", "json")


@dataclass(frozen=True)
class Resolved:
    """A Workflow whose overrides are applied and taken out. applied : those whose conditions held, in order."""

    workflow: Data
    applied: tuple[AppliedOverride, ...] = ()

    def notices(self) -> list[str]:
        """A line for each override that applied and changed nothing."""
        return [f"override[{one.index}] ({one.when}) matched and changed nothing ({one.patches}): noOp"
                for one in self.applied if one.no_op]


@dataclass(frozen=True)
class Rendered:
    """The text of a Workflow, and what there is to say about it."""

    text: str
    notices: list[str] = field(default_factory=list)


def facts_of(workflow: Data, platform: str = "", architecture: str = "", nodes: Iterable[Node] = (),
             config: Data | None = None) -> Facts:
    """What the conditions of a Workflow's overrides are held against. nodes : the eligible ones, for the domains."""
    spec = workflow["spec"]
    topology = spec["orchestration"].get("topology")
    key = (topology or {}).get("topologyKey", "")
    domains = {node.labels[key] for node in nodes if node.labels.get(key)} if key else set()
    kinds = spec["jobTemplate"]["spec"].get("workload") or {}
    performance = (spec.get("validation") or {}).get("performance") or {}
    return Facts(platform, architecture, "TrainJob" if kinds.get("trainJob") else "",
                 SIMPLE if topology is None else BY_TOPOLOGY, len(domains),
                 performance.get("config") if config is None else config)


def resolve(workflow: Data, facts: Facts) -> Resolved:
    """Apply a Workflow's overrides, then check placement, labels, scheduling and the number of nodes.

    Raises InputError (OverrideError with the override's index) for the first thing that is wrong. `workflow` stays as
    it is.
    """
    spec, applied = apply_overrides(workflow["spec"], facts)
    check_placement(spec["orchestration"])
    spec = checked(spec)
    nodes_per_job({"spec": spec})
    metadata = dict(workflow["metadata"])
    notes = {ARCHITECTURE_NOTE: facts.gpu_architecture, PLATFORM_NOTE: facts.platform}
    known = {key: value for key, value in notes.items() if value}
    if known:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **known}
    return Resolved({**workflow, "metadata": metadata, "spec": spec}, tuple(applied))


def resolve_run(run: WorkloadRun, hardware: Hardware, nodes: Iterable[Node] = ()) -> Resolved:
    """Build a run's Workflow and resolve it for a platform; errors say in which file and which override they arose."""
    workflow = build_workflow(run, hardware)
    try:
        return resolve(workflow, facts_of(workflow, hardware.platform, hardware.architecture, nodes))
    except InputError as error:
        raise _located(error, run) from None


def render(path: str, platform: str | None = None, gpu_arch: str | None = None, cluster: str | None = None,
           output: str = "yaml") -> str:
    """The text of the Workflow of a run's file, as `rendered` gives it."""
    return rendered(path, platform, gpu_arch, cluster, output).text


def rendered(path: str, platform: str | None = None, gpu_arch: str | None = None, cluster: str | None = None,
             output: str = "yaml") -> Rendered:
    """The Workflow of a run's file.

    Without a platform and a cluster its overrides stay in it, and what depends on them is not checked. The nodes of
    a cluster file say platform, kind of GPU and domains; what is given beside it wins. Raises InputError.
    """
    if output not in OUTPUTS:
        raise InputError(f"{output!r} is not valid; valid values: {', '.join(OUTPUTS)}", where="--output")
    platform, architecture = check_platform(platform), check_architecture(gpu_arch)
    run = load_workloadrun(path)
    spell = to_yaml if output == "yaml" else to_json
    if cluster is not None:
        from distsim.cluster import load_cluster

        from .plan import make_plan

        plan = make_plan(run, load_cluster(cluster), platform, architecture)
        return Rendered(spell(plan.workflow), plan.warnings)
    hardware = hardware_of(run.spec, platform, architecture)
    if not platform:
        return Rendered(spell(build_workflow(run, hardware)))
    resolved = resolve_run(run, hardware)
    return Rendered(spell(resolved.workflow), resolved.notices())


def to_yaml(document: Data) -> str:
    """A document as YAML, keys in their order."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=4096)


def to_json(document: Data) -> str:
    """A document as JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


class _Dumper(yaml.SafeDumper):
    """Writes repeated parts out instead of pointing at them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _located(error: InputError, run: WorkloadRun) -> InputError:
    """The error with the file of the run, and the line of the override if it is one of the run's own."""
    if error.file is not None:
        return error
    place: tuple[str | int, ...] = ()
    if isinstance(error, OverrideError):
        place = ("spec", "overrides", error.index - len(generated_overrides(run.spec)))
    file, line = run.locate(place)
    return InputError(error.message, file=file, line=line if place else None, where=error.where)
