"""A text file of a run that is no CSV record: written whole, with what run.json says of it."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from distsim.errors import RunError
from distsim.records.chakra.run import ChakraRun


class SideFile:
    """Opens `name` (a path inside the output directory, whose folder is made if need be) for writing; a context
    manager. RunError when it cannot be written."""

    def __init__(self, run: ChakraRun, record: str, name: str) -> None:
        self._record, self._name, self._path = record, name, os.path.join(run.directory, name)
        self._digest, self._bytes = hashlib.sha256(), 0
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            self._file = open(self._path, "wb")  # noqa: SIM115 - closed by __exit__
        except OSError as error:
            raise self._failure(error) from error

    def write(self, text: str) -> None:
        """Appends a text."""
        data = text.encode()
        try:
            self._file.write(data)
        except OSError as error:
            raise self._failure(error) from error
        self._digest.update(data)
        self._bytes += len(data)

    def facts(self, rows: int) -> dict[str, Any]:
        """As RecordSet.files() says it of a record. rows : nodes or blocks in it."""
        return {"record": self._record, "shard": 0, "file": self._name, "rows": rows, "rows_left_out": 0,
                "bytes": self._bytes, "sha256": self._digest.hexdigest()}

    def __enter__(self) -> SideFile:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> RunError:
        return RunError(f"{self._path}: cannot be written: {error.strerror}")
