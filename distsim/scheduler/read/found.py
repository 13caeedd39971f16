"""The objects in files of jobs, by kind; what no job comes from is named and passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from distsim.cluster.manifests import read_documents, validated
from distsim.config.problems import problem, shown
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError
from distsim.scheduler.read.notes import Notes

Model = TypeVar("Model", bound=BaseModel)
# apiVersion of each kind that is read. The Job of Kubernetes itself (batch/v1) is not.
VERSIONS = {
    "Job": "batch.volcano.sh/v1alpha1",
    "AscendJob": "mindxdl.gitee.com/v1",
    "PodGroup": "scheduling.volcano.sh/v1beta1",
    "Pod": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}


@dataclass(frozen=True)
class Found:
    """An object and where it stands."""

    document: Document
    place: Place

    @property
    def file(self) -> str | None:
        """The file that it stands in."""
        return self.document.file

    @property
    def line(self) -> int | None:
        """The line that it begins on."""
        return self.document.locate(self.place)[1]

    def read(self, model: type[Model]) -> Model:
        """The object as a model; ConfigError with all that is wrong with it."""
        return validated(self.document, model, self.place)

    def at(self, *place: str | int) -> Place:
        """A place in the object."""
        return (*self.place, *place)


@dataclass
class Objects:
    """The objects of all files by kind, in their order."""

    kinds: dict[str, list[Found]] = field(default_factory=lambda: {kind: [] for kind in VERSIONS})
    in_order: list[Found] = field(default_factory=list)

    def add(self, kind: str, found: Found) -> None:
        """Take in an object."""
        self.kinds[kind].append(found)
        self.in_order.append(found)

    def __getitem__(self, kind: str) -> list[Found]:
        return self.kinds[kind]


def read_objects(paths: Sequence[str], notes: Notes) -> Objects:
    """All objects of the files. InputError for a file that is broken, an object without a kind, and a known kind of an
    unknown version."""
    objects = Objects()
    for path in paths:
        passed = []
        for found in _objects_of(path):
            kind = _kind(found)
            if kind is None:
                passed.append(_title(found))
            else:
                objects.add(kind, found)
        notes.ignore(path, "objects", passed)
    return objects


def _objects_of(path: str) -> Iterator[Found]:
    for document in read_documents(path):
        items = document.at(("items",))
        if isinstance(document.data, dict) and str(document.data.get("kind", "")).endswith("List") \
                and isinstance(items, list):
            yield from (Found(document, ("items", index)) for index in range(len(items)))
        else:
            yield Found(document, ())


def _kind(found: Found) -> str | None:
    """The kind of an object that is read, None for one that is not."""
    data = found.document.at(found.place)
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise problem(found.document, found.place, f"{shown(data)} is no Kubernetes object; it has no kind")
    kind, version = data["kind"], data.get("apiVersion")
    if kind not in VERSIONS:
        return None
    if version != VERSIONS[kind]:
        raise problem(found.document, found.at("apiVersion"),
                      f"{shown(version)} is not the apiVersion of a {kind} that is read; valid: {VERSIONS[kind]}")
    return kind


def _title(found: Found) -> str:
    """Kind and name, as far as they are there."""
    data: dict[str, Any] = found.document.at(found.place)
    metadata = data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{data['kind']} {name}" if isinstance(name, str) else str(data["kind"])


def no_jobs(paths: Sequence[str]) -> InputError:
    """The error of files without a job."""
    valid = ", ".join(f"{kind} ({VERSIONS[kind]})" for kind in ("Job", "AscendJob", "PodGroup"))
    return InputError(f"there is no job in it; kinds that are read: {valid}", file=paths[0] if paths else None)
