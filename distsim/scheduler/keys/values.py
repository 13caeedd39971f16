"""What the text of a label or annotation means: one function a kind of value.

Each takes the text and gives the value, or raises `InvalidValue`, whose message has the bad value and the valid ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from distsim.config.names import nearest
from distsim.scheduler.types import INVALID_ARGUMENT, NOT_SUPPORT_POLICY

Parse = Callable[[str], Any]
_LEVEL = re.compile(r"\s*level([0-9]{1,6})\s*=([^=]*)", re.ASCII)
_WHOLE = re.compile(r"[+-]?[0-9]{1,100}", re.ASCII)


class InvalidValue(ValueError):
    """A value that its key cannot have. reason : of the condition JobValidateFailed."""

    def __init__(self, message: str, reason: str = INVALID_ARGUMENT):
        super().__init__(message)
        self.reason = reason


def whole_number(text: str) -> int | None:
    """The integer that a text means, None for any other text."""
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) else None


def whole(low: int, high: int | None, default: str = "") -> Parse:
    """A parser of integers from `low` to `high` (None: no upper bound). default : what counts without the key."""
    valid = f"{low} to {high}" if high is not None else f"{low} or more"

    def parse(text: str) -> int:
        value = whole_number(text)
        if value is None:
            raise InvalidValue(f"{text!r} is not an integer; valid: {valid}{default}")
        if value < low or (high is not None and value > high):
            raise InvalidValue(f"{value} is out of range; valid: {valid}{default}")
        return value

    return parse


def one_of(meaning: Mapping[str, Any], reason: str = INVALID_ARGUMENT) -> Parse:
    """A parser of names: text -> what it means. Case counts."""

    def parse(text: str) -> Any:
        if text in meaning:
            return meaning[text]
        close = nearest(text, list(meaning))
        raise InvalidValue(f"{text!r} is not valid; valid values: {', '.join(meaning)}"
                           + (f"; nearest: {close}" if close else ""), reason)

    return parse


def else_default(meaning: Mapping[str, Any], default: Any) -> Parse:
    """A parser that takes every other text for the default, where the documentation says so."""
    return lambda text: meaning.get(text, default)


def as_text(text: str) -> str:
    """The text itself."""
    return text


def power_of_two(most: int) -> Parse:
    """A parser of 1, 2, 4, ... `most`."""
    valid = [1 << bit for bit in range(most.bit_length())]
    return one_of({str(value): value for value in valid})


def sp_block(text: str) -> int | str:
    """Chips of a logical SuperPoD, or how it is placed: "idlest" or "non-idlest".

    It is an integer on mind-cluster's page (cluster.md); the seed's table has idlest and Non-idlest, which act as
    sp-fit with the default block."""
    if text.lower() in ("idlest", "non-idlest"):
        return text.lower()
    value = whole_number(text)
    if value is None or value < 1:
        raise InvalidValue(f"{text!r} is not valid; valid: a number of chips of 1 or more, idlest or Non-idlest")
    return value


def atlas(text: str) -> str:
    """A value of ring-controller.atlas: ascend-npu, ascend-910, ascend-{xxx}b, ascend-310, ascend-310P, huawei.com/npu.

    The seed's tables name the first three and huawei.com/npu; mind-cluster has the values of inference cards too."""
    if text in ATLAS or re.fullmatch(r"ascend-[0-9]{3}b", text):
        return text
    close = nearest(text, [*ATLAS, "ascend-910b"])
    raise InvalidValue(f"{text!r} is not valid; valid values: {', '.join(ATLAS)}, ascend-{{xxx}}b such as ascend-910b"
                       + (f"; nearest: {close}" if close else ""))


ATLAS = ("ascend-npu", "ascend-910", "ascend-310", "ascend-310P", "huawei.com/npu")


def affinity_levels(text: str) -> tuple[int, ...]:
    """The group sizes of level 1, 2, ... of huawei.com/affinity-config, apart from the number of replicas.

    Rules of seed 001, PodGroup Table 2, and cluster.md section 3: pairs leveln=x joined by commas, from level1 up
    without a gap, each a multiple of the one before."""
    sizes: list[int] = []
    for pair in text.split(","):
        found = _LEVEL.fullmatch(pair)
        if found is None:
            raise InvalidValue(f"{text!r}: malformed pair {pair.strip()!r}; valid: pairs leveln=x joined by commas, "
                               "e.g. level1=2,level2=4")
        number = int(found[1])
        _check_order(text, number, len(sizes))
        sizes.append(_group_size(text, number, found[2]))
        if len(sizes) > 1 and sizes[-1] % sizes[-2]:
            raise InvalidValue(f"{text!r}: level{number}={sizes[-1]} is not a multiple of level{number - 1}={sizes[-2]}"
                               f" ({sizes[-2]} does not divide {sizes[-1]})")
    return tuple(sizes)


def check_replicas(text: str, sizes: tuple[int, ...], pods: int) -> None:
    """InvalidValue if the number of pods is not a multiple of every group size."""
    for number, size in enumerate(sizes, 1):
        if pods % size:
            raise InvalidValue(f"{text!r}: the {pods} replicas are not a multiple of level{number}={size} "
                               f"({size} does not divide {pods})")


def _check_order(text: str, number: int, seen: int) -> None:
    if 1 <= number <= seen:
        raise InvalidValue(f"{text!r}: level{number} is given twice")
    if number != seen + 1:
        raise InvalidValue(f"{text!r}: level{seen + 1} is missing; levels begin with level1 and ascend without a gap")


def _group_size(text: str, number: int, given: str) -> int:
    size = whole_number(given)
    if size is None:
        raise InvalidValue(f"{text!r}: level{number}={given.strip()} is not an integer")
    if size < 1:
        raise InvalidValue(f"{text!r}: level{number}={size} is out of range; valid: 1 or more")
    return size


SCHEDULE_POLICIES = (
    "chip4-node8", "chip1-node2", "chip4-node4", "chip8-node8", "chip8-node16", "chip2-node8", "chip2-node16",
    "chip2-node8-sp", "chip2-node16-sp", "chip4-node16", "chip1-node8", "chip1-node16", "chip8-node8-sp",
    "chip8-node8-ra64-sp", "chip1-softShareDev", "multilevel")
schedule_policy = one_of({name: name for name in SCHEDULE_POLICIES}, NOT_SUPPORT_POLICY)
