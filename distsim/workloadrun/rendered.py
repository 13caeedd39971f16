"""The text of `distsim workloadrun render`: the Workflow, and on a cluster the Jobs of its first iteration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from .jobs import job_documents, job_name
from .load import load_workloadrun
from .placement import Group
from .plan import Plan, make_plan
from .render import rendered, to_yaml

# Words that YAML reads as they stand; anything else is written by the YAML library.
_PLAIN = re.compile(r"(?!(?:null|true|false|yes|no|on|off|y|n)$)[a-z][a-z0-9.-]*", re.ASCII)
_MARK = "placeholder-{}-of-a-job"


def render_text(file: str, cluster: str | None, platform: str | None, gpu_arch: str | None,
                form: str) -> tuple[str, list[str]]:
    """Text in yaml or json, and lines to tell. With a cluster: documents one after the other, in json a List."""
    if cluster is None:
        found = rendered(file, platform, gpu_arch, None, form)
        return found.text, found.notices
    from distsim.cluster import load_cluster

    plan = make_plan(load_workloadrun(file), load_cluster(cluster), platform, gpu_arch)
    if form == "json":
        items = [_json(plan.workflow), *job_texts(plan, _json, json.dumps)]
        listed = ",\n".join("    " + item.replace("\n", "\n    ") for item in items)
        return f'{{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": [\n{listed}\n  ]\n}}\n', plan.warnings
    return "---\n".join([to_yaml(plan.workflow), *job_texts(plan, to_yaml, scalar)]), plan.warnings


def job_texts(plan: Plan, spell: Callable[[dict[str, Any]], str], word: Callable[[str], str]) -> Iterator[str]:
    """The Jobs of the first iteration (of a diagnosis: of its first round), as `spell` would write each document.

    Jobs differ in names and nodes only, so one of each size is written with placeholders, and these are filled in: ten
    thousand nodes take a second. word : writes a single text.
    """
    from .run import first_round

    groups = first_round(plan) if plan.diagnose is not None else plan.groups
    written: dict[int, list[str]] = {}
    for group in groups:
        size = len(group.nodes)
        if size not in written:
            written[size] = _split(spell(_placeholder(plan, size)), size, word)
        name = job_name(plan.workflow["metadata"]["name"], group.name, 1, groups=len(groups),
                        iterations=plan.iterations, diagnose=plan.diagnose is not None)
        fill = {"name": word(name), "group": word(group.name), "nodes": word(",".join(group.nodes))}
        fill |= {str(at): word(node) for at, node in enumerate(group.nodes)}
        parts = written[size]
        yield "".join(fill[part] if at % 2 else part for at, part in enumerate(parts))


def scalar(text: str) -> str:
    """A text as YAML writes it in a mapping or a list."""
    if all(_PLAIN.fullmatch(part) for part in text.split(",")):
        return text
    return yaml.safe_dump([text], width=2**31, allow_unicode=True)[2:].rstrip("\n")


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _placeholder(plan: Plan, size: int) -> dict[str, Any]:
    """The document of a job of so many nodes with placeholders for what is its own."""
    nodes = tuple(_MARK.format(at) for at in range(size))
    group = Group(_MARK.format("group"), nodes)
    job = job_documents(plan.workflow, plan.discovery, [group], 1, iterations=plan.iterations,
                        diagnose=plan.diagnose is not None)[0]
    job.document["metadata"]["name"] = _MARK.format("name")
    if nodes:
        job.document["metadata"]["annotations"]["nvcre.nvidia.com/group-nodes"] = _MARK.format("nodes")
    return job.document


def _split(text: str, size: int, word: Callable[[str], str]) -> list[str]:
    """The text between placeholders and, at the odd places, which placeholders they are."""
    names = ["name", "group", "nodes", *map(str, range(size))]
    marks = {word(_MARK.format(name)): name for name in names}
    parts: Sequence[str] = re.split("(" + "|".join(re.escape(mark) for mark in marks) + ")", text)
    return [marks[part] if at % 2 else part for at, part in enumerate(parts)]
