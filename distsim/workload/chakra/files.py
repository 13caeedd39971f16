"""Which files a traceset has: ``<prefix>.<rank>.et`` for ranks 0 to n - 1, and its process groups beside them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from distsim.errors import InputError

_RANK_FILE = re.compile(r"(.*)\.(0|[1-9]\d*)\.et", re.DOTALL)
GROUP_FILES = (".json", ".comm_group.json")          # endings after the prefix, the first that is there counts
MAPPING = ".mapping"                                 # ending of a mapping file that is written beside a traceset


def rank_files(prefix: str) -> list[str]:
    """The files of the ranks 0, 1, ... of a traceset.

    Raises InputError when there are none or when a rank below the greatest is missing, which it names.
    """
    folder, name = os.path.split(prefix)
    found = _prefixes(folder or ".", prefix)
    ranks = sorted(found.get(name, []))
    if not ranks:
        raise InputError(_nothing(prefix, sorted(found)), file=prefix)
    missing = next((rank for rank, there in enumerate(ranks) if rank != there), None)
    if missing is not None:
        raise InputError(f"the traceset has {len(ranks)} files up to rank {ranks[-1]}, but there is no "
                         f"{name}.{missing}.et; ranks count from 0 without a gap", file=prefix)
    return [f"{prefix}.{rank}.et" for rank in ranks]


def split_name(file: str) -> tuple[str, int] | None:
    """Prefix and rank of a file called ``<prefix>.<rank>.et``, None for other names."""
    match = _RANK_FILE.fullmatch(file)
    return (match[1], int(match[2])) if match else None


def group_file(prefix: str) -> str | None:
    """The JSON of the process groups that lies beside a traceset, None if there is none."""
    return next((prefix + ending for ending in GROUP_FILES if Path(prefix + ending).is_file()), None)


def _prefixes(folder: str, prefix: str) -> dict[str, list[int]]:
    """The prefixes of a folder's traces, with the ranks of each."""
    found: dict[str, list[int]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                parts = split_name(entry.name)
                if parts:
                    found.setdefault(parts[0], []).append(parts[1])
    except OSError as error:
        raise InputError(f"no traces there: {folder}: {error.strerror}", file=prefix) from None
    return found


def _nothing(prefix: str, others: list[str]) -> str:
    own = split_name(prefix)
    if own:
        return f"is the file of one rank; give the prefix {own[0]}"
    hint = f"; the prefixes there: {', '.join(others[:5])}{', ...' * (len(others) > 5)}" if others else ""
    return f"no Chakra trace {os.path.basename(prefix)}.0.et{hint}"
