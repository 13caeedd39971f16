"""Flow files of HPCC's ns-3 simulation.

Format: alibaba-edu/High-Precision-Congestion-Control, simulation/mix/flow.txt. The number of flows, then a line a flow:
``src dst priority_group dst_port bytes start_s``. What follows the last counted flow is not read, as there.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Literal

import numpy as np
from pydantic import Field

from distsim.textfile import Source, stream_lines
from distsim.workload.base import MAX_MESSAGE_BYTES, MAX_OPS, MAX_START_PS, Context, StartTime, WorkloadSpec, sends
from distsim.workload.types import EDGES, Workload

READS_FILE = True
MAX_START_S = MAX_START_PS // 10**12
_COLUMNS = ("src", "dst", "priority group", "dst port", "bytes", "start_s")


class HpccSpec(WorkloadSpec):
    """The flows of an HPCC flow file."""

    kind: Literal["hpcc"]
    file: str = Field(description="Path of the flow file.")
    first_host: int = Field(default=0, ge=0, le=2**31 - 1, strict=True, description=(
        "Node id of NIC-0 in the file: the file counts nodes, whose switches may come first. Node id first_host + i is "
        "host i."))
    start: StartTime | None = Field(default=None, description=(
        "Start of the earliest flow after the workload's start, the others as much later as in the file, which often "
        "begins at 2 s. Default: every flow at the time that the file gives."))


Spec = HpccSpec


def build(spec: HpccSpec, context: Context) -> Workload:
    """The flows in the order of the file, with ids from 1; InputError with file and line when it is malformed or names
    a node that is no host of the fabric."""
    reader = _Reader(spec.file, spec.first_host, context.hosts)
    src, dst, size, start = reader.columns()
    if spec.start is not None and len(start):
        start = start - start.min() + spec.start
    ops = sends(src, dst, 0, start)
    ops["size_bytes"] = size
    return Workload(ops, np.zeros(0, EDGES), warnings=reader.warnings)


class _Reader(Source):
    def __init__(self, file: str, first_host: int, hosts: int):
        super().__init__(file)
        self.first_host, self.hosts = first_host, hosts
        self.warnings: list[str] = []

    def columns(self) -> tuple[np.ndarray, ...]:
        """src, dst (hosts), bytes and start in ps, i8[flows] each."""
        lines = ((number, text.split()) for number, text in stream_lines(self.file, "HPCC flows"))
        filled = ((number, words) for number, words in lines if words)
        line, words = self.next(filled, "the number of flows")
        if len(words) != 1:
            self.fail(line, f"the first line holds {len(words)} words; it is the number of flows")
        count = self.whole("number of flows", words[0], line, 0, MAX_OPS)
        columns = tuple(array("q") for _ in range(4))
        groups = set()
        for place in range(count):
            line, words = self.next(filled, f"flow {place + 1} of {count}")
            if len(words) != len(_COLUMNS):
                self.fail(line, f"a flow has {len(_COLUMNS)} words, here are {len(words)}; valid: "
                                f"{', '.join(_COLUMNS)}")
            for column, value in zip(columns, self.flow(words, line), strict=True):
                column.append(value)
            groups.add(words[2])
        rest = next(filled, None)
        if rest is not None:
            self.warnings.append(f"{self.file}:{rest[0]}: what follows the {count} flows of line 1 is not read")
        if len(groups) > 1:
            self.warnings.append(f"{self.file}: priority groups ({len(groups)} of them) are not used; all flows have "
                                 "the same priority")
        if not count:
            self.warnings.append(f"{self.file}: holds no flows")
        return tuple(np.array(column, "i8") for column in columns)

    def flow(self, words: list[str], line: int) -> tuple[int, int, int, int]:
        """src, dst, bytes and start in ps of one line."""
        src, dst = self.host("src", words[0], line), self.host("dst", words[1], line)
        if src == dst:
            self.fail(line, f"node {words[0]} would send to itself")
        self.whole(_COLUMNS[2], words[2], line, 0, 2**31 - 1)
        self.whole(_COLUMNS[3], words[3], line, 0, 2**31 - 1)
        size = self.whole("bytes", words[4], line, 0, MAX_MESSAGE_BYTES)
        try:
            start_s = Decimal(words[5])
        except InvalidOperation:
            self.fail(line, f"start_s {words[5]!r} is not a number")
        if not start_s.is_finite() or not 0 <= start_s <= MAX_START_S:
            self.fail(line, f"start_s {words[5]} is out of range, 0 to {MAX_START_S} s")
        return src, dst, size, round(start_s.scaleb(12))

    def host(self, name: str, word: str, line: int) -> int:
        """The host of a node id."""
        node = self.whole(name, word, line, 0, 2**31 - 1)
        host = node - self.first_host
        if not 0 <= host < self.hosts:
            self.fail(line, f"{name} {node} is no host; hosts are nodes {self.first_host} to "
                            f"{self.first_host + self.hosts - 1}")
        return host

    def next(self, lines: Iterator[tuple[int, list[str]]], wanted: str) -> tuple[int, list[str]]:
        """The next line with words."""
        found = next(lines, None)
        if found is None:
            self.fail(None, f"ends before {wanted}")
        return found
