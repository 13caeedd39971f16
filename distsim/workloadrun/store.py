"""The state of a run in a directory, as a cluster would keep it: documents in YAML, and what was created.

DIR/workloadrun.yaml (with status), workflow.yaml, jobs/NAME.yaml, measurements/NAME-bandwidth.yaml and -goodput.yaml,
report.json, state.json (the spec as it was created, every default filled in), records/WAVE/ (records of simulations).
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from distsim.errors import InputError, RunError

from .immutable import SPEC_CHANGED, canonical_spec, check_workflow_unchanged
from .render import to_yaml

if TYPE_CHECKING:
    from distsim.cluster import Cluster

    from .spec import WorkloadRun

STATE, REPORT, RUN, WORKFLOW = "state.json", "report.json", "workloadrun.yaml", "workflow.yaml"
JOBS, MEASUREMENTS, RECORDS, PROFILES = "jobs", "measurements", "records", "profiles"
IN_PROGRESS = "InProgress"
_FOLDERS = (JOBS, MEASUREMENTS, RECORDS, PROFILES)


class Store:
    """A run's directory; rank 0 uses it."""

    def __init__(self, directory: Path):
        self.directory = directory

    def state(self) -> dict[str, Any] | None:
        """What was created here, None if nothing was. InputError if the file is no state of a run."""
        try:
            found: dict[str, Any] = json.loads((self.directory / STATE).read_text())
            return {"name": found["name"], "spec": found["spec"], **found}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"is not the state of a WorkloadRun ({type(error).__name__})",
                             file=str(self.directory / STATE)) from None

    def report(self) -> dict[str, Any]:
        """The report of the run; InputError if there is none, or not yet."""
        state = self.state()
        if state is not None and state.get("phase") == IN_PROGRESS:
            raise InputError(f"WorkloadRun {state['name']} has not ended", file=str(self.directory))
        try:
            found: dict[str, Any] = json.loads((self.directory / REPORT).read_text())
            return found
        except (OSError, ValueError):
            raise InputError(f"no WorkloadRun was run in {self.directory}", file=str(self.directory)) from None

    def claim(self, run: WorkloadRun, cluster: Cluster, workflow: Mapping[str, Any],
              options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Create the run here; the report if it was created before and has ended.

        workflow : of the run. options : of the command line, those that results depend on. InputError when the
        directory holds another run, the same run with another spec, or one of another cluster or with other options.
        """
        wanted = {"name": run.name, "spec": canonical_spec(run), "cluster": cluster_digest(cluster),
                  "options": dict(options)}
        state = self.state()
        if state is None:
            self._free()
        else:
            self._same(run, state, wanted)
            stored = self.directory / WORKFLOW
            if stored.exists():
                check_workflow_unchanged(workflow, yaml.safe_load(stored.read_text()))
            if state.get("phase") != IN_PROGRESS:
                return self.report()
            self._clear()
        self.write(STATE, json.dumps(wanted | {"phase": IN_PROGRESS}, indent=2) + "\n")
        return None

    def finish(self, report: Mapping[str, Any]) -> None:
        """Keep the report, and that the run has ended."""
        state = self.state() or {}
        self.write(REPORT, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        self.write(STATE, json.dumps(state | {"phase": report["phase"]}, indent=2) + "\n")

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a document, e.g. ``jobs/NAME.yaml``."""
        self.write(name, to_yaml(dict(document)))

    def write(self, name: str, text: str) -> None:
        """Write a file; RunError if that cannot be done."""
        path = self.directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror}") from None

    def delete(self) -> str:
        """Remove the run with its Workflow, jobs, measurements and records; its name. Other files stay."""
        state = self.state()
        if state is None:
            raise InputError("holds no WorkloadRun", file=str(self.directory))
        self._clear()
        (self.directory / STATE).unlink()
        if not any(self.directory.iterdir()):
            self.directory.rmdir()
        return str(state["name"])

    def _same(self, run: WorkloadRun, state: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        where = f"{self.directory} holds WorkloadRun {state['name']}"
        if state["name"] != wanted["name"]:
            raise InputError(f"{where}, not {wanted['name']}; choose another directory (-o), or delete it first")
        if state["spec"] != wanted["spec"]:
            changed = ", ".join(f"spec.{key}" for key in differing(state["spec"], wanted["spec"]))
            file, line = run.locate(("spec",))
            raise InputError(f"{SPEC_CHANGED}: {changed} of WorkloadRun {state['name']} differs from what was created "
                             f"in {self.directory}; delete the run (distsim workloadrun delete), or give it another "
                             "name", file=file, line=line, where="spec")
        if state.get("cluster") != wanted["cluster"]:
            raise InputError(f"{where} of another cluster; choose another directory (-o), or delete it first",
                             where="--cluster")
        for option in differing(state.get("options") or {}, wanted["options"]):
            raise InputError(f"{where}, which was run with another --{option}; choose another directory (-o), or "
                             "delete it first", where=f"--{option}")

    def _free(self) -> None:
        if self.directory.exists() and not self.directory.is_dir():
            raise InputError("is not a directory", file=str(self.directory))
        names = (REPORT, RUN, WORKFLOW, *_FOLDERS)
        ours = [name for name in names if (self.directory / name).exists()]
        if ours:
            raise InputError(f"holds {', '.join(ours)} but no {STATE}; choose another directory (-o)",
                             file=str(self.directory))

    def _clear(self) -> None:
        for name in _FOLDERS:
            shutil.rmtree(self.directory / name, ignore_errors=True)
        for name in (REPORT, RUN, WORKFLOW):
            (self.directory / name).unlink(missing_ok=True)


def differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Keys under which two specs differ."""
    return [key for key in sorted({*a, *b}) if a.get(key) != b.get(key)]


def cluster_digest(cluster: Cluster) -> str:
    """SHA-256 of all that a cluster file says."""
    return hashlib.sha256(json.dumps(asdict(cluster), sort_keys=True, default=str).encode()).hexdigest()
