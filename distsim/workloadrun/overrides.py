"""Applying a Workflow's overrides, in their order, so that the later of two wins.

Source: NVIDIA/cluster-readiness-engine, override semantics of a Workflow.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from distsim.errors import InputError

from . import template_keys
from .conditions import Facts, applies, summary
from .merge import merged
from .orchestration import OrchestrationOverride
from .override_spec import Override, When
from .pods import plain

Spec = dict[str, Any]                                # spec of a Workflow


@dataclass(frozen=True)
class AppliedOverride:
    """An override whose conditions held. no_op : it changed nothing, which mostly means that a path in it is wrong."""

    index: int
    when: str
    patches: str
    no_op: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As in status.orchestration.appliedOverrides."""
        no_op = {"noOp": True} if self.no_op else {}
        return {"index": self.index, "when": self.when, "patches": self.patches, **no_op}


class OverrideError(InputError):
    """An override that cannot be applied. index : its place in the Workflow's list."""

    def __init__(self, index: int, message: str, **place: Any):
        super().__init__(f"override[{index}]: {message}", **place)
        self.index = index


def apply_overrides(spec: Spec, facts: Facts) -> tuple[Spec, list[AppliedOverride]]:
    """A copy of a Workflow's spec with its overrides applied and taken out, and which of them applied.

    Raises OverrideError for an override that cannot be evaluated, merged or patched.
    """
    result = {key: copy.deepcopy(value) for key, value in spec.items() if key != "overrides"}
    applied = []
    for index, given in enumerate(spec.get("overrides") or ()):
        override = Override.model_validate(given)
        if not _holds(index, override.when, facts):
            continue
        before = _text(result)
        _apply(index, override, result)
        applied.append(AppliedOverride(index, summary(override.when), _patches(override), before == _text(result)))
    result["dependencies"] = list(_needed(result.get("dependencies") or [], facts))
    return result, applied


def _holds(index: int, when: When, facts: Facts) -> bool:
    try:
        return applies(when, facts)
    except ValueError as error:
        raise OverrideError(index, f"evaluating when: {error}") from None


def _apply(index: int, override: Override, spec: Spec) -> None:
    if override.jobTemplate is not None:
        template = merged(spec["jobTemplate"], override.jobTemplate)
        _check(index, "failed to merge jobTemplate", template)
        spec["jobTemplate"] = template
    if override.jobTemplatePatch is not None:
        operations = [plain(operation) for operation in override.jobTemplatePatch]
        try:
            template = _patched(spec["jobTemplate"], operations)
        except ValueError as error:
            raise OverrideError(index, f"failed to apply jobTemplatePatch: {error}") from None
        _check(index, "failed to apply jobTemplatePatch", template)
        spec["jobTemplate"] = template
    spec["dependencies"] = _with(spec.get("dependencies") or [], override.dependencies)
    if override.orchestration is not None:
        spec["orchestration"] = {**spec["orchestration"], **_orchestration(override.orchestration)}


def _orchestration(changes: OrchestrationOverride) -> dict[str, Any]:
    """The parts that an override puts in place, whole."""
    given = {"target": plain(changes.target) if changes.target is not None else None,
             "topology": changes.topology.model_dump() if changes.topology is not None else None,
             "execution": changes.execution.model_dump() if changes.execution is not None else None,
             "iterations": changes.iterations}
    return {key: value for key, value in given.items() if value is not None}


def _check(index: int, what: str, template: Any) -> None:
    for place, wrong in template_keys.problems(template):
        raise OverrideError(index, f"{what}: {'.'.join(map(str, place))}: {wrong}")


def _patched(template: Any, operations: list[dict[str, Any]]) -> Any:
    from jsonpatch import JsonPatch, JsonPatchException
    from jsonpointer import JsonPointerException

    try:
        return JsonPatch(operations).apply(template)
    except (JsonPatchException, JsonPointerException) as error:
        raise ValueError(" ".join(str(error).split())[:300]) from None
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"a path leads through what is no section or list ({error})") from None


def _with(dependencies: list[dict[str, Any]], changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Dependencies, each change merged into the first of its apiVersion, kind and name, or added."""
    result = list(dependencies)
    for change in changes:
        found = next((at for at, one in enumerate(result) if _identity(one) == _identity(change)), None)
        if found is None:
            result.append(merged(None, change))
        else:
            result[found] = merged(result[found], change)
    return result


def _identity(dependency: dict[str, Any]) -> tuple[Any, Any, Any]:
    return dependency.get("apiVersion"), dependency.get("kind"), (dependency.get("metadata") or {}).get("name")


def _needed(dependencies: list[dict[str, Any]], facts: Facts) -> Iterator[dict[str, Any]]:
    """Those whose own `when` holds, without it."""
    for dependency in dependencies:
        when = When.model_validate(dependency.get("when") or {})
        try:
            needed = applies(when, facts)
        except ValueError as error:
            raise InputError(f"dependency {_identity(dependency)[2]}: evaluating when: {error}") from None
        if needed:
            yield {key: value for key, value in dependency.items() if key != "when"}


def _patches(override: Override) -> str:
    parts = []
    if override.jobTemplate is not None:
        parts.append("jobTemplate")
    if override.jobTemplatePatch is not None:
        parts.append("jobTemplatePatch")
    if override.dependencies:
        parts.append(f"{len(override.dependencies)} dependencies")
    if override.orchestration is not None:
        parts.append("orchestration")
    return ", ".join(parts) or "none"


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True)
