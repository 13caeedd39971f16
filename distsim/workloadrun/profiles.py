"""Log profiles that a run names: those that come with distsim, those in its own file, and files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.measure.goodput.profile_names import BUILTIN as TRAINING
from distsim.measure.profile_names import BUILTIN as BANDWIDTH
from distsim.measure.section import is_file_name

from .store import PROFILES, Store

if TYPE_CHECKING:
    from .spec import WorkloadRun


@dataclass
class Profiles:
    """documents : LogProfiles of the run's file, by name. folder : where file names start from. home : the run's
    directory, where the documents are written and read."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    folder: Path = Path()
    home: Path = Path()

    @classmethod
    def of(cls, run: WorkloadRun, folder: Path, home: Path) -> Profiles:
        """Those of a run."""
        found = {str((document.data.get("metadata") or {}).get("name")): document.data for document in run.beside}
        return cls(found, folder, home)

    def check(self, job: Mapping[str, Any]) -> None:
        """InputError for a measurement of a job's spec that names no profile of its kind."""
        for kind, builtin in (("bandwidthMeasurement", BANDWIDTH), ("goodputMeasurement", (*TRAINING, *BANDWIDTH))):
            name = (job.get(kind) or {}).get("logProfileRef")
            known = [*builtin, *self.documents]
            if name is None or name in known or (is_file_name(name) and (self.folder / name).exists()):
                continue
            raise InputError(f"{name!r} is not a log profile for it; valid: {', '.join(known)}, or a YAML file",
                             where=f"spec.{kind}.logProfileRef")

    def write(self, store: Store) -> None:
        """Write the documents into the run's directory."""
        for name, document in self.documents.items():
            store.write_document(f"{PROFILES}/{name}.yaml", document)

    def section(self, job: Mapping[str, Any], kind: str) -> dict[str, Any]:
        """A measurement of a job's spec as a configuration has it: the profile by its name, or the path of its file."""
        given = {key: value for key, value in (job.get(kind) or {}).items() if value}
        name = given.get("logProfileRef")
        if name in self.documents:
            given["logProfileRef"] = str((self.home / PROFILES / f"{name}.yaml").absolute())
        elif name is not None and is_file_name(name):
            given["logProfileRef"] = str((self.folder / name).absolute())
        return given
