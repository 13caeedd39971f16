"""The shipped configurations, as templates that can be copied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from distsim.server.errors import ApiError, not_found
from distsim.server.store import document_of

CATEGORY = "getting-started"


@dataclass(frozen=True)
class Template:
    """id, name : the file's name without .yaml. description : its first comment. text : YAML."""

    id: str
    name: str
    description: str
    text: str


class Templates:
    """The simulation configurations (not those of clusters) in folders; the first folder with a name wins."""

    def __init__(self, folders: Iterable[Path]) -> None:
        found: dict[str, Template] = {}
        for folder in folders:
            for path in sorted(folder.glob("*.yaml")):
                template = _read(path)
                if template is not None:
                    found.setdefault(template.id, template)
        self._found = found

    def all(self) -> list[Template]:
        """In order of their names."""
        return [self._found[name] for name in sorted(self._found)]

    def get(self, id: str) -> Template:
        """One of them; 404 when there is none."""
        if id not in self._found:
            raise not_found("Template")
        return self._found[id]


def _read(path: Path) -> Template | None:
    text = path.read_text(encoding="utf-8")
    try:
        data = document_of(text)
    except ApiError:
        return None
    if not {"simulation", "fabric", "workload"} <= set(data):
        return None
    comment = next((line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")), "")
    return Template(path.stem, path.stem, comment, text)
