"""The text of an htsim .topo file as checked entries, each with its line.

A header (Nodes, Tiers, Podsize) and a block ``Tier k`` for each tier; keys in any case; one ``key value`` a line.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation, Overflow
from typing import NoReturn

from distsim.fabric.links import MAX_DELAY_PS
from distsim.textfile import Source, data_words

HEADER_KEYS = {"nodes": "Nodes", "tiers": "Tiers", "podsize": "Podsize"}
# key in lower case: (as htsim writes it, base units per unit of the file, least value, greatest value)
TIER_KEYS = {
    "downlink_speed_gbps": ("Downlink_speed_Gbps", 10**9, 1, 10**15),
    "radix_down": ("Radix_Down", 1, 1, 65536),
    "radix_up": ("Radix_Up", 1, 1, 65536),
    "queue_down": ("Queue_Down", 1, 0, 2**40),
    "queue_up": ("Queue_Up", 1, 0, 2**40),
    "oversubscribed": ("Oversubscribed", 1, 1, 65536),
    "bundle": ("Bundle", 1, 1, 65536),
    "switch_latency_ns": ("Switch_Latency_ns", 1000, 0, MAX_DELAY_PS),
    "downlink_latency_ns": ("Downlink_Latency_ns", 1000, 0, MAX_DELAY_PS),
}
_REQUIRED = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")


@dataclass(frozen=True)
class Entry:
    """A value in base units (bit/s, ps, a count) and its 1-based line."""

    value: int
    line: int


@dataclass
class TopoText(Source):
    """header : key -> Entry; blocks : tier -> key -> Entry, keys in lower case; tier_lines : tier -> its first line."""

    header: dict[str, Entry] = field(default_factory=dict)
    blocks: dict[int, dict[str, Entry]] = field(default_factory=dict)
    tier_lines: dict[int, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def tiers(self) -> int:
        """Number of tiers of switches, 2 or 3."""
        return self.header["tiers"].value

    def find(self, tier: int, key: str) -> Entry | None:
        """The entry, or None when the file leaves it out."""
        return self.blocks[tier].get(key)

    def get(self, tier: int, key: str, default: int | None = None) -> Entry:
        """The entry, or `default` on the line of its block; InputError when it is missing and has no default."""
        entry = self.blocks[tier].get(key)
        if entry is None:
            if default is None:
                self.fail(self.tier_lines[tier], f"tier {tier} has no {TIER_KEYS[key][0]}")
            return Entry(default, self.tier_lines[tier])
        return entry


def parse(file: str, lines: list[str]) -> TopoText:
    """Read the lines of `file`; InputError with file and line for anything that is not understood or missing."""
    topo = TopoText(file)
    tier: int | None = None
    for number, text in enumerate(lines, 1):
        words = data_words(text)
        if not words:
            continue
        key = words[0].lower()
        if len(words) < 2 or (len(words) > 2 and not words[2].startswith("#")):
            topo.fail(number, f"{text.strip()!r} is not a key and one value")
        if key == "tier":
            tier = _start_tier(topo, words[1], number)
        elif tier is None:
            if key not in HEADER_KEYS:
                _unknown(topo, words[0], number, [*HEADER_KEYS.values(), "Tier"])
            _store(topo, topo.header, key, HEADER_KEYS[key], _number(topo, words, number, 1, 1, 2**31 - 1))
        else:
            if key not in TIER_KEYS:
                _unknown(topo, words[0], number, [*(name for name, *_ in TIER_KEYS.values()), "Tier"])
            name, unit, least, most = TIER_KEYS[key]
            _store(topo, topo.blocks[tier], key, name, _number(topo, words, number, unit, least, most))
    _check_complete(topo)
    _warn_of_unused(topo)
    return topo


def _start_tier(topo: TopoText, word: str, line: int) -> int:
    if word not in ("0", "1", "2"):
        topo.fail(line, f"Tier {word} is not one of 0, 1, 2")
    tier = int(word)
    if tier in topo.blocks:
        topo.fail(line, f"Tier {tier} stands in line {topo.tier_lines[tier]} already")
    topo.blocks[tier], topo.tier_lines[tier] = {}, line
    return tier


def _number(topo: TopoText, words: list[str], line: int, unit: int, least: int, most: int) -> Entry:
    try:
        value = Decimal(words[1]) * unit
    except InvalidOperation:
        topo.fail(line, f"{words[0]} {words[1]} is not a number")
    except Overflow:
        value = Decimal(most + 1)
    if not value.is_finite() or value != value.to_integral_value():
        topo.fail(line, f"{words[0]} {words[1]} is not a whole number" + (f" of 1/{unit}" if unit > 1 else ""))
    if not least <= value <= most:
        topo.fail(line, f"{words[0]} {words[1]} is out of range, {Decimal(least) / unit:f} to {Decimal(most) / unit:f}")
    return Entry(int(value), line)


def _store(topo: TopoText, block: dict[str, Entry], key: str, name: str, entry: Entry) -> None:
    if key in block:
        topo.fail(entry.line, f"{name} stands in line {block[key].line} already")
    block[key] = entry


def _unknown(topo: TopoText, word: str, line: int, valid: list[str]) -> NoReturn:
    near = difflib.get_close_matches(word.lower(), [name.lower() for name in valid], n=1)
    hint = f"did you mean {next(name for name in valid if name.lower() == near[0])}? " if near else ""
    topo.fail(line, f"unknown key {word!r} here; {hint}valid: {', '.join(valid)}")


def _check_complete(topo: TopoText) -> None:
    for key, name in HEADER_KEYS.items():
        if key not in topo.header:
            topo.fail(None, f"{name} is missing from the header")
    if topo.tiers not in (2, 3):
        topo.fail(topo.header["tiers"].line, f"Tiers {topo.tiers} is not 2 or 3")
    for tier in range(topo.tiers):
        if tier not in topo.blocks:
            topo.fail(None, f"Tiers is {topo.tiers}, but there is no block Tier {tier}")
    for tier in range(topo.tiers):
        for key in _REQUIRED + (("radix_up",) if tier < topo.tiers - 1 else ()):
            topo.get(tier, key)


def _warn_of_unused(topo: TopoText) -> None:
    queues = [entry.line for block in topo.blocks.values() for key, entry in block.items() if key.startswith("queue_")]
    if queues:
        topo.warnings.append(f"{topo.file}:{_listed(queues)}: Queue_Up and Queue_Down are not used; the switches' own "
                             "buffer attributes set the queue limits")
    top = topo.tiers - 1
    if "radix_up" in topo.blocks[top]:
        topo.warnings.append(f"{topo.file}:{topo.blocks[top]['radix_up'].line}: Radix_Up of the top tier is not used")
    for tier in sorted(set(topo.blocks) - set(range(topo.tiers))):
        topo.warnings.append(f"{topo.file}:{topo.tier_lines[tier]}: Tier {tier} is not used, Tiers is {topo.tiers}")


def _listed(lines: list[int]) -> str:
    return ",".join(map(str, sorted(lines)))
