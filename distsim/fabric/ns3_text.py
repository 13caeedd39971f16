"""The text of an ns-3 topology file (HPCC's, or SimAI's with NVSwitches) as checked columns.

Formats: alibaba-edu/High-Precision-Congestion-Control, simulation/mix; aliyun/SimAI, network_frontend/ns3/common.h.
Words are separated by any white space. HPCC's header is ``nodes switches links``, SimAI's
``nodes gpus_per_server nvswitches switches links gpu_type``; the ids of the NVSwitches and of the switches follow, then
``src dst rate delay error`` for every link. What comes after the last declared link is not read, as in both programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from distsim.fabric.links import MAX_DELAY_PS
from distsim.quantities import TIME_UNITS
from distsim.textfile import Source, read_lines, whole_number

HPCC_HEADER = ("nodes", "switches", "links")
SIMAI_HEADER = ("nodes", "gpus_per_server", "nvswitches", "switches", "links", "gpu_type")
GPU_TYPES = ("A100", "A800", "H100", "H800", "NONE")
MAX_NODES = 1 << 21
MAX_LINKS = 1 << 24

# ns-3's DataRate: decimal multiples, binary ones with i; b is bits, B is bytes.
_RATE = re.compile(r"(\d+\.?\d*|\.\d+)([kKMGT]?)(i?)([bB])(?:ps|/s)")
_POWER = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_TIME = re.compile(r"(\d+\.?\d*(?:e[+-]?\d{1,3})?|\.\d+)(s|ms|us|ns|ps)")


@dataclass
class Ns3Text(Source):
    """header : word of the header -> value; kinds : u1[nodes], HOST, SWITCH or NVSWITCH; src, dst : i4[links], node ids
    of the file; rate_bps, delay_ps : i8[links]; lines : i4[links], where each link stands."""

    header: dict[str, int] = field(default_factory=dict)
    gpu_type: str = ""
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(0, "u1"))
    src: np.ndarray = field(default_factory=lambda: np.zeros(0, "i4"))
    dst: np.ndarray = field(default_factory=lambda: np.zeros(0, "i4"))
    rate_bps: np.ndarray = field(default_factory=lambda: np.zeros(0, "i8"))
    delay_ps: np.ndarray = field(default_factory=lambda: np.zeros(0, "i8"))
    lines: np.ndarray = field(default_factory=lambda: np.zeros(0, "i4"))
    warnings: list[str] = field(default_factory=list)

    @property
    def is_simai(self) -> bool:
        """Whether the header is SimAI's."""
        return "gpus_per_server" in self.header

    def hosts(self) -> np.ndarray:
        """Node ids of the hosts, ascending, i8[hosts]: entry i is NIC-i of the fabric."""
        return np.flatnonzero(self.kinds == HOST)


HOST, SWITCH, NVSWITCH = 0, 1, 2


def read(file: str) -> Ns3Text:
    """The topology in `file`; InputError with file and line for anything malformed, unknown or out of range."""
    return parse(file, read_lines(file, "ns-3 topology"))


def parse(file: str, lines: list[str]) -> Ns3Text:
    """As `read`, from the file's lines."""
    topo = Ns3Text(file)
    words = ((word, number) for number, text in enumerate(lines, 1) for word in text.split())
    _read_header(topo, lines, words)
    topo.kinds = np.zeros(topo.header["nodes"], "u1")
    if topo.is_simai:
        _read_ids(topo, words, topo.header["nvswitches"], NVSWITCH, "NVSwitch")
    _read_ids(topo, words, topo.header["switches"], SWITCH, "switch")
    _read_links(topo, words)
    rest = next(words, None)
    if rest is not None:
        links = topo.header["links"]
        topo.warnings.append(f"{file}:{rest[1]}: what follows the {links} links of the header is not read")
    return topo


def _read_header(topo: Ns3Text, lines: list[str], words: Iterator[tuple[str, int]]) -> None:
    number, first = next(((n, text.split()) for n, text in enumerate(lines, 1) if text.strip()), (None, []))
    forms = {len(form): form for form in (HPCC_HEADER, SIMAI_HEADER)}
    if len(first) not in forms:
        topo.fail(number, f"the header has {len(first)} words; valid: {' '.join(HPCC_HEADER)} (HPCC) or "
                          f"{' '.join(SIMAI_HEADER)} (SimAI)")
    for name, word in zip(forms[len(first)], first, strict=True):
        next(words)
        if name == "gpu_type":
            topo.gpu_type = word
            if word not in GPU_TYPES:
                topo.warnings.append(f"{topo.file}:{number}: gpu_type {word} is none of {', '.join(GPU_TYPES)}; it is "
                                     "not used")
        else:
            most = MAX_LINKS if name == "links" else MAX_NODES
            topo.header[name] = topo.whole(name, word, number, 0 if "switches" in name else 1, most)
    switches = topo.header["switches"] + topo.header.get("nvswitches", 0)
    if switches >= topo.header["nodes"]:
        topo.fail(number, f"{switches} switches of {topo.header['nodes']} nodes leave no host")


