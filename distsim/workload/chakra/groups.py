"""Process groups: from the JSON beside a traceset, or as a trace declares them."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

from distsim.errors import InputError
from distsim.workload.graph import Group

WORLD = ("", "0")          # names of the group of all ranks, unless a group of that name is declared


class Groups:
    """The process groups of a traceset, by name; the group of all ranks is added when a collective first names it."""

    def __init__(self, ranks: int, given: list[Group], source: str):
        """given : groups declared so far; source : where groups are declared, for messages."""
        self.ranks, self.source = ranks, source
        self.rows = list(given)
        self._row = {group.name: row for row, group in enumerate(given)}

    def row(self, name: str) -> int | None:
        """The row of a group's name, None when no group has it."""
        if name not in self._row and name in WORLD:
            self._row.setdefault(WORLD[1], len(self.rows))
            if self._row[WORLD[1]] == len(self.rows):
                self.rows.append(Group(WORLD[1], np.arange(self.ranks, dtype="i4")))
            self._row[name] = self._row[WORLD[1]]
        return self._row.get(name)

    def declare(self, name: str, members: list[Any], file: str) -> None:
        """Add what a rank's trace declares; InputError when ranks disagree about a group's members."""
        members = members or list(range(self.ranks))
        group = Group(name, _members(name, members, self.ranks, file))
        known = self._row.setdefault(name, len(self.rows))
        if known == len(self.rows):
            self.rows.append(group)
        elif not np.array_equal(self.rows[known].ranks, group.ranks):
            raise InputError(f"process group {name!r} has ranks {_few(group.ranks)}, in {self.source} or an earlier "
                             f"rank's trace {_few(self.rows[known].ranks)}", file=file)

    def known(self) -> str:
        """The names that are valid, for messages."""
        return ", ".join(repr(group.name) for group in self.rows[:8]) or "only '' and '0', the group of all ranks"


def read_groups(file: str, ranks: int) -> list[Group]:
    """The groups of a JSON file ``{"<name>": [ranks], ...}`` in its order.

    Raises InputError with the file when it is no such JSON, and for unknown, repeated or no ranks.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, file))
    except FileNotFoundError:
        raise InputError("no such file (process groups)", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} (process groups)", file=file) from None
    except UnicodeDecodeError:
        raise InputError("is not a text file (process groups)", file=file) from None
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}", file=file, line=error.lineno) from None
    if not isinstance(found, dict) or not all(isinstance(members, list) for members in found.values()):
        raise InputError('is not a list of process groups; write {"<name>": [ranks], ...}', file=file)
    return [Group(name, _members(name, members, ranks, file)) for name, members in found.items()]


def declared(values: bytes) -> list[tuple[str, list[Any]]]:
    """The process groups in the input values of a node ``## process_group:init ##`` (PyTorch's execution traces): name
    and ranks, no ranks meaning all; an empty list when the text is something else."""
    try:
        entries = ast.literal_eval(values.decode())
        while isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], str):
            entries = json.loads(entries[0])
        return [(str(entry["pg_name"]), list(entry.get("ranks") or [])) for entry in entries]
    except (ValueError, SyntaxError, KeyError, TypeError, AttributeError, MemoryError, RecursionError):
        return []


def _once(pairs: list[tuple[str, Any]], file: str) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise InputError(f"process group {next(name for name in names if names.count(name) > 1)!r} is there twice",
                         file=file)
    return found


def _members(name: str, members: list[Any], ranks: int, file: str) -> np.ndarray:
    for rank in members:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < ranks:
            raise InputError(f"process group {name!r} has an unknown rank {rank!r}; the traceset has ranks 0 to "
                             f"{ranks - 1}", file=file)
    if not members:
        raise InputError(f"process group {name!r} has no ranks", file=file)
    if len(set(members)) != len(members):
        twice = next(rank for rank in members if members.count(rank) > 1)
        raise InputError(f"process group {name!r} has rank {twice} twice", file=file)
    return np.array(members, "i4")


def _few(ranks: np.ndarray) -> str:
    return ", ".join(map(str, ranks[:8].tolist())) + ", ..." * (len(ranks) > 8)
