"""Problems of a cluster file, collected so that all of them are reported at once."""

from __future__ import annotations

from distsim.config.problems import MOST_PROBLEMS, ConfigError, problem
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError


class Problems:
    """What is wrong with a document, at most one entry a place."""

    def __init__(self, document: Document):
        self.document = document
        self.found: dict[Place, InputError] = {}

    def add(self, place: Place, message: str) -> None:
        """Note a problem at a place of the document."""
        if len(self.found) <= MOST_PROBLEMS:
            self.found.setdefault(place, problem(self.document, place, message))

    def stop(self) -> None:
        """Raise ConfigError with what was found, in the order of the file."""
        if self.found:
            raise ConfigError(sorted(self.found.values(), key=lambda entry: entry.line or 0))
