"""A program of nccl-tests in the command of a container, plain, behind mpirun, or in a shell's script."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from distsim.workloadrun.framework import benchmark_words
from distsim.workloadrun.traffic import command_line

SHELLS = ("sh", "bash", "dash", "ash", "zsh")
_REDIRECTION = re.compile(r"(?<!\S)\d*(?:>>?|<)&?\s*[^\s;&|<>()]+")
_PUNCTUATION = frozenset("();<>|&\n")


def benchmark(command: Sequence[str]) -> str | None:
    """The command line of nccl-tests that a container's words start, None if they start none of its programs."""
    words = benchmark_words(_plain(command), ())
    if words is None:
        return None
    end = next((at for at, word in enumerate(words) if word and set(word) <= _PUNCTUATION), len(words))
    return command_line(words[:end])


def _plain(command: Sequence[str]) -> list[str]:
    """The words, with a shell's script (`bash -c SCRIPT`) in single words and operators."""
    words = list(command)
    if not words or PurePosixPath(words[0]).name not in SHELLS:
        return words
    script = next((word for word in words[1:] if not word.startswith("-")), None)
    if script is None:
        return words
    text = _REDIRECTION.sub(" ", script.replace("\\\n", " ").replace("\n", " ; "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:                       # a quote is left open: no command line that anyone could run
        return words
