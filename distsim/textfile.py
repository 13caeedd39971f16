"""Reading a user's text file: the whole text, or one clear `InputError`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from distsim.errors import InputError


@dataclass
class Source:
    """A text file that is being read; the base of what is read from it. file : its path, for messages."""

    file: str

    def fail(self, line: int | None, message: str) -> NoReturn:
        """Raise the InputError for a line of this file."""
        raise InputError(message, file=self.file, line=line)

    def whole(self, name: str, word: str, line: int | None, least: int, most: int) -> int:
        """`word` as a whole number in range; InputError that calls it `name` when it is none."""
        value = whole_number(word)
        if value is None:
            self.fail(line, f"{name} {word!r} is not a whole number")
        if not least <= value <= most:
            self.fail(line, f"{name} {word} is out of range, {least} to {most}")
        return value


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


def stream_lines(path: str, what: str) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end) of a UTF-8 text file of any size, one line in memory at a time.

    Raises InputError as `read_lines`, for a line that is not text with its number.
    """
    number = 0
    try:
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if "\0" in text:
                    raise InputError(f"is not a text file ({what})", file=path, line=number)
                yield number, text.rstrip("\n")
    except FileNotFoundError as error:
        raise InputError(f"no such file ({what})", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not a text file ({what})", file=path, line=number + 1) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} ({what})", file=path) from error


def whole_number(word: str) -> int | None:
    """The integer that a word of ASCII digits, with or without a minus, means; None for any other word."""
    digits = word.removeprefix("-")
    return int(word) if len(word) < 32 and digits.isascii() and digits.isdigit() else None


def data_words(text: str) -> list[str]:
    """The words of one line; none when it is blank or starts with ``#``."""
    words = text.split()
    return [] if words and words[0].startswith("#") else words
