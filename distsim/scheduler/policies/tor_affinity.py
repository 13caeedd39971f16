"""Policy tor-affinity: whole jobs by top-of-rack switch and slice (label tor-affinity; the parts are in tor/).

Each pod gets a node of its own. Where a job can be placed without nodes whose pods failed before (bad_score) or that
are sub-healthy, it is (seed 001, subHealthyStrategy ignore); mind-cluster lets its switch scores override those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.scheduler.policies import Request
from distsim.scheduler.policies.tor import reschedule, reschedule2, single_layer, topology, version1, version2, words
from distsim.scheduler.policies.tor.classes import Kind, invalid, kind_of
from distsim.scheduler.policies.tor.states import NOTE
from distsim.scheduler.policies.tor.switches import Plan, View, view_of
from distsim.scheduler.types import ORDER_FAILED, PREDICATE_FAILED, Job, Placement, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State

NO_SWITCH = "node is at no switch of the basic-tor-node-cm"
OWN_NODE = "node runs another pod of the job"
NOT_ALL_PODS = "node has no chips for every pod of the job"


@dataclass(frozen=True)
class Rules:
    """How a job is placed. whole : nodes for all its pods. last : for a normal job that finds none so, None without.
    lost : nodes for pods that lost theirs, beside those of the pods that run."""

    whole: Callable[[View, int], Plan | str]
    last: Callable[[View, int], Plan | str] | None
    lost: Callable[[View, Sequence[Task], Sequence[NodeState]], Plan | str]


SINGLE_LAYER = Rules(single_layer.affine, None, reschedule.same_switch)
VERSIONS = {"1.0": Rules(version1.affine, version1.any_nodes, reschedule.same_slice),
            "2.0": Rules(version2.affine, version2.overflow, reschedule2.replacements)}


class TorAffinity:
    """See `NodePolicy`."""

    name = "tor-affinity"

    def validate(self, job: Job, state: State) -> Refusal | None:
        """A label that is none, no topology, parts of chips, or more pods than the one switch that it stays at has."""
        return invalid(job, state)

    def place(self, request: Request) -> Placement | Refusal:
        """All pods of the job, or those that lost their node while others run.

        Notes: slices (slice_id -> nodes of the job), switches, rows (of the rank order), class, form (how the nodes
        were found) and, for version 2.0, states (tor_id -> what the job makes of the switch)."""
        kept = [request.state.nodes[task.node] for task in request.job.npu_tasks if task.node is not None]
        nodes, barred = _usable(request, kept)
        if len(nodes) < len(request.tasks):
            return _refusal(request, barred, PREDICATE_FAILED,
                            f"{len(nodes)} of {words.nodes(len(request.tasks))} needed can be used "
                            f"(lack {len(request.tasks) - len(nodes)})")
        plan = _plan(request, nodes, kept)
        if isinstance(plan, str):
            return _refusal(request, barred, PREDICATE_FAILED if kept else ORDER_FAILED, plan)
        return request.place_on(plan.nodes, **_notes(request, plan, kept))


def _plan(request: Request, nodes: Sequence[NodeState], kept: Sequence[NodeState]) -> Plan | str:
    """Where the pods go, or why not. kept : nodes of the pods of the job that run."""
    rules, tasks, views = rules_of(request.state), request.tasks, _views(request, nodes)
    if kept:
        return _first(views, lambda view: rules.lost(view, tasks, kept))
    found = _first(views, lambda view: rules.whole(view, len(tasks)))
    last = rules.last
    if isinstance(found, str) and last is not None and kind_of(request.job) is Kind.NORMAL:
        found = _first(views, lambda view: last(view, len(tasks)))
    return found


def _views(request: Request, nodes: Sequence[NodeState]) -> list[View]:
    """What to try: the sound nodes, if there are others, then all."""
    sound = [node for node in nodes if not node.bad_score and not node.sub_healthy]
    tries = [nodes] if len(sound) == len(nodes) else [sound, nodes]
    return [view_of(request.state, request.job, some) for some in tries]


def _first(views: Sequence[View], place: Callable[[View], Plan | str]) -> Plan | str:
    """The plan of the first view that has one, else what the last one says."""
    found: Plan | str = ""
    for view in views:
        found = place(view)
        if isinstance(found, Plan):
            break
    return found


def rules_of(state: State) -> Rules:
    """The rules of a cluster: its tor_level, then nslb-version."""
    return SINGLE_LAYER if topology.single_layer(state) else VERSIONS[state.settings.nslb_version]


def _usable(request: Request, kept: Sequence[NodeState]) -> tuple[list[NodeState], dict[str, list[str]]]:
    """The nodes that may take any pod of the request, and reason -> names of the others among those offered."""
    one_of_each = list({task.chips: task for task in request.tasks}.values())
    own = {node.name for node in kept}
    nodes: list[NodeState] = []
    barred: dict[str, list[str]] = {}
    for node in request.nodes:
        if node.tor < 0:
            barred.setdefault(NO_SWITCH, []).append(node.name)
        elif node.name in own:
            barred.setdefault(OWN_NODE, []).append(node.name)
        elif len(one_of_each) > 1 and any(isinstance(request.chips_on(node, task), str) for task in one_of_each):
            barred.setdefault(NOT_ALL_PODS, []).append(node.name)
        else:
            nodes.append(node)
    return nodes, barred


def _notes(request: Request, plan: Plan, kept: Sequence[NodeState]) -> dict[str, Any]:
    nodes = [*plan.nodes, *kept]
    rows = request.job.notes.get("rows", len(plan.rows)) if kept else len(plan.rows)
    notes: dict[str, Any] = {
        "slices": dict(sorted(Counter(node.slice for node in nodes).items())),
        "switches": len({node.tor for node in nodes}), "rows": rows, "class": str(kind_of(request.job)),
        "form": plan.form}
    if rules_of(request.state) is VERSIONS["2.0"]:
        notes[NOTE] = {tor: str(kind) for tor, kind in sorted(plan.states.items())}
    return notes


def _refusal(request: Request, barred: dict[str, list[str]], condition: str, why: str) -> Refusal:
    job, pods = request.job, len(request.tasks)
    nodes = {reason: tuple(names) for reason, names in [*request.refused.items(), *barred.items()]}
    return Refusal(condition, f"tor-affinity finds no nodes for {pods} pod{'' if pods == 1 else 's'} of job {job.name} "
                              f"({kind_of(job)}): {why}", nodes=nodes)


POLICY = TorAffinity()
