"""The command line of nccl-tests: programs, options and what they mean.

Facts: NVIDIA/nccl-tests 2.19.1, src/common.cu (options, defaults, sizes) and README.md. Stricter than the program,
which takes what it does not understand for 0 or for a default: such words are refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

SUFFIX = "_perf"
PROGRAMS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "gather", "scatter",
            "sendrecv", "hypercube")
TYPES = {"int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "half": 2, "float": 4, "double": 8,
         "bfloat16": 2, "f8e4m3": 1, "f8e5m2": 1}         # bytes of an element
OPERATORS = ("sum", "prod", "max", "min", "avg", "mulsum")
ALL = "all"
EVERY_ROOT = -1
MOST_BYTES = 1 << 40
MOST_SIZES = 1_000_000
RANK_0, AVERAGE, MINIMUM, MAXIMUM = 0, 1, 2, 3            # -a

_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(?:([KMGkmg])(?:i?B)?)?\s*", re.ASCII)
_SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_WHOLE = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)", re.ASCII)


@dataclass(frozen=True)
class Command:
    """A command line, with the program's defaults.

    program : one of PROGRAMS; name : as it was called, e.g. ``all_reduce_perf_mpi``; words : the whole line, as argv.
    Sizes in bytes. operator and datatype may be ``all``, root EVERY_ROOT. notes : what has no meaning in a simulation.
    """

    program: str
    name: str
    words: tuple[str, ...]
    threads: int = 1
    gpus: int = 1
    min_bytes: int = 32 << 20
    max_bytes: int = 32 << 20
    step_bytes: int = 1 << 20
    factor: int = 1
    iterations: int = 20
    aggregated: int = 1
    warm_up: int = 1
    cycles: int = 1
    parallel_init: int = 0
    check: int = 1
    operator: str = "sum"
    datatype: str = "float"
    root: int = 0
    blocking: int = 0
    graph: int = 0
    cpu_time: int = 0
    timestamps: int = 0
    json_file: str = ""
    average: int = AVERAGE
    unalign: int = 0
    per_iteration: int = 0
    notes: tuple[str, ...] = ()

    @property
    def operations(self) -> int:
        """Timed operations of a measurement: iterations, aggregated ones counted, times the launches of a graph."""
        return self.iterations * self.aggregated * max(1, self.graph)


@dataclass(frozen=True)
class _Option:
    letter: str
    long: str
    read: Callable[[str], Any]
    target: str = ""           # field of Command; none: no meaning in a simulation
    why: str = ""              # said when it has no meaning here


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError("a number of bytes, or one with K, M or G (powers of 1024), e.g. 512, 64K or 8G")
    size = int(float(found[1]) * _SIZE_UNITS[(found[2] or "").upper()])
    if size > MOST_BYTES:
        raise ValueError("at most 1024G")
    return size


def _whole(least: int, most: int = 2**31 - 1) -> Callable[[str], int]:
    def read(text: str) -> int:
        bare = text.strip()
        octal = len(bare.lstrip("+-")) > 1 and bare.lstrip("+-").isdigit() and bare.lstrip("+-")[0] == "0"
        try:
            value = int(bare, 8 if octal else 0) if _WHOLE.fullmatch(bare) else None
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise ValueError(f"a whole number from {least}" + (f" to {most}" if most < 2**31 - 1 else ""))
        return value
    return read


def _one_of(*valid: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in valid:
            raise ValueError(f"one of {', '.join(valid)}")
        return text
    return read


def _root(text: str) -> int:
    if text == ALL:
        return EVERY_ROOT
    try:
        return _whole(-1)(text)
    except ValueError:
        raise ValueError("the number of a rank, or all (-1)") from None


OPTIONS = (
    _Option("t", "nthreads", _whole(1), "threads"),
    _Option("g", "ngpus", _whole(1), "gpus"),
    _Option("b", "minbytes", _size, "min_bytes"),
    _Option("e", "maxbytes", _size, "max_bytes"),
    _Option("i", "stepbytes", _size, "step_bytes"),
    _Option("f", "stepfactor", _whole(0), "factor"),
    _Option("n", "iters", _whole(1), "iterations"),
    _Option("m", "agg_iters", _whole(1), "aggregated"),
    _Option("w", "warmup_iters", _whole(0), "warm_up"),
    _Option("N", "run_cycles", _whole(0), "cycles"),
    _Option("p", "parallel_init", _whole(0, 1), "parallel_init"),
    _Option("c", "check", _whole(0), "check"),
    _Option("o", "op", _one_of(*OPERATORS, ALL), "operator"),
    _Option("d", "datatype", _one_of(*TYPES, ALL), "datatype"),
    _Option("r", "root", _root, "root"),
    _Option("z", "blocking", _whole(0, 2), "blocking"),
    _Option("y", "stream_null", _whole(0), "", "there are no CUDA streams"),
    _Option("T", "timeout", _whole(0), "", "a run ends with RunTime"),
    _Option("G", "cudagraph", _whole(0), "graph"),
    _Option("C", "report_cputime", _whole(0), "cpu_time"),
    _Option("S", "report_timestamps", _whole(0), "timestamps"),
    _Option("J", "output_file", str, "json_file"),
    _Option("a", "average", _whole(0, 3), "average"),
    _Option("R", "local_register", _whole(0, 2), "", "memory is not registered"),
    _Option("x", "cta_policy", _whole(0, 2), "", "there are no CTAs"),
    _Option("D", "device_implementation", _whole(0), "", "the collectives are NCCL's, run from the host"),
    _Option("V", "device_cta_count", _whole(1, 128), "", "there are no CTAs"),
    _Option("M", "memory", _whole(0), "", "no GPU memory is used"),
    _Option("u", "unalign", _whole(0), "unalign", "buffers have no alignment"),
    _Option("I", "per_iter_timing", _whole(0, 1), "per_iteration"),
)
_BY_LETTER = {option.letter: option for option in OPTIONS}
_BY_LONG = {option.long: option for option in OPTIONS}
VALID = ", ".join(f"-{option.letter}" for option in OPTIONS)


def parse(line: str) -> Command:
    """The command of a line such as ``all_reduce_perf -b 8 -e 1G -f 2``; ValueError says what is wrong and what is
    valid."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise ValueError(f"{line!r} cannot be split into words: {error}") from None
    if not words:
        raise ValueError(f"is empty; begin with one of {_programs()}")
    name = re.split(r"[/\\]", words[0])[-1]
    program = name.partition(SUFFIX)[0]
    if SUFFIX not in name or program not in PROGRAMS:
        raise ValueError(f"{words[0]!r} is no program of nccl-tests; begin with one of {_programs()} (without mpirun: "
                         "the ranks are the workload's hosts)")
    values: dict[str, Any] = {}
    notes: list[str] = []
    for option, text in _given(words[1:]):
        try:
            value = option.read(text)
        except ValueError as error:
            raise ValueError(f"-{option.letter} ({option.long}): {text!r} is not {error}") from None
        if option.target:
            values[option.target] = value
        if option.why and value:
            notes.append(f"-{option.letter} {text} ({option.long}) has no meaning here: {option.why}")
    command = Command(program, name, words, **values, notes=tuple(notes))
    _check(command)
    return command


