"""The text of a SimAI workload file as checked values, each with its line.

Format: aliyun/SimAI, astra-sim-alibabacloud/astra-sim/workload/Workload.cc. Line 1: the policy, then names with values.
Line 2: how many layers follow. Then a line a layer, 12 words::

    name dependency  forward_ns comm bytes  input_grad_ns comm bytes  weight_grad_ns comm bytes  update_ns
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from distsim.textfile import Source, stream_lines
from distsim.workload.base import MAX_MESSAGE_BYTES, MAX_START_PS
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER

COMMS = {"ALLREDUCE": ALL_REDUCE, "ALLGATHER": ALL_GATHER, "REDUCESCATTER": REDUCE_SCATTER, "ALLTOALL": ALL_TO_ALL}
# Suffix of a comm: the ranks that take part. Without one it depends on the pass and the policy (simai_program.py).
DOMAINS = {"": "", "_EP": "EP", "_DP_EP": "DP_EP"}
NUMBERS = ("model_parallel_NPU_group", "ep", "pp", "vpp", "ga", "all_gpus", "pp_comm", "DLRM_LAST_BOTTOM_LAYER")
LISTS = ("checkpoints", "checkpoint_initiates")
COLUMNS = ("name", "dependency", "forward time", "forward comm", "forward size", "input-gradient time",
           "input-gradient comm", "input-gradient size", "weight-gradient time", "weight-gradient comm",
           "weight-gradient size", "update time")
MAX_LAYERS = 1 << 24
_COMM = re.compile("(" + "|".join(COMMS) + ")(_EP|_DP_EP)?")


@dataclass(frozen=True)
class Pass:
    """One of a layer's passes. collective : of graph.COLLECTIVES, -1 for none; domain : EP, DP_EP, or "" for the pass's
    own; size_bytes : total buffer."""

    time_ns: int
    collective: int
    domain: str
    size_bytes: int


@dataclass(frozen=True)
class Layer:
    """One line of the file."""

    name: str
    forward: Pass
    input_grad: Pass
    weight_grad: Pass
    update_ns: int
    line: int


@dataclass
class SimaiText(Source):
    """policy : first word; numbers, lists : what the header names; layers : the first `most` of those declared."""

    policy: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, tuple[int, ...]] = field(default_factory=dict)
    declared: int = 0
    layers: list[Layer] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def parse(file: str, most: int | None = None) -> SimaiText:
    """Read the file, of its layers only the first `most`; InputError with file and line for anything malformed."""
    text = SimaiText(file)
    lines = ((number, line.split()) for number, line in stream_lines(file, "SimAI workload"))
    filled = ((number, words) for number, words in lines if words)
    _read_header(text, *_next(text, filled, "the policy"))
    line, words = _next(text, filled, "the number of layers")
    if len(words) != 1:
        text.fail(line, f"line 2 holds {len(words)} words; it is the number of layers")
    text.declared = _whole(text, "number of layers", words[0], line, 1, MAX_LAYERS)
    for place in range(min(text.declared, text.declared if most is None else most)):
        text.layers.append(_layer(text, *_next(text, filled, f"layer {place + 1} of {text.declared}")))
    if len(text.layers) == text.declared:
        rest = next(filled, None)
        if rest is not None:
            text.warnings.append(f"{file}:{rest[0]}: what follows the {text.declared} layers of line 2 is not read")
    return text


def scaled(layers: list[Layer], compute_scale: float, comm_scale: float) -> list[Layer]:
    """The layers with times and sizes times these factors, exact to the digits that they are written with, truncated as
    in SimAI; a time or size above 0 stays at least 1."""
    compute, comm = (Fraction(str(factor)) for factor in (compute_scale, comm_scale))
    if compute == comm == 1:
        return layers

    def times(value: int, factor: Fraction) -> int:
        return min(max(int(value * factor), 1), MAX_MESSAGE_BYTES) if value else 0

    def one(layer_pass: Pass) -> Pass:
        return replace(layer_pass, time_ns=times(layer_pass.time_ns, compute),
                       size_bytes=times(layer_pass.size_bytes, comm))

    return [replace(layer, forward=one(layer.forward), input_grad=one(layer.input_grad),
                    weight_grad=one(layer.weight_grad)) for layer in layers]


def _next(text: SimaiText, lines: Iterator[tuple[int, list[str]]], wanted: str) -> tuple[int, list[str]]:
    found = next(lines, None)
    if found is None:
        text.fail(None, f"ends before {wanted}")
    return found


def _read_header(text: SimaiText, line: int, words: list[str]) -> None:
    """The policy, then names (with a colon or without) and values."""
    text.policy = words[0]
    rest = iter(words[1:])
    for word in rest:
        name = word.removesuffix(":")
        if name in text.numbers or name in text.lists:
            text.fail(line, f"{name} is given twice")
        if name in NUMBERS:
            text.numbers[name] = _whole(text, name, next(rest, ""), line, 0, MAX_MESSAGE_BYTES)
        elif name in LISTS:
            count = _whole(text, name, next(rest, ""), line, 0, MAX_LAYERS)
            text.lists[name] = tuple(_whole(text, f"layer of {name}", next(rest, ""), line, 0, MAX_LAYERS)
                                     for _ in range(count))
        elif word.endswith(":"):
            text.warnings.append(f"{text.file}:{line}: {name} is not used")
            next(rest, None)
        else:
            text.fail(line, f"{word!r} does not belong here; valid: {', '.join((*NUMBERS, *LISTS))}")


def _layer(text: SimaiText, line: int, words: list[str]) -> Layer:
    if len(words) != len(COLUMNS):
        text.fail(line, f"a layer has {len(COLUMNS)} words, here are {len(words)}; valid: {', '.join(COLUMNS)}")
    passes = [_pass(text, words, begin, line) for begin in (2, 5, 8)]
    update_ns = _whole(text, COLUMNS[11], words[11], line, 0, MAX_START_PS // 1000)
    return Layer(words[0], passes[0], passes[1], passes[2], update_ns, line)


def _pass(text: SimaiText, words: list[str], begin: int, line: int) -> Pass:
    time_ns = _whole(text, COLUMNS[begin], words[begin], line, 0, MAX_START_PS // 1000)
    size_bytes = _whole(text, COLUMNS[begin + 2], words[begin + 2], line, 0, MAX_MESSAGE_BYTES)
    comm = words[begin + 1]
    if comm == "NONE":
        return Pass(time_ns, -1, "", 0)
    match = _COMM.fullmatch(comm)
    if match is None:
        text.fail(line, f"{COLUMNS[begin + 1]} {comm!r} is unknown; valid: NONE, {', '.join(COMMS)}, each also with "
                        "_EP or _DP_EP")
    return Pass(time_ns, COMMS[match[1]], DOMAINS[match[2] or ""], size_bytes)


def _whole(text: SimaiText, name: str, word: str, line: int, least: int, most: int) -> int:
    if not word:
        text.fail(line, f"{name} has no value")
    return text.whole(name, word, line, least, most)
