"""Reading a user's text file: the whole text, or one clear `InputError`."""

from __future__ import annotations

from pathlib import Path

from distsim.errors import InputError


def read_lines(path: str, what: str) -> list[str]:
    """The lines of a UTF-8 text file, without their line ends; line n of the file is item n - 1.

    `what` names the kind of file in the error. Raises InputError when the file is missing, unreadable or not text.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"no such file ({what})", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not a text file ({what})", file=path) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} ({what})", file=path) from error
    if "\0" in text:
        raise InputError(f"is not a text file ({what})", file=path)
    return text.split("\n")


def data_words(text: str) -> list[str]:
    """The words of one line; none when it is blank or starts with ``#``."""
    words = text.split()
    return [] if words and words[0].startswith("#") else words
