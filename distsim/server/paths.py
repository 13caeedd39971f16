"""Names that come from outside, and files that are opened by them: nothing beyond the runs directory, no links."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from distsim.errors import InputError
from distsim.server.errors import ApiError, not_found

SIMULATION_ID = re.compile(r"sim_[a-z2-7]{26}")
CONFIGURATION_ID = re.compile(r"config_[a-z2-7]{26}")
MOST_NAME, MOST_PART = 1024, 255  # bytes
INSIDE = (".cache", "post_annotated")  # folders of a run that readers look into


def checked_id(text: str, kind: re.Pattern[str], what: str) -> str:
    """An id as it came; 400 when it cannot be one."""
    if not kind.fullmatch(text):
        raise ApiError(400, f"Invalid {what} ID format: expected '{kind.pattern.partition('_')[0]}_' and 26 letters or "
                            "digits (base32)")
    return text


def checked_name(name: str) -> tuple[str, ...]:
    """The parts of a relative file name such as ``post_annotated/x.0.json``.

    400 for an empty, absolute or overlong one, for ``.``, ``..``, hidden or empty parts, backslashes and control
    characters (NUL among them).
    """
    wrong = ""
    encoded = name.encode("utf-8", "surrogatepass")
    parts = tuple(name.split("/"))
    if not name or len(encoded) > MOST_NAME:
        wrong = f"give 1 to {MOST_NAME} bytes"
    elif any(ord(letter) < 32 or ord(letter) == 127 or 0xD800 <= ord(letter) < 0xE000 for letter in name):
        wrong = "control characters are not allowed"
    elif "\\" in name or name.startswith("/"):
        wrong = "it must be relative, with / between its parts"
    elif any(part in ("", ".", "..") or part.startswith(".") or len(part.encode()) > MOST_PART for part in parts):
        wrong = "it must not have empty, hidden or .. parts"
    if wrong:
        raise ApiError(400, f"Invalid fileName: {wrong}")
    return parts


def open_file(top: Path, parts: tuple[str, ...]) -> int:
    """A file below a directory, open for reading, by a way that has no symbolic links in it; 404 when there is no such
    regular file. The caller closes the descriptor."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    at = os.open(top, flags | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, flags | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        found = os.open(parts[-1], flags | os.O_NONBLOCK, dir_fd=at)
    except (OSError, ValueError):
        raise not_found("File") from None
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise not_found("File")
    return found


def is_inside(path: str | os.PathLike[str], top: Path) -> bool:
    """Whether the real path of something, links followed, lies in a directory."""
    return Path(os.path.realpath(path)).is_relative_to(top)


def check_run(directory: Path, top: Path) -> None:
    """403 when a file of a run, or a folder of it that readers look into, is a link that leads out of the runs
    directory."""
    for folder in (directory, *(directory / name for name in INSIDE)):
        if not is_inside(folder, top):
            raise outside(folder.name)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() and not is_inside(entry.path, top):
                    raise outside(entry.name)


def outside(name: str) -> ApiError:
    """403 for a link that leads out of the runs directory."""
    return ApiError(403, f"{name} is a link that leads out of the runs directory")


def check_state(path: Path, top: Path) -> None:
    """InputError when something that the server writes to is a link that leads out of the runs directory."""
    if path.is_symlink() or not is_inside(path, top):
        raise InputError("is a link; the server writes inside the runs directory only", file=os.fspath(path))


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Writes a file so that a reader sees the old one or the whole new one. Its folder must be there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
