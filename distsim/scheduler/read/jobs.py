"""read_jobs: the jobs of files as people have them for MindCluster's Volcano."""

from __future__ import annotations

from collections.abc import Sequence

from distsim.config.problems import problem
from distsim.scheduler.read.ascend import ascend_draft
from distsim.scheduler.read.draft import Draft, finish
from distsim.scheduler.read.found import Found, Objects, no_jobs, read_objects
from distsim.scheduler.read.groups import group_draft, join_job, read_groups
from distsim.scheduler.read.notes import Notes
from distsim.scheduler.read.pod_objects import PriorityClass
from distsim.scheduler.read.priorities import Priorities
from distsim.scheduler.read.volcano import volcano_draft
from distsim.scheduler.types import Job


def read_jobs(paths: Sequence[str]) -> tuple[list[Job], list[str]]:
    """The jobs of files (VolcanoJob, AscendJob, PodGroup with or without pods) in the order of the files, and lines
    that name what is read and not acted on.

    A job whose keys cannot be valid is returned with `Job.refusal`. Raises InputError or ConfigError with file and line
    for a file that is broken, an unknown key, a value out of range, two jobs of one name, and files without a job.
    """
    notes = Notes()
    objects = read_objects(paths, notes)
    priorities = _priorities(objects)
    drafts = _drafts(objects, notes)
    if not drafts:
        raise no_jobs(paths)
    _check_names(drafts)
    jobs = [finish(draft, priorities.of(draft.priority_classes, draft.priority, draft.found.document,
                                        draft.found.place, notes), notes) for draft in drafts]
    return jobs, notes.lines()


def _drafts(objects: Objects, notes: Notes) -> list[Draft]:
    """Drafts in the order of the files; a PodGroup of a job in the files belongs to it."""
    groups = read_groups(objects["PodGroup"], objects["Pod"], notes)
    drafts = [volcano_draft(found, notes) for found in objects["Job"]]
    drafts += [ascend_draft(found, notes) for found in objects["AscendJob"]]
    for draft in drafts:
        join_job(draft, groups, notes)
    drafts += [group_draft(group, notes) for group in groups.values()]
    order = {id(found): number for number, found in enumerate(objects.in_order)}
    return sorted(drafts, key=lambda draft: order[id(draft.found)])


def _priorities(objects: Objects) -> Priorities:
    priorities = Priorities()
    for found in objects["PriorityClass"]:
        priorities.add(found.read(PriorityClass), found.document, found.place)
    return priorities


def _check_names(drafts: Sequence[Draft]) -> None:
    """InputError for a second job of a name."""
    seen: dict[str, Found] = {}
    for draft in drafts:
        found = draft.found
        if draft.uid in seen:
            first = seen[draft.uid]
            raise problem(found.document, found.at("metadata", "name"),
                          f"job {draft.uid} is given twice, first in {first.file}:{first.line}")
        seen[draft.uid] = found
