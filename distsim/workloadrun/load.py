"""Reading a WorkloadRun from a file, with every rule that can be checked before there is a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from distsim.config.problems import ConfigError, problem
from distsim.config.yaml_reader import Document, Place, read_text
from distsim.errors import InputError
from distsim.measure.manifest import documents, kind_of, validated

from . import template_keys
from .conditions import check_expression
from .gang import composed_labels, resolved_intent
from .overrides import OverrideError
from .spec import WorkloadRun
from .workflow import generated_overrides

KIND, BESIDE = "WorkloadRun", ("LogProfile",)


def load_workloadrun(path: str) -> WorkloadRun:
    """The WorkloadRun of a file; LogProfiles may stand beside it.

    Raises InputError with file, line and path of the document for whatever is wrong in it.
    """
    found: dict[str, list[Document]] = {}
    for document in documents(read_text(Path(path)), path):
        found.setdefault(kind_of(document), []).append(document)
    strange = [kind for kind in found if kind not in (KIND, *BESIDE)]
    if strange:
        raise InputError(f"holds a {', '.join(strange)}; valid kinds: {', '.join((KIND, *BESIDE))}", file=path)
    runs = found.get(KIND, [])
    if len(runs) != 1:
        raise InputError(f"holds {len(runs)} {KIND} documents; one is wanted", file=path)
    return run_of(runs[0], tuple(found.get(BESIDE[0], ())))


def run_of(document: Document, beside: tuple[Document, ...] = ()) -> WorkloadRun:
    """A document as a WorkloadRun; InputError as `load_workloadrun`."""
    run = validated(document, WorkloadRun).came_from(document, beside)
    wrong = [*_thresholds(run, document), *_overrides(run, document), *_labels(run, document)]
    if wrong:
        raise ConfigError(wrong)
    return run


def _thresholds(run: WorkloadRun, document: Document) -> Iterator[InputError]:
    """Unknown keys all at once, then each expression that is not one."""
    thresholds = run.spec.thresholds
    if not thresholds:
        return
    from distsim.measure.threshold import KEYS, Threshold

    place: Place = ("spec", "thresholds")
    unknown = sorted(key for key in thresholds if key not in KEYS)
    if unknown:
        yield problem(document, (*place, unknown[0]),
                      f"workloadrun {run.name}: unknown threshold key(s) [{', '.join(unknown)}]; valid keys: "
                      f"[{', '.join(KEYS)}]")
    for key, expression in thresholds.items():
        if key in KEYS:
            try:
                Threshold(f"{key}={expression}")
            except InputError as error:
                yield problem(document, (*place, key), error.message)


def _overrides(run: WorkloadRun, document: Document) -> Iterator[InputError]:
    """Expressions of `when` that are none, and keys of a jobTemplate that it does not have."""
    generated = len(generated_overrides(run.spec))
    for index, override in enumerate(run.spec.overrides):
        place: Place = ("spec", "overrides", index)
        for below, wrong in template_keys.problems(override.jobTemplate):
            yield problem(document, (*place, "jobTemplate", *below), wrong)
        expression = override.when.expression
        try:
            if expression:
                check_expression(expression)
        except ValueError as error:
            file, line = document.locate((*place, "when", "expression"))
            yield OverrideError(generated + index, f"evaluating when: {error}", file=file, line=line)


def _labels(run: WorkloadRun, document: Document) -> Iterator[InputError]:
    given = run.spec.workloadMetadata
    try:
        composed_labels(given.labels if given is not None else {}, resolved_intent(run.spec.gangScheduler))
    except InputError as error:
        file, line = document.locate(("spec", "workloadMetadata", "labels"))
        yield InputError(error.message, file=file, line=line)
