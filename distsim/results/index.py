"""The catalog's SQLite file: what was read of each run.json, by the run's path and the file's stamp.

It holds nothing that the files do not, so whatever is wrong with it (another version, a damaged file) it is made anew.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

NAME = ".distsim-index.sqlite"
VERSION = 1
PATIENCE_S = 10.0
T = TypeVar("T")
_TABLE = "CREATE TABLE IF NOT EXISTS runs (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, facts TEXT NOT NULL)"


class Index:
    """The index of a directory; in memory where nothing can be written there. Every call opens and closes the file, so
    that processes and threads may share it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME
        self._memory: sqlite3.Connection | None = None

    def load(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """path -> (stamp, facts)."""
        rows = self._do(lambda db: db.execute("SELECT path, stamp, facts FROM runs").fetchall())
        return {path: (stamp, json.loads(facts)) for path, stamp, facts in rows}

    def store(self, fresh: Mapping[str, tuple[str, dict[str, Any]]], gone: Iterable[str] = ()) -> None:
        """Adds or replaces runs, and removes those that are gone."""
        rows = [(path, stamp, json.dumps(facts)) for path, (stamp, facts) in fresh.items()]
        removed = [(path,) for path in gone]
        if rows or removed:
            self._do(lambda db: (db.executemany("DELETE FROM runs WHERE path = ?", removed),
                                 db.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)))

    def clear(self) -> None:
        """Removes the file."""
        self._memory = None
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _do(self, step: Callable[[sqlite3.Connection], T]) -> T:
        if self._memory is None:
            for _ in range(2):
                try:
                    return self._on_file(step)
                except sqlite3.OperationalError:         # read-only, no locks, no room
                    break
                except sqlite3.DatabaseError:            # damaged: once more without it
                    with contextlib.suppress(OSError):
                        self._path.unlink()
            self._memory = sqlite3.connect(":memory:", check_same_thread=False)
            self._memory.execute(_TABLE)
        with self._memory:
            return step(self._memory)

    def _on_file(self, step: Callable[[sqlite3.Connection], T]) -> T:
        with contextlib.closing(sqlite3.connect(self._path, timeout=PATIENCE_S)) as db, db:
            if db.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                db.execute("DROP TABLE IF EXISTS runs")
                db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute(_TABLE)
            return step(db)
