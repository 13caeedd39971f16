"""What a program of nccl-tests moves at a size: elements, bytes, rows, bandwidths.

Facts: NVIDIA/nccl-tests 2.19.1, GetCollByteCount, GetBw and RunTest of src/<program>.cu, TimeTest of src/common.cu.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .command import ALL, EVERY_ROOT, OPERATORS, TYPES, Command

ALIGN_BYTES = 16             # a rank's part is a multiple of this, where the buffer is divided among the ranks
HYPERCUBE_ALIGN = 4          # elements

DIVIDED = ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter", "hypercube")
REDUCING = ("all_reduce", "reduce_scatter", "reduce", "sendrecv")      # repeated for each operator of -o all
ROOTED = ("broadcast", "reduce", "gather", "scatter")                  # repeated for each root of -r all
NO_IN_PLACE = ("alltoall", "sendrecv")                                 # run in place, but results are not checked


@dataclass(frozen=True)
class Test:
    """What is printed on a row besides its numbers: datatype, operator, root (-1: none)."""

    datatype: str
    operator: str
    root: int


@dataclass(frozen=True)
class Amount:
    """One size of a test.

    asked_bytes : the size asked for. count : elements given to the collective. row_bytes : the row's size, the larger
    of what a rank sends and receives. part_bytes : of `count` elements.
    """

    asked_bytes: int
    count: int
    row_bytes: int
    part_bytes: int


def planned(command: Command, ranks: int) -> list[Test]:
    """The tests of a command, in the program's order: datatypes, then operators, then roots."""
    types = list(TYPES) if command.datatype == ALL else [command.datatype]
    operators = ["none"]
    if command.program in REDUCING:
        operators = list(OPERATORS) if command.operator == ALL else [command.operator]
    elif command.program == "hypercube":
        operators = [""]
    roots = [-1]
    if command.program in ROOTED:
        roots = list(range(ranks)) if command.root == EVERY_ROOT else [command.root]
    return [Test(datatype, operator, root) for datatype in types for operator in operators for root in roots]


def amount(program: str, datatype: str, size_bytes: int, ranks: int) -> Amount:
    """What a program moves when asked for `size_bytes`."""
    width = TYPES[datatype]
    elements = size_bytes // width
    if program not in DIVIDED:
        return Amount(size_bytes, elements, elements * width, elements * width)
    if program == "hypercube":
        count = elements // (HYPERCUBE_ALIGN * ranks) * HYPERCUBE_ALIGN
    else:
        block = ALIGN_BYTES // width
        count = elements // ranks // block * block
    return Amount(size_bytes, count, count * ranks * width, count * width)


def swept(command: Command) -> Iterator[int]:
    """The sizes asked for, bytes: -f multiplies when it is above 1, else -i is added."""
    size = command.min_bytes
    while size <= command.max_bytes:
        yield size
        if command.factor > 1:
            size *= command.factor
        elif command.step_bytes:
            size += command.step_bytes
        else:
            return


def warmed(command: Command) -> Iterator[int]:
    """The sizes of the warm-up, bytes: doubled from -b to -e, whatever -f and -i say (a size of 0 once)."""
    size = command.min_bytes
    while size <= command.max_bytes:
        yield size
        if not size:
            return
        size *= 2


def bus_factor(program: str, ranks: int) -> float:
    """busbw over algbw."""
    if program == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if program in ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter"):
        return (ranks - 1) / ranks
    return 1.0


def bandwidths(program: str, moved: Amount, ranks: int, seconds: float) -> tuple[float, float]:
    """(algbw, busbw) in GB/s; 0 when nothing was moved in no time."""
    if program == "hypercube":
        total = moved.part_bytes * (ranks - 1)
    else:
        total = moved.part_bytes * ranks if program in DIVIDED else moved.part_bytes
    if not total:
        return 0.0, 0.0
    algbw = total / 1e9 / seconds if seconds > 0 else float("inf")
    return algbw, algbw * bus_factor(program, ranks)
