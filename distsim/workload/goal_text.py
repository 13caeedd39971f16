"""The text of a GOAL schedule as a Graph, read word by word.

Format: spcl/LogGOPSim, src/LogGOPSim/txt2bin.re. ``num_ranks N``, then for each rank ``rank R { ... }`` with ::

    [label:] send N b to D [tag T] [cpu C] [nic K]
    [label:] recv N b from S | -1 [tag T | -1] [cpu C] [nic K]
    [label:] calc N [cpu C]
    label requires label        label irequires label

Comments are ``// to the end of the line`` and ``/* ... */``. Words are separated by any white space; the reference
wants a statement on a line of its own and a label before its use, neither of which matters here.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from distsim.textfile import Source, stream_lines
from distsim.workload.base import MAX_MESSAGE_BYTES, MAX_START_PS
from distsim.workload.goal_starts import add_starts
from distsim.workload.graph import COMP, RECV, SEND

ANY = -1
MAX_RANKS = 1 << 20
MAX_NODES = 1 << 27
_MAX_TAG = 2**32 - 2
_MAX_UNIT = 255
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPTIONS = ("tag", "cpu", "nic")


@dataclass
class GoalText(Source):
    """Columns with one entry an operation, in the order of the file; and what each waits for.

    size : bytes, or duration in ps of a calc; peer : rank, ANY of a recv, -1 of a calc; tag : ANY of a recv; cpu : of a
    calc. node, on : operations `node` wait until `on` are done, as rows. blocks : rank -> its first row and the row
    after its last, in the order of the file. labels : row -> label. any_tag : row of a recv of any tag -> its line.
    """

    ranks: int = 0
    kind: array[int] = field(default_factory=lambda: array("B"))
    size: array[int] = field(default_factory=lambda: array("q"))
    peer: array[int] = field(default_factory=lambda: array("i"))
    tag: array[int] = field(default_factory=lambda: array("q"))
    cpu: array[int] = field(default_factory=lambda: array("B"))
    node: array[int] = field(default_factory=lambda: array("i"))
    on: array[int] = field(default_factory=lambda: array("i"))
    blocks: dict[int, tuple[int, int]] = field(default_factory=dict)
    labels: dict[int, str] = field(default_factory=dict)
    any_tag: dict[int, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, kind: int, size: int, peer: int, tag: int, cpu: int) -> int:
        """Append an operation; its row."""
        self.kind.append(kind)
        self.size.append(size)
        self.peer.append(peer)
        self.tag.append(tag)
        self.cpu.append(cpu)
        return len(self.kind) - 1


def parse(file: str, calc_ps: int, keep_labels: int = 1 << 20) -> GoalText:
    """Read the schedule in `file`. calc_ps : picoseconds of one unit of calc; labels are kept of so many operations.

    Raises InputError with file and line for anything that is not understood, out of range or undefined.
    """
    return _Parser(file, calc_ps, keep_labels).run()


def _lines(goal: GoalText) -> Iterator[tuple[list[str], int]]:
    """Words and number of each line that has any, comments left out."""
    opened = 0      # line of the comment that is open
    for number, text in stream_lines(goal.file, "GOAL schedule"):
        if opened or "/" in text:
            text, opened = _without_comments(text, opened, number)
        words = text.replace(":", " : ").replace("{", " { ").replace("}", " } ").split()
        if words:
            yield words, number
    if opened:
        goal.fail(opened, "the comment /* is never closed")


def _without_comments(text: str, opened: int, number: int) -> tuple[str, int]:
    """(the line without its comments, line of a comment still open at its end or 0)."""
    kept = []
    while text:
        if opened:
            _, closed, text = text.partition("*/")
            opened = 0 if closed else opened
            continue
        begin = min((at for at in (text.find("//"), text.find("/*")) if at >= 0), default=len(text))
        kept.append(text[:begin])
        if text[begin:begin + 2] != "/*":
            break
        text, opened = text[begin + 2:], number
    return " ".join(kept), opened


class _Parser:
    """Reads statements with one word of look-ahead: `word` at `line`, "" at the end of the file; it is words[at]."""

    def __init__(self, file: str, calc_ps: int, keep_labels: int):
        self.goal, self.calc_ps, self.keep_labels = GoalText(file), calc_ps, keep_labels
        self.lines = _lines(self.goal)
        self.rank, self.rank_line, self.nic_line = -1, 0, 0
        self.rows: dict[str, int] = {}                              # of the labels of the rank
        self.requires: list[tuple[str, str, int, bool]] = []        # (label, label, line, is irequires) of the rank
        self.words, self.at, self.word, self.line = [""], 0, "", 0
        self.take()

    def take(self) -> str:
        """The word ahead; moves on."""
        word = self.word
        self.at += 1
        if self.at == len(self.words):
            self.words, self.line = next(self.lines, ([""], self.line))
            self.at = 0
        self.word = self.words[self.at]
        return word

    def run(self) -> GoalText:
        """The whole file."""
        goal = self.goal
        while self.word:
            line, word = self.line, self.take()
            if word == "num_ranks":
                if goal.ranks:
                    goal.fail(line, "num_ranks is given twice")
                goal.ranks = self.number("num_ranks", 1, MAX_RANKS)
            elif word == "rank":
                self.block(line)
            else:
                goal.fail(line, f"{word!r} does not belong here; valid: num_ranks N, rank R {{ ... }}")
        if not goal.ranks:
            goal.fail(None, "num_ranks is missing")
        if self.nic_line:
            goal.warnings.append(f"{goal.file}:{self.nic_line}: nic is not used; a rank has one NIC")
        return goal

    def block(self, line: int) -> None:
        """One ``rank R { ... }``."""
        goal = self.goal
        if not goal.ranks:
            goal.fail(line, "num_ranks comes before the first rank")
        self.rank = self.number("rank", 0, goal.ranks - 1)
        if self.rank in goal.blocks:
            goal.fail(line, f"rank {self.rank} is given twice")
        self.expect("{")
        first = len(goal.kind)
        self.rows, self.requires = {}, []
        while self.word != "}":
            if not self.word:
                goal.fail(line, f"rank {self.rank} is never closed with }}")
            self.statement()
        self.take()
        self.resolve()
        goal.blocks[self.rank] = (first, len(goal.kind))
        if len(goal.kind) > MAX_NODES:
            goal.fail(line, f"more than {MAX_NODES} operations")

    def statement(self) -> None:
        """One operation or dependency."""
        line, word = self.line, self.take()
        if word in _OPERATIONS and self.word != ":":
            _OPERATIONS[word](self)
            return
        if self.word == ":":
            self.label(word, line)
            self.take()
            if self.word not in _OPERATIONS:
                self.unexpected("send, recv or calc")
            row = _OPERATIONS[self.take()](self)
            self.rows[word] = row
            if row < self.keep_labels:
                self.goal.labels[row] = word
        elif self.word in ("requires", "irequires"):
            starts = self.take() == "irequires"
            self.requires.append((word, self.take(), line, starts))
        else:
            self.goal.fail(line, f"{word!r} does not belong here; valid: send, recv, calc, LABEL: before one of them, "
                                 "LABEL requires LABEL, LABEL irequires LABEL")

    def label(self, word: str, line: int) -> None:
        """Check a label that is being defined."""
        if _LABEL.fullmatch(word) is None:
            self.goal.fail(line, f"{word!r} is not a label; a label is letters, digits and _")
        if word in self.rows:
            self.goal.fail(line, f"label {word} is given twice in rank {self.rank}")

    def send(self) -> int:
        """What follows ``send``; the row."""
        line, size = self.line, self.size()
        self.expect("to")
        peer = self.number("receiver", 0, self.goal.ranks - 1)
        if peer == self.rank:
            self.goal.fail(line, f"rank {peer} would send to itself")
        tag, _ = self.options(_OPTIONS, least_tag=0)
        return self.goal.add(SEND, size, peer, tag, 0)

    def recv(self) -> int:
        """What follows ``recv``; the row."""
        line, size = self.line, self.size()
        self.expect("from")
        peer = self.number("sender", ANY, self.goal.ranks - 1)
        if peer == self.rank:
            self.goal.fail(line, f"rank {peer} would receive from itself")
        tag, _ = self.options(_OPTIONS, least_tag=ANY)
        row = self.goal.add(RECV, size, peer, tag, 0)
        if tag == ANY:
            self.goal.any_tag[row] = line
        return row

    def calc(self) -> int:
        """What follows ``calc``; the row."""
        duration_ps = self.number("calc", 0, MAX_START_PS // self.calc_ps) * self.calc_ps
        return self.goal.add(COMP, duration_ps, -1, 0, self.options(("cpu",), least_tag=0)[1])

    def size(self) -> int:
        """``N b`` or ``Nb``."""
        line, word = self.line, self.take()
        if word.endswith("b") and len(word) > 1:
            word = word[:-1]
        else:
            self.expect("b")
        return self.whole("size", word, line, 0, MAX_MESSAGE_BYTES)

    def options(self, valid: tuple[str, ...], least_tag: int) -> tuple[int, int]:
        """tag, cpu and nic, in any order; (tag, cpu), 0 where not given."""
        tag = cpu = 0
        given: tuple[str, ...] = ()
        while self.word in _OPTIONS:
            line, name = self.line, self.take()
            if name not in valid:
                self.goal.fail(line, f"{name} does not belong to this operation; valid: {', '.join(valid)}")
            if name in given:
                self.goal.fail(line, f"{name} is given twice")
            given += (name,)
            value = self.number(name, least_tag, _MAX_TAG) if name == "tag" else self.number(name, 0, _MAX_UNIT)
            if name == "tag":
                tag = value
            elif name == "cpu":
                cpu = value
            elif value and not self.nic_line:
                self.nic_line = line
        return tag, cpu

    def number(self, name: str, least: int, most: int) -> int:
        """The whole number ahead."""
        line = self.line
        return self.whole(name, self.take(), line, least, most)

    def whole(self, name: str, word: str, line: int, least: int, most: int) -> int:
        """`word` as a number in range."""
        if not word:
            self.goal.fail(line, f"ends where {name} is due")
        return self.goal.whole(name, word, line, least, most)

    def expect(self, word: str) -> None:
        """Move over `word`."""
        if self.word != word:
            self.unexpected(word)
        self.take()

    def unexpected(self, wanted: str) -> NoReturn:
        """The error for the word ahead."""
        found = f"found {self.word!r}" if self.word else "the file ends"
        self.goal.fail(self.line, f"{found} where {wanted} is due")

    def resolve(self) -> None:
        """Turn the rank's dependencies into rows."""
        goal, begin = self.goal, len(self.goal.node)
        starts = []
        for label, other, line, irequires in self.requires:
            row, on = self.rows.get(label), self.rows.get(other)
            if row is None or on is None:
                goal.fail(line, f"label {label if row is None else other} is not defined in rank {self.rank}")
            if row == on:
                goal.fail(line, f"{label} would wait for itself")
            if irequires:
                starts.append((row, on, line))
            else:
                goal.node.append(row)
                goal.on.append(on)
        add_starts(goal, starts, begin)


_OPERATIONS: dict[str, Callable[[_Parser], int]] = {"send": _Parser.send, "recv": _Parser.recv, "calc": _Parser.calc}
