"""Checking configurations, each in a child process with bounded time and memory."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from typing import Any

from distsim.server.errors import ApiError
from distsim.server.input_files import Folders
from distsim.server.limits import Turns
from distsim.server.settings import Settings

CODE = {"errors": "CONSTRAINT_VIOLATION", "warnings": "WARNING", "info": "INFO"}
SEVERITY = {"errors": "error", "warnings": "warning", "info": "info"}
COMPONENTS = ("nic", "switch")
log = logging.getLogger("distsim.server")


def folders_of(settings: Settings) -> Folders:
    """Where files that configurations name may be."""
    return Folders(settings.inputs, settings.folders, settings.plugins)


def child_environment() -> dict[str, str]:
    """The environment of a child: ours without the token."""
    return {name: value for name, value in os.environ.items() if name != "DISTSIM_API_TOKEN"}


class Checks:
    """Runs checks, a few at once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turns = Turns(settings.most_checking, settings.patience_s, "checking configurations")

    def check(self, text: str) -> dict[str, Any]:
        """What `POST /configurations/{id}/validate` answers: errors, warnings and info, each with `line` (1-based, of
        the text, None when not known), valid, status."""
        with self._turns.one():
            found = self._run(text)
        lists = {name: [_entry(name, one) for one in found[name]] for name in CODE}
        valid = not lists["errors"]
        return {"valid": valid, "status": "valid" if valid else "error", **lists}

    def _run(self, text: str) -> dict[str, list[dict[str, Any]]]:
        settings, folders = self._settings, folders_of(self._settings)
        request = {"text": text, "inputs": os.fspath(folders.inputs), "plugins": folders.plugins,
                   "shipped": [os.fspath(path) for path in folders.shipped], "bytes": settings.check_bytes}
        command = [sys.executable, "-m", "distsim.server.check_child"]
        try:
            done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True,
                                  timeout=settings.check_s, env=child_environment(), cwd=settings.runs_dir)
        except subprocess.TimeoutExpired:
            return _one(f"takes longer than {settings.check_s:g} s to check")
        if done.returncode < 0:
            return _one("too large to be checked here")
        try:
            found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
        except ValueError:
            log.error("the check of a configuration failed: %s", done.stderr.strip())
            raise ApiError(500, "the check failed; the server's log says more") from None
        return found


def _one(message: str) -> dict[str, list[dict[str, Any]]]:
    return {"errors": [{"message": message, "line": None, "place": None}], "warnings": [], "info": []}


def _entry(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """A validation entry as documented, and its line."""
    place = found["place"]
    parts = place.split(".") if place else []
    component = parts[0] if parts and parts[0].removesuffix("_overrides") in COMPONENTS else None
    return {"severity": SEVERITY[name], "code": CODE[name], "message": found["message"], "component": component,
            "parameter": parts[-1] if parts else None, "path": f"$.{place}" if place else None, "line": found["line"]}
