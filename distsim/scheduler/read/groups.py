"""PodGroups (scheduling.volcano.sh/v1beta1): of a job in the same files, with pods that name them, or by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from distsim.config.problems import problem
from distsim.scheduler.read import amounts
from distsim.scheduler.read.draft import Draft, Role, topology_of
from distsim.scheduler.read.found import Found
from distsim.scheduler.read.notes import Notes, unused
from distsim.scheduler.read.objects import PodGroup
from distsim.scheduler.read.pod_objects import Pod
from distsim.scheduler.read.pods import PodFacts, facts_of

# Annotations by which a pod names its PodGroup; the first counts (volcano, pkg/scheduler/api/job_info.go).
GROUP_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
TASK_SPEC = "volcano.sh/task-spec"
_OWNERS = {"Job": "VolcanoJob", "AscendJob": "AscendJob"}


@dataclass
class Group:
    """A PodGroup and the pods that name it."""

    found: Found
    spec: PodGroup
    pods: list[Role] = field(default_factory=list)
    names: set[str] = field(default_factory=set)       # of its pods

    @property
    def uid(self) -> str:
        """namespace/name."""
        return f"{self.spec.metadata.namespace}/{self.spec.metadata.name}"


def read_groups(groups: Sequence[Found], pods: Sequence[Found], notes: Notes) -> dict[str, Group]:
    """The PodGroups by uid, each with its pods; InputError for two of a name, and a pod that names one that is not
    there. A pod that names none is noted and passed over."""
    found: dict[str, Group] = {}
    for one in groups:
        group = Group(one, one.read(PodGroup))
        if group.uid in found:
            raise problem(one.document, one.at("metadata", "name"), f"PodGroup {group.uid} is given twice")
        found[group.uid] = group
        notes.ignore(one.file, "PodGroup", [*unused(group.spec), *unused(group.spec.spec)])
    for one in pods:
        _join(one, found, notes)
    return found


def join_job(draft: Draft, groups: dict[str, Group], notes: Notes) -> None:
    """Give a job what its PodGroup says and it does not; the PodGroup is taken out of `groups`.

    It is the one that names the job as its owner, or has its name. Its pods in the files are those of the job already,
    which is noted."""
    for uid, group in groups.items():
        metadata = group.spec.metadata
        owned = any(_OWNERS.get(str(owner.get("kind"))) == draft.kind and owner.get("name") == draft.metadata.name
                    for owner in metadata.ownerReferences)
        if metadata.namespace == draft.metadata.namespace and (owned or metadata.name == draft.metadata.name):
            _give(draft, group)
            if group.pods:
                notes.ignore(group.found.file, "objects", [f"{len(group.pods)} pods of {uid}, made by job {draft.uid}"])
            del groups[uid]
            return


def group_draft(group: Group, notes: Notes) -> Draft:
    """The draft of a PodGroup as a job of its own: its pods, or minMember equal pods of minResources together."""
    metadata, spec = group.spec.metadata, group.spec.spec
    draft = Draft("PodGroup", group.found, metadata, group.pods or [_equal_pods(group)],
                  default_available=spec.minMember)
    _give(draft, group)
    draft.group = None
    if group.pods:
        notes.ignore(group.found.file, "PodGroup", ["minResources"] if spec.minResources else [])
    draft.priority_classes += [role.facts.priority_class for role in draft.roles]
    if draft.priority is None:
        draft.priority = draft.roles[0].facts.priority
    return draft


def _give(draft: Draft, group: Group) -> None:
    spec = group.spec.spec
    draft.group = group.spec.metadata
    draft.topology = draft.topology or topology_of(spec.networkTopology)
    if draft.queue is None and "queue" in spec.model_fields_set:
        draft.queue = spec.queue
    if draft.min_available is None and "minMember" in spec.model_fields_set:
        draft.min_available = spec.minMember
    draft.priority_classes.insert(1, spec.priorityClassName)
    draft.priority = spec.priority if draft.priority is None else draft.priority


def _join(one: Found, groups: dict[str, Group], notes: Notes) -> None:
    """Put a pod to its PodGroup."""
    pod = one.read(Pod)
    metadata = pod.metadata
    key = next((key for key in GROUP_NAMES if key in metadata.annotations), None)
    if key is None:
        notes.ignore(one.file, "objects", [f"Pod {metadata.name}, of no PodGroup"])
        return
    uid = f"{metadata.namespace}/{metadata.annotations[key]}"
    if uid not in groups:
        raise problem(one.document, one.at("metadata", "annotations", key),
                      f"PodGroup {uid} of pod {metadata.name} is in none of the files; "
                      f"there are: {', '.join(groups) or 'none'}")
    group = groups[uid]
    if metadata.name in group.names:
        raise problem(one.document, one.at("metadata", "name"), f"pod {metadata.name!r} is given twice")
    group.names.add(metadata.name)
    facts = facts_of(pod.spec, one.document, one.at("spec"), notes)
    annotations = {name: text for name, text in metadata.annotations.items() if name not in (*GROUP_NAMES, TASK_SPEC)}
    group.pods.append(Role(metadata.annotations.get(TASK_SPEC, "pod"), (metadata.name,), facts, metadata.labels,
                           annotations))
    notes.ignore(one.file, "pods", [name for name in pod.model_extra or {} if name not in ("apiVersion", "kind")])


def _equal_pods(group: Group) -> Role:
    """minMember pods that share minResources; InputError if there are none, or chips do not divide."""
    spec, found, count = group.spec.spec, group.found, group.spec.spec.minMember
    place = found.at("spec", "minResources")
    if not spec.minResources:
        raise problem(found.document, found.at("spec"), f"PodGroup {group.uid} has neither pods in the files nor "
                                                        "minResources, which would say what its pods ask for")
    request = {}
    for name, given in spec.minResources.items():
        try:
            total = amounts.amount(name, given)
        except amounts.WrongAmount as error:
            raise problem(found.document, (*place, name), str(error)) from None
        if amounts.is_chip(name) and total % count:
            raise problem(found.document, (*place, name), f"{total} chips are no whole number for each of minMember "
                                                          f"{count} pods")
        request[name] = -(-total // count)
    chips = amounts.chip_resources([request])
    names = tuple(f"{group.spec.metadata.name}-{number}" for number in range(count))
    return Role("pod", names, PodFacts(request, chips[0] if chips else ""))
