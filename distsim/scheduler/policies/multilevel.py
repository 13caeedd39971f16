"""Policy multilevel: groups of pods, and groups of groups, each inside one domain of the network (schedule_policy
multilevel, annotation huawei.com/affinity-config; the parts are in levels/).

cluster.md section 3. Group g of level 1 holds ranks g * level1 ...; its nodes are in order of their names. Ascend/
mind-cluster, component/ascend-for-volcano/internal/npu/policy/multilevelscheduling/.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from distsim.scheduler.policies import Request
from distsim.scheduler.policies.levels import fresh, reschedule, words
from distsim.scheduler.policies.levels.check import invalid, unsupported
from distsim.scheduler.policies.levels.fresh import Plan, levels_of
from distsim.scheduler.policies.levels.tree import Ground, ground_of
from distsim.scheduler.types import ORDER_FAILED, PREDICATE_FAILED, Job, Placement, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State


class Multilevel:
    """See `NodePolicy`."""

    name = "multilevel"

    def validate(self, job: Job, state: State) -> Refusal | None:
        """affinity-config against the number of pods and resource-level-config (levels/check.py)."""
        return invalid(job, state)

    def place(self, request: Request) -> Placement | Refusal:
        """All pods of the job, or those that lost their nodes beside those that run.

        Notes: tree, fragment (score of the tree before the job), groups (names of the nodes of each group of level 1)
        and reserved (names of the reserved nodes used). A group that a fault drives out of its domain takes its
        running pods along (`Placement.moves`)."""
        job = request.job
        refused = unsupported(job, request.state)
        if refused is not None:
            return refused
        ground = ground_of(request.nodes, request.state.settings.levels)
        pods, usable = len(request.tasks), ground.usable
        if usable < pods:
            return _refusal(request, ground, PREDICATE_FAILED, f"{usable} of {pods} nodes needed can be used")
        if any(task.node is not None for task in job.npu_tasks):
            found: Plan | str = reschedule.beside(request, ground)
        else:
            found = (reschedule.where_it_was(request, ground) or fresh.whole_job(ground, job, pods)
                     or words.no_tree(ground, levels_of(job), pods))
        if isinstance(found, str):
            return _refusal(request, ground, ORDER_FAILED, found)
        return _placed(request, found)


def _placed(request: Request, plan: Plan) -> Placement:
    places = reschedule.places_of(request)
    order = [plan.nodes[places[task.name]] for task in request.tasks]
    return replace(request.place_on(order, **_notes(request.job, plan)), moves=plan.moves)


def _notes(job: Job, plan: Plan) -> dict[str, Any]:
    groups: dict[int, list[str]] = {}
    for place, node in plan.nodes.items():
        groups.setdefault(place // levels_of(job)[0], []).append(node.name)
    return {"fragment": plan.fragment, "tree": plan.tree, "groups": list(groups.values()),
            "reserved": list(plan.reserved)}


def _refusal(request: Request, ground: Ground, condition: str, why: str) -> Refusal:
    job, pods = request.job, len(request.tasks)
    asked = ", ".join(f"level{level}={size}" for level, size in enumerate(levels_of(job), 1))
    nodes = {reason: tuple(names) for reason, names in [*request.refused.items(), *ground.refused.items()]}
    return Refusal(condition, f"multilevel finds no nodes for {pods} pod{'' if pods == 1 else 's'} of job {job.name} "
                              f"({asked}): {why}", nodes=nodes)


POLICY = Multilevel()
