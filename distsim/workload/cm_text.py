"""The text of an htsim connection matrix (.cm) as checked columns, each row with its line.

Format: ultraethernet/uet-htsim, datacenter/connection_matrix.cpp. A header (Nodes, Connections, Triggers, Failures),
then one flow or trigger a line::

    SRC->DST [id N] start PS | trigger T  size BYTES [send_done_trigger T] [recv_done_trigger T] [prio P]
    trigger id T oneshot | multishot | barrier [count N]
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import NoReturn

from distsim.textfile import Source, data_words
from distsim.workload.base import MAX_FLOW_ID, MAX_MESSAGE_BYTES, MAX_START_PS

HEADER_KEYS = ("Nodes", "Connections", "Triggers", "Failures")
FLOW_KEYS = ("id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio")
TRIGGER_KINDS = ("oneshot", "multishot", "barrier")
_MAX_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Trigger:
    """A trigger as declared; `count` is how many reports a barrier waits for, None when not given."""

    kind: str
    count: int | None
    line: int


@dataclass
class CmText(Source):
    """Columns with one entry a flow, in the order of the file; 0 stands for no trigger and, in `ids`, for no id."""

    header: dict[str, tuple[int, int]] = field(default_factory=dict)     # key -> (value, line)
    src: list[int] = field(default_factory=list)
    dst: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    start_ps: list[int] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    trigger: list[int] = field(default_factory=list)
    send_done: list[int] = field(default_factory=list)
    recv_done: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    has_priorities: bool = False

    @property
    def nodes(self) -> int:
        """Hosts that the file is written for."""
        return self.header["Nodes"][0]

    def flow_name(self, row: int) -> str:
        """``flow 7`` or, without an id, ``flow 3->5``."""
        return f"flow {self.ids[row] or f'{self.src[row]}->{self.dst[row]}'}"


def parse(file: str, lines: list[str]) -> CmText:
    """Read the lines of `file`; InputError with file and line for anything malformed, out of range, declared wrongly,
    or not modelled (link failures)."""
    cm = CmText(file)
    line_of_id: dict[int, int] = {}
    for line, text in enumerate(lines, 1):
        words = data_words(text)
        if not words:
            continue
        if "->" in words[0]:
            _read_flow(cm, words, line, line_of_id)
        elif words[0] == "trigger":
            _read_trigger(cm, words, line)
        elif words[0] == "failure":
            _refuse_failures(cm, line)
        else:
            _read_header(cm, words, line)
    _check_counts(cm)
    return cm


def _read_header(cm: CmText, words: list[str], line: int) -> None:
    if words[0] not in HEADER_KEYS:
        valid = [*HEADER_KEYS, "trigger", "failure", "SRC->DST"]
        near = difflib.get_close_matches(words[0].casefold(), [key.casefold() for key in valid], n=1)
        hint = f"did you mean {next(key for key in valid if key.casefold() == near[0])}? " if near else ""
        cm.fail(line, f"a line cannot start with {words[0]!r}; {hint}valid: {', '.join(valid)}")
    if len(words) != 2:
        cm.fail(line, f"{words[0]} takes one number")
    if cm.lines or cm.triggers:
        cm.fail(line, f"{words[0]} stands below the first flow or trigger; the header comes first")
    if words[0] in cm.header:
        cm.fail(line, f"{words[0]} stands in line {cm.header[words[0]][1]} already")
    least = 1 if words[0] == "Nodes" else 0
    cm.header[words[0]] = (_whole(cm, words[0], words[1], line, least, _MAX_COUNT), line)
    if words[0] == "Failures" and cm.header["Failures"][0]:
        _refuse_failures(cm, line)


def _read_flow(cm: CmText, words: list[str], line: int, line_of_id: dict[int, int]) -> None:
    if "Nodes" not in cm.header:
        cm.fail(line, "Nodes is missing from the header")
    given = dict(zip(words[1::2], words[2::2], strict=False))
    if len(words) != 2 * len(given) + 1 or not given.keys() <= _FLOW_KEY_SET:
        _explain_words(cm, words, line)
    ends = words[0].split("->")
    if len(ends) != 2:
        cm.fail(line, f"{words[0]!r} is not SRC->DST")
    src, dst = _host(cm, ends[0], line), _host(cm, ends[1], line)
    if src == dst:
        cm.fail(line, f"host {src} would send to itself")
    if "size" not in given:
        cm.fail(line, "the flow has no size")
    if ("start" in given) == ("trigger" in given):
        cm.fail(line, "the flow has both start and trigger" if "start" in given else "the flow has no start or trigger")
    flow_id = _whole(cm, "id", given["id"], line, 1, MAX_FLOW_ID) if "id" in given else 0
    if flow_id and line_of_id.setdefault(flow_id, line) != line:
        cm.fail(line, f"id {flow_id} is the id of the flow in line {line_of_id[flow_id]} already")
    cm.src.append(src)
    cm.dst.append(dst)
    cm.ids.append(flow_id)
    cm.lines.append(line)
    cm.size_bytes.append(_whole(cm, "size", given["size"], line, 0, MAX_MESSAGE_BYTES))
    cm.start_ps.append(_whole(cm, "start", given["start"], line, 0, MAX_START_PS) if "start" in given else 0)
    columns = (("trigger", cm.trigger), ("send_done_trigger", cm.send_done), ("recv_done_trigger", cm.recv_done))
    for key, column in columns:
        column.append(_whole(cm, key, given[key], line, 1, _MAX_COUNT) if key in given else 0)
    cm.has_priorities |= "prio" in given


def _read_trigger(cm: CmText, words: list[str], line: int) -> None:
    kind, numbers = "", dict[str, int]()
    rest = iter(words[1:])
    for word in rest:
        if word in TRIGGER_KINDS and not kind:
            kind = word
        elif word in ("id", "count") and word not in numbers:
            numbers[word] = _whole(cm, f"trigger {word}", next(rest, ""), line, 1, _MAX_COUNT)
        else:
            cm.fail(line, f"{word!r} does not belong here; write: trigger id T {' | '.join(TRIGGER_KINDS)} [count N]")
    if "id" not in numbers or not kind:
        cm.fail(line, f"the trigger has no {'kind: ' + ', '.join(TRIGGER_KINDS) if 'id' in numbers else 'id'}")
    number = numbers["id"]
    if number in cm.triggers:
        cm.fail(line, f"trigger {number} is declared in line {cm.triggers[number].line} already")
    if kind == "barrier" and "count" not in numbers:
        cm.fail(line, f"barrier {number} has no count")
    cm.triggers[number] = Trigger(kind, numbers.get("count"), line)


def _check_counts(cm: CmText) -> None:
    """What the header declares against what the file holds; nothing declared is 0 declared."""
    for key, found, noun in (("Connections", len(cm.lines), "flows"), ("Triggers", len(cm.triggers), "triggers")):
        declared, line = cm.header.get(key, (0, None))
        if declared != found:
            cm.fail(line, f"{key} {declared} is declared, but the file holds {found} {noun}" if line else
                    f"{key} is missing from the header; the file holds {found} {noun}")
    if "Nodes" not in cm.header:
        cm.fail(None, "Nodes is missing from the header")


def _refuse_failures(cm: CmText, line: int) -> NoReturn:
    cm.fail(line, "link failures are not modelled in this version")


def _host(cm: CmText, word: str, line: int) -> int:
    host = _whole(cm, "host", word, line, 0, _MAX_COUNT)
    if host >= cm.nodes:
        cm.fail(line, f"unknown host {host}; Nodes is {cm.nodes}, so hosts are 0 to {cm.nodes - 1}")
    return host


def _explain_words(cm: CmText, words: list[str], line: int) -> NoReturn:
    seen: set[str] = set()
    for key in words[1::2]:
        if key not in FLOW_KEYS:
            near = difflib.get_close_matches(key, FLOW_KEYS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            cm.fail(line, f"unknown key {key!r} of a flow; {hint}valid: {', '.join(FLOW_KEYS)}")
        if key in seen:
            cm.fail(line, f"{key} is given twice")
        seen.add(key)
    cm.fail(line, f"{words[-1]} has no value")


def _whole(cm: CmText, name: str, word: str, line: int, least: int, most: int) -> int:
    """A whole number in range; numbers like 1e6 and 5.0 are read too."""
    value: int | Decimal
    try:
        value = int(word)
    except ValueError:
        try:
            value = Decimal(word)
        except InvalidOperation:
            cm.fail(line, f"{name} {word!r} is not a number")
        if not value.is_finite() or value != value.to_integral_value():
            cm.fail(line, f"{name} {word} is not a whole number" + (" of picoseconds" if name == "start" else ""))
    if not least <= value <= most:
        cm.fail(line, f"{name} {word} is {'negative' if value < 0 <= least else f'out of range, {least} to {most}'}")
    return int(value)


_FLOW_KEY_SET = frozenset(FLOW_KEYS)
