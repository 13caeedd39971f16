"""Configurations that were sent to the server: every version as a text, kept below the runs directory."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from distsim.config.yaml_reader import parse
from distsim.errors import InputError
from distsim.server.errors import ApiError, not_found
from distsim.server.ids import new_id
from distsim.server.paths import write_whole

DRAFT, VALIDATED, INVALID = "draft", "validated", "invalid"
STATUSES = (DRAFT, VALIDATED, INVALID)
META = "meta.json"
MOST, MOST_VERSIONS = 10_000, 1_000
MOST_DEPTH = 50
_TAG = "tag:yaml.org,2002:"


class _Dumper(yaml.SafeDumper):
    """Quotes texts that YAML 1.2, which configurations are read by, takes for numbers (1e-3, 0o7)."""


_Dumper.add_implicit_resolver(_TAG + "float", re.compile(r"[-+]?\.?[0-9][0-9.]*([eE][-+]?[0-9]+)?\Z"),
                              list("-+.0123456789"))
_Dumper.add_implicit_resolver(_TAG + "int", re.compile(r"0[ox][0-9a-fA-F]+\Z"), ["0"])


@dataclass(frozen=True)
class Stored:
    """A configuration at one version. created, modified : seconds since the epoch, of the whole and of this version.
    status : of this version. text : YAML."""

    id: str
    name: str
    version: int
    status: str
    created: float
    modified: float
    text: str = ""

    @property
    def data(self) -> dict[str, Any]:
        """The document; 400 when the text holds none."""
        return document_of(self.text)

    @property
    def etag(self) -> str:
        """The version in quotes (scala-computing/docs, chakra-mapping-files)."""
        return f'"{self.version}"'


def document_of(text: str) -> dict[str, Any]:
    """The mapping in a YAML text; 400 with `line` when there is none."""
    try:
        data = parse(text).data
    except InputError as error:
        raise ApiError(400, error.message, line=error.line) from None
    except (ValueError, OverflowError) as error:
        raise ApiError(400, f"not YAML: {error}") from None
    if not isinstance(data, dict):
        raise ApiError(400, "the text is no configuration: it must hold keys such as simulation, fabric and workload",
                       line=1)
    if _depth(data) > MOST_DEPTH:
        raise ApiError(400, f"nested too deeply: at most {MOST_DEPTH} levels")
    return data


def text_of(data: Mapping[str, Any]) -> str:
    """A document as YAML that reads as the same document; 400 for what YAML cannot hold."""
    try:
        text = yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**16)
        text.encode()
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise ApiError(400, f"the document cannot be written as YAML: {type(error).__name__}") from None
    if document_of(text) != data:
        raise ApiError(400, "the document cannot be written as YAML: keys must be text, numbers finite")
    return text


class Configurations:
    """The configurations in a folder, one folder each: meta.json, and v1.yaml, v2.yaml ... of the versions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()

    def all(self) -> list[Stored]:
        """The latest version of each without its text, the newest first."""
        found = [stored for path in self._folder.glob(f"config_*/{META}") if (stored := _read(path)) is not None]
        return sorted(found, key=lambda stored: (-stored.created, stored.id))

    def get(self, id: str, version: int | None = None) -> Stored:
        """A configuration; the latest version for None. 404 when there is none."""
        latest = _read(self._folder / id / META)
        if latest is None:
            raise not_found("Configuration")
        versions = self._versions(id)
        chosen = latest.version if version is None else version
        if chosen not in versions:
            raise not_found("Version")
        status, modified = versions[chosen]
        return replace(latest, version=chosen, status=status, modified=modified,
                       text=(self._folder / id / f"v{chosen}.yaml").read_text())

    def versions(self, id: str) -> list[tuple[int, float]]:
        """(version, seconds since the epoch) of each; 404 when there is no such configuration."""
        self.get(id)
        return [(version, modified) for version, (_, modified) in sorted(self._versions(id).items())]

    def create(self, name: str, text: str) -> Stored:
        """A new one, a draft at version 1. 400 when the text is no document."""
        document_of(text)
        with self._lock:
            if sum(1 for _ in self._folder.glob("config_*")) >= MOST:
                raise ApiError(429, f"there are {MOST} configurations; delete some")
            now = time.time()
            stored = Stored(new_id("config_"), name, 1, DRAFT, now, now, text)
            (self._folder / stored.id).mkdir(mode=0o700)
            self._write(stored)
        return stored

    def update(self, id: str, change: Callable[[Stored], Stored]) -> Stored:
        """A new version: what `change` makes of the latest (its text, its name). It may raise to refuse."""
        with self._lock:
            before = self.get(id)
            if before.version >= MOST_VERSIONS:
                raise ApiError(409, f"there are {MOST_VERSIONS} versions of this configuration; make another one")
            after = change(before)
            document_of(after.text)
            stored = replace(after, version=before.version + 1, status=DRAFT, modified=time.time())
            self._write(stored)
        return stored

    def set_status(self, id: str, version: int, status: str) -> None:
        """What the check of a version came to."""
        with self._lock:
            stored = self.get(id, version)
            self._write(replace(stored, status=status), latest=self.get(id).version)

    def delete(self, id: str) -> None:
        """Removes all versions; 404 when there is none. Simulations keep the copy that they run."""
        with self._lock:
            self.get(id)
            shutil.rmtree(self._folder / id)

    def _versions(self, id: str) -> dict[int, tuple[str, float]]:
        """version -> status, when it was made."""
        meta = json.loads((self._folder / id / META).read_text())
        return {int(version): (status, modified) for version, (status, modified) in meta["versions"].items()}

    def _write(self, stored: Stored, latest: int | None = None) -> None:
        """Writes a version's text and the meta file, in which `latest` (this one by default) is the current one."""
        folder = self._folder / stored.id
        known = self._versions(stored.id) if (folder / META).exists() else {}
        known[stored.version] = (stored.status, stored.modified)
        current = stored.version if latest is None else latest
        meta = asdict(stored) | {"version": current, "status": known[current][0], "modified": known[current][1],
                                 "versions": known}
        del meta["text"]
        write_whole(folder / f"v{stored.version}.yaml", stored.text.encode())
        write_whole(folder / META, json.dumps(meta).encode())


def _depth(data: Any) -> int:
    """Levels of sections and lists."""
    depth, level = 0, [data]
    while level:
        depth += 1
        level = [entry for one in level if isinstance(one, (dict, list))
                 for entry in (one.values() if isinstance(one, dict) else one)]
    return depth


def _read(path: Path) -> Stored | None:
    """The latest version that a meta file tells of, without its text; None when there is no such file."""
    try:
        meta = json.loads(path.read_text())
        return Stored(**{key: meta[key] for key in ("id", "name", "version", "status", "created", "modified")})
    except (OSError, ValueError, KeyError):
        return None