def _programs() -> str:
    return ", ".join(program + SUFFIX for program in PROGRAMS)


def _given(words: tuple[str, ...]) -> Iterator[tuple[_Option, str]]:
    """Options and their texts, as getopt_long takes words apart: -b8, -b 8, --minbytes 8, --minbytes=8, --minb 8."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, text = word[2:].partition("=")
            option = _long(name)
        elif word.startswith("-") and len(word) > 1:
            option = _BY_LETTER.get(word[1])
            name, text, equals = word[:2], word[2:], word[2:]
        else:
            raise ValueError(f"{word!r} belongs to no option; valid: {VALID}")
        if option is None:
            raise ValueError(f"unknown option {word.partition('=')[0] if word.startswith('--') else name!r}; "
                             f"valid: {VALID}, or their long forms ({', '.join(_BY_LONG)})")
        if not equals:
            if not rest:
                raise ValueError(f"-{option.letter} ({option.long}) lacks its value")
            text = rest.pop(0)
        yield option, text


def _long(name: str) -> _Option | None:
    if name in _BY_LONG:
        return _BY_LONG[name]
    fitting = [long for long in _BY_LONG if name and long.startswith(name)]
    return _BY_LONG[fitting[0]] if len(fitting) == 1 else None


def _check(command: Command) -> None:
    if command.min_bytes > command.max_bytes:
        raise ValueError(f"-b {command.min_bytes} (minbytes) is more than -e {command.max_bytes} (maxbytes)")
    if command.cycles == 0:
        raise ValueError("-N 0 (run_cycles) would run for ever; give the number of cycles")
    if command.factor <= 1 and command.step_bytes == 0 and command.min_bytes < command.max_bytes:
        raise ValueError("-i 0 (stepbytes) without -f (stepfactor) would never reach -e (maxbytes)")
    if command.per_iteration and command.graph:
        raise ValueError("-I 1 (per_iter_timing) cannot be had with -G (cudagraph); leave one of them out")
    if command.factor <= 1 and command.max_bytes - command.min_bytes >= MOST_SIZES * max(1, command.step_bytes):
        raise ValueError(f"-i {command.step_bytes} (stepbytes) makes more than {MOST_SIZES:,} sizes from -b to -e")
    if command.factor > 1 and command.min_bytes == 0:
        raise ValueError("-b 0 (minbytes) with -f (stepfactor) would never reach -e (maxbytes); use -i (stepbytes)")
