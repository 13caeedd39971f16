"""Priorities by the name of a PriorityClass."""

from __future__ import annotations

from dataclasses import dataclass, field

from distsim.config.problems import problem
from distsim.config.yaml_reader import Document, Place
from distsim.scheduler.read.notes import Notes
from distsim.scheduler.read.pod_objects import PriorityClass

# Those that every cluster has (Kubernetes).
BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass
class Priorities:
    """The PriorityClasses of all files. default : of the one with globalDefault."""

    values: dict[str, int] = field(default_factory=lambda: dict(BUILT_IN))
    default: int = 0

    def add(self, one: PriorityClass, document: Document, place: Place) -> None:
        """Take in a PriorityClass; InputError for a second one of its name."""
        name = one.metadata.name
        if name in self.values:
            raise problem(document, (*place, "metadata", "name"), f"PriorityClass {name!r} is given twice")
        self.values[name] = one.value
        if one.globalDefault:
            self.default = one.value

    def of(self, names: list[str], number: int | None, document: Document, place: Place, notes: Notes) -> int:
        """The priority of a job. names : the first that is not empty counts; it may be a number. number : what the spec
        says if it names none. A name of no PriorityClass gives 0 and a warning."""
        name = next((name for name in names if name), "")
        if not name:
            return self.default if number is None else number
        if name in self.values:
            return self.values[name]
        if name.isascii() and name.removeprefix("-").isdecimal():
            return int(name)
        file, line = document.locate(place)
        notes.warn(file, line, f"priorityClassName {name!r} is no PriorityClass of these files; priority 0 is taken "
                               f"(known: {', '.join(self.values)})")
        return 0