def _read_ids(topo: Ns3Text, words: Iterator[tuple[str, int]], count: int, kind: int, noun: str) -> None:
    for place in range(count):
        word, line = _next(topo, words, f"{place} of {count} {noun} ids")
        node = _node(topo, word, line)
        if topo.kinds[node] != HOST:
            topo.fail(line, f"node {node} is listed as a switch twice")
        topo.kinds[node] = kind


def _read_links(topo: Ns3Text, words: Iterator[tuple[str, int]]) -> None:
    count, bad_error = topo.header["links"], []
    topo.src, topo.dst, topo.lines = (np.zeros(count, "i4") for _ in range(3))
    topo.rate_bps, topo.delay_ps = np.zeros(count, "i8"), np.zeros(count, "i8")
    rates: dict[str, int] = {}
    delays: dict[str, int] = {}
    for row in range(count):
        have = f"{row} of {count} links"
        (src, line), (dst, _), (rate, _), (delay, _), (error, last) = (_next(topo, words, have) for _ in range(5))
        if last != line:
            topo.fail(line, "a link is five words on one line: src dst rate delay error")
        if rate not in rates:
            rates[rate] = _rate(topo, rate, line)
        if delay not in delays:
            delays[delay] = _delay(topo, delay, line)
        topo.src[row], topo.dst[row], topo.lines[row] = _node(topo, src, line), _node(topo, dst, line), line
        topo.rate_bps[row], topo.delay_ps[row] = rates[rate], delays[delay]
        if topo.src[row] == topo.dst[row]:
            topo.fail(line, f"node {src} is linked to itself")
        if error not in ("0", "0.0") and _error(topo, error, line):
            bad_error.append(line)
    if bad_error:
        topo.warnings.append(f"{topo.file}:{bad_error[0]}: error rates of links are not modelled ({len(bad_error)} "
                             "links name one)")


def _next(topo: Ns3Text, words: Iterator[tuple[str, int]], have: str) -> tuple[str, int]:
    found = next(words, None)
    if found is None:
        topo.fail(None, f"ends early: {have} that the header declares are there")
    return found


def _node(topo: Ns3Text, word: str, line: int) -> int:
    node = whole_number(word)
    if node is None:
        topo.fail(line, f"node id {word!r} is not a whole number")
    if not 0 <= node < topo.header["nodes"]:
        topo.fail(line, f"unknown node {node}; {topo.header['nodes']} nodes are 0 to {topo.header['nodes'] - 1}")
    return node


def _rate(topo: Ns3Text, word: str, line: int) -> int:
    match = _RATE.fullmatch(word)
    if match is None:
        topo.fail(line, f"rate {word!r} is not a data rate; valid e.g. 100Gbps, 25Gb/s")
    base = 1024 if match[3] else 1000
    value = int(Decimal(match[1]) * base ** _POWER[match[2]] * (8 if match[4] == "B" else 1))
    if not 0 < value <= 10**15:
        topo.fail(line, f"rate {word} is out of range, above 0 to 1000Tbps")
    return value


def _delay(topo: Ns3Text, word: str, line: int) -> int:
    match = _TIME.fullmatch(word)
    if match is None:
        topo.fail(line, f"delay {word!r} is not a time; valid e.g. 0.001ms; units {', '.join(TIME_UNITS)}")
    value = Decimal(match[1]) * TIME_UNITS[match[2]]
    if value > MAX_DELAY_PS:
        topo.fail(line, f"delay {word} is out of range, 0 to {MAX_DELAY_PS // 10**12}s")
    return int(value)


def _error(topo: Ns3Text, word: str, line: int) -> float:
    try:
        value = float(word)
    except ValueError:
        topo.fail(line, f"error rate {word!r} is not a number")
    if not 0 <= value <= 1:
        topo.fail(line, f"error rate {word} is out of range, 0 to 1")
    return value
