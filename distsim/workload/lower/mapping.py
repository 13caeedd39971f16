"""Chakra mapping files: the server of each rank, and scale-up groups.

Format: scala-computing/docs, chakra-mapping-files.md, section on the file format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import numpy as np

from distsim.errors import InputError
from distsim.workload.scale_up import ScaleUp, latency_problem

MOST_DATA_BYTES = 127        # of a line before its first comment
MOST_LINE_BYTES = 4096
MAX_ID = 2**32 - 1
_SEPARATORS = re.compile("[ ,]+")
_ID = re.compile(r"[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_RATE = (Decimal("1e-9"), Decimal("1.8446744073709552e10"))
_LATENCY = (Decimal("1e-3"), Decimal("1.8446744073709552e16"))
GROUP_FIELDS = ("ScaleUpGroupId", "ScaleUpBandwidthGbps", "ScaleUpPerHopSwitchLatencyNs", "ScaleUpNpuCableLatencyNs")


@dataclass(frozen=True)
class Mapping:
    """server : i8[ranks], serverId of each rank; group, subgroup : i8[ranks], as in the file, -1: none; scale_up : what
    the groups do, None when no rank is in one."""

    server: np.ndarray
    group: np.ndarray
    subgroup: np.ndarray
    scale_up: ScaleUp | None


@dataclass
class _File:
    """What has been read so far.

    ranks : rank -> (server, group, subgroup); rank_lines : rank -> line; servers : server -> rank; groups : group ->
    (rate_bps, switch_ps, cable_ps).
    """

    path: str
    ranks: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    rank_lines: dict[int, int] = field(default_factory=dict)
    servers: dict[int, int] = field(default_factory=dict)
    groups: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def fail(self, line: int | None, message: str) -> NoReturn:
        raise InputError(message, file=self.path, line=line)


def read_mapping(file: str, ranks: int, hosts: int | None = None, header_bytes: int = 24,
                 max_payload_bytes: int = 4096) -> Mapping:
    """The placement that a mapping file gives to `ranks` ranks.

    hosts : servers of the fabric, numbered from 0; None: not checked. header_bytes, max_payload_bytes : of scale-up
    packets. Raises InputError with file and line for every rule of the format that is broken, for another number of
    ranks, and for a group whose transfers would take no time.
    """
    found = _File(file)
    second = False
    for number, raw in enumerate(_read(found).split(b"\n"), 1):
        second = second or (raw.startswith(b"@") and bool(found.ranks))
        words = _words(found, number, raw, second)
        if words and second:
            _group_line(found, number, words)
        elif words:
            _rank_line(found, number, words, hosts)
    _check_ranks(found, ranks)
    return _mapping(found, header_bytes, max_payload_bytes)


def _read(found: _File) -> bytes:
    try:
        return Path(found.path).read_bytes()
    except FileNotFoundError:
        found.fail(None, "no such file (Chakra mapping file)")
    except OSError as error:
        found.fail(None, f"cannot be read: {error.strerror} (Chakra mapping file)")


def _words(found: _File, number: int, raw: bytes, second: bool) -> list[str]:
    """The fields of a line; none of a comment or a blank line."""
    if raw.endswith(b"\r"):
        found.fail(number, "ends with CR LF; the file must have Unix line ends (LF)")
    if len(raw) > MOST_LINE_BYTES:
        found.fail(number, f"has {len(raw)} bytes; a line has at most {MOST_LINE_BYTES}")
    if raw.startswith(b"@") and not second:
        found.fail(number, "a line that starts with @ opens the section of scale-up groups and must come after the "
                           "ranks; comments before them start with #")
    data = re.split(b"[#@]" if second else b"#", raw, maxsplit=1)[0]
    if len(data) > MOST_DATA_BYTES:
        found.fail(number, f"has {len(data)} bytes before its comment; at most {MOST_DATA_BYTES}")
    if b"\t" in data:
        found.fail(number, "holds a tab; fields are separated by spaces and commas")
    return [word for word in _SEPARATORS.split(data.decode("ascii", "backslashreplace")) if word]


def _id(found: _File, number: int, name: str, word: str, most: int = MAX_ID) -> int:
    if not _ID.fullmatch(word) or int(word[:20]) > most or len(word.lstrip("0")) > 10:
        found.fail(number, f"{name} {word!r} is not a whole number from 0 to {most}")
    return int(word)


def _rank_line(found: _File, number: int, words: list[str], hosts: int | None) -> None:
    if len(words) not in (2, 4):
        found.fail(number, f"{len(words)} fields; a rank has 2 or 4: ChakraLogicalId, serverId [, ScaleUpGroupId, "
                           "ScaleUpSubgroupId]")
    rank = _id(found, number, "ChakraLogicalId", words[0])
    server = _id(found, number, "serverId", words[1], MAX_ID - 1)
    group, subgroup = -1, -1
    if len(words) == 4:
        group = _id(found, number, "ScaleUpGroupId", words[2])
        subgroup = _id(found, number, "ScaleUpSubgroupId", words[3])
    if rank in found.ranks:
        found.fail(number, f"rank {rank} is placed on line {found.rank_lines[rank]} already")
    if server in found.servers:
        found.fail(number, f"rank {rank} is placed on server {server}, which runs rank {found.servers[server]} (line "
                           f"{found.rank_lines[found.servers[server]]}); a server runs one rank")
    if hosts is not None and server >= hosts:
        found.fail(number, f"unknown serverId {server}; the fabric has servers 0 to {hosts - 1}")
    found.ranks[rank], found.rank_lines[rank], found.servers[server] = (server, group, subgroup), number, rank


def _group_line(found: _File, number: int, words: list[str]) -> None:
    if len(words) != 4:
        found.fail(number, f"{len(words)} fields; a scale-up group has 4: {', '.join(GROUP_FIELDS)}")
    group = _id(found, number, GROUP_FIELDS[0], words[0])
    if group in found.groups:
        found.fail(number, f"ScaleUpGroupId {group} is declared twice")
    rate_bps = max(1, _scaled(_decimal(found, number, GROUP_FIELDS[1], words[1], _RATE, False), 10**9))
    switch_ps, cable_ps = (_scaled(_decimal(found, number, name, word, _LATENCY, True), 1000)
                           for name, word in zip(GROUP_FIELDS[2:], words[2:]))
    problem = latency_problem(switch_ps, cable_ps)
    if problem:
        found.fail(number, f"scale-up group {group}: {problem}")
    found.groups[group] = (rate_bps, switch_ps, cable_ps)


def _decimal(found: _File, number: int, name: str, word: str, limits: tuple[Decimal, Decimal], zero: bool) -> Decimal:
    least, below = limits
    value = Decimal(word) if _DECIMAL.fullmatch(word) else Decimal(-1)
    if not (least <= value < below or (zero and value == 0)):
        found.fail(number, f"{name} {word!r} is not {'0 or ' if zero else ''}a decimal number of at least {least} and "
                           f"below {below}")
    return value


def _scaled(value: Decimal, factor: int) -> int:
    """value * factor, to the nearest whole number."""
    return int((value * factor).to_integral_value())


def _check_ranks(found: _File, ranks: int) -> None:
    given = len(found.ranks)
    if not given:
        found.fail(None, "places no rank")
    missing = next((rank for rank in range(given) if rank not in found.ranks), None)
    if missing is not None:
        extra = max(found.ranks)
        found.fail(found.rank_lines[extra], f"rank {missing} is missing; {given} ranks are placed, which must be 0 to "
                                            f"{given - 1} (here: rank {extra})")
    if given < ranks:
        found.fail(None, f"places {given} ranks, the workload has {ranks}; rank {given} is missing")
    if given > ranks:
        found.fail(found.rank_lines[ranks], f"places {given} ranks, the workload has {ranks}: 0 to {ranks - 1}")


def _mapping(found: _File, header_bytes: int, max_payload_bytes: int) -> Mapping:
    table = np.array([found.ranks[rank] for rank in range(len(found.ranks))], "i8")
    server, group, subgroup = np.ascontiguousarray(table.T)
    ids = np.unique(group[group >= 0])
    for number in ids.tolist():
        if number not in found.groups:
            rank = int(np.flatnonzero(group == number)[0])
            found.fail(found.rank_lines[rank], f"ScaleUpGroupId {number} of rank {rank} is not declared in the section "
                                               "of scale-up groups, the lines after the first that starts with @")
    if not len(ids):
        return Mapping(server, group, subgroup, None)
    rates, switches, cables = zip(*(found.groups[number] for number in ids.tolist()))
    row = np.where(group >= 0, np.searchsorted(ids, group), -1).astype("i4")
    scale_up = ScaleUp(row, subgroup, tuple(ids.tolist()), rates, switches, cables, header_bytes, max_payload_bytes)
    return Mapping(server, group, subgroup, scale_up)
