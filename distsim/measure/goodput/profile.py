"""Training profiles: which lines of a log are steps, checkpoints and the application's start. Two come with distsim.

Facts: NVIDIA/cluster-readiness-engine, helm/cluster-readiness-engine/templates/megatron-{training,bridge}.yaml and
pkg/goodput/parser.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from distsim.config.problems import problem
from distsim.config.yaml_reader import Document, Place, read_text
from distsim.errors import InputError

from ..manifest import documents, validated
from ..patterns import Pattern
from ..profile_names import BUILTIN as BANDWIDTH_PROFILES
from ..profile_spec import LogProfileManifest
from .profile_names import BUILTIN, MEGATRON_BRIDGE, MEGATRON_TRAINING
from .times import Layout

STEP, SAVE, DONE = "trainingStep", "checkpointSave", "checkpointDone"
RESTORE, LOADED, START, WARMUP = "checkpointRestore", "checkpointLoaded", "applicationStart", "warmupStep"
KINDS = (START, STEP, DONE, SAVE, RESTORE, LOADED, WARMUP)

_UNIT_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_STAMP = r"\[(?P<timestamp>\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)?)\]\s+"
_ITERATION = (_STAMP + r"iteration\s+(?P<iteration>\d+)/\s*\d+\s*\|.*elapsed time per iteration \(ms\):"
              r"\s*(?P<elapsedTime>[\d.]+)\s*\|")
_THROUGHPUT = r".*throughput per GPU \(TFLOP/s/GPU\):\s*(?P<tflops>[\d.]+)\s*\|"
_LOSS = r".*lm loss:\s*(?P<loss>[\d.eE+\-]+)"
_MEGATRON = {
    SAVE: _STAMP + r"saving checkpoint at iteration\s+(?P<step>\d+)\s+to\s+(?P<path>\S+)",
    DONE: _STAMP + r"scheduled an async checkpoint save at iteration\s+(?P<step>\d+)\s+to\s+(?P<path>\S+)",
    RESTORE: r"Loading checkpoint from (?P<path>\S+)",
    START: r"using world size: \d+, data-parallel size: \d+, context-parallel size: \d+,.* "
           r"tensor-model-parallel size: \d+, pipeline-model-parallel size: \d+",
}
# name -> expression of a step, warmupSteps, logInterval
_BUILTIN = {MEGATRON_TRAINING: (_ITERATION + _THROUGHPUT + _LOSS, 10, 10),
            MEGATRON_BRIDGE: (_ITERATION + f"(?:{_THROUGHPUT})?" + _LOSS, 5, 1)}
_MEGATRON_LAYOUT = "2006-01-02 15:04:05.999999"


@dataclass(frozen=True)
class Event:
    """One expression. units : of the durations that it captures, by group."""

    pattern: Pattern
    units: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _needed(self) -> bytes:
        return needed_text(self.pattern.text)

    def fields(self, line: bytes) -> dict[str, str] | None:
        """What the named groups caught, trimmed; None if the line does not match."""
        if self._needed not in line:
            return None
        names = self.pattern.groups
        found = self.pattern.search(line, *(names.values() or (0,)))
        if found is None:
            return None
        return {name: text.decode("utf-8", "replace").strip() for name, text in zip(names, found, strict=False)}

    def seconds(self, fields: Mapping[str, str], name: str) -> float:
        """A captured duration in seconds, 0 if there is none."""
        return real(fields.get(name, "")) * _UNIT_S[self.units.get(name, "s")]


class TrainingProfile:
    """A named set of expressions.

    events : by kind (trainingStep ...), those that the profile has. warmup_steps, log_interval : of the profile, 0
    when it does not say. layout : of captured time stamps, None when none are captured.
    """

    def __init__(self, name: str, events: Mapping[str, Event], layout: Layout | None, warmup_steps: int = 0,
                 log_interval: int = 0):
        """ValueError if trainingStep has no group for the number of a step."""
        step = events.get(STEP)
        if step is not None and not {"globalStep", "iteration"} & set(step.pattern.groups):
            raise ValueError("lacks the group iteration (or globalStep): the number of the step")
        self.name, self.events, self.layout = name, dict(events), layout
        self.warmup_steps, self.log_interval = warmup_steps, log_interval

    def fields(self, kind: str, line: bytes) -> dict[str, str] | None:
        """What an event's expression caught in a line; None if the profile has none or it does not match."""
        event = self.events.get(kind)
        return event.fields(line) if event is not None else None

    def time_ps(self, fields: Mapping[str, str], stamp_ps: int | None) -> int | None:
        """When a matched line was written: by its own time stamp, else by the one before the line."""
        captured = fields.get("timestamp")
        parsed = self.layout.parse(captured) if captured and self.layout is not None else None
        return stamp_ps if parsed is None else parsed


def builtin_profile(name: str) -> TrainingProfile | None:
    """The profile of that name that comes with distsim; None if there is none. One of bandwidth reads no steps."""
    if name in BANDWIDTH_PROFILES:
        return TrainingProfile(name, {}, None)
    if name not in _BUILTIN:
        return None
    step, warmup_steps, log_interval = _BUILTIN[name]
    events = {STEP: Event(Pattern(step), {"elapsedTime": "ms"}),
              **{kind: Event(Pattern(text)) for kind, text in _MEGATRON.items()}}
    return TrainingProfile(name, events, Layout(_MEGATRON_LAYOUT), warmup_steps, log_interval)


def load_profile(source: str) -> TrainingProfile:
    """The profile of a name, or that of a YAML file; InputError if there is none or it is wrong."""
    found = builtin_profile(source)
    if found is not None:
        return found
    if not Path(source).exists() and not Path(source).suffix and "/" not in source:
        raise InputError(f"no log profile {source!r}; there are {', '.join(BUILTIN)}, or give a YAML file")
    profiles = [profile_of(document) for document in documents(read_text(Path(source)), source)]
    if len(profiles) != 1:
        raise InputError(f"holds {len(profiles)} documents; one LogProfile is wanted", file=source)
    return profiles[0]


def profile_of(document: Document) -> TrainingProfile:
    """The profile that one YAML document describes; InputError with its place if it is wrong."""
    manifest = validated(document, LogProfileManifest)
    spec, events = manifest.spec, {}
    for kind, event in spec.patterns.given().items():
        place: Place = ("spec", "patterns", kind)
        try:
            pattern = Pattern(event.regex)
        except ValueError as error:
            raise problem(document, (*place, "regex"), f"{event.regex!r} is {error}") from None
        if event.example and pattern.search(event.example.encode(), 0) is None:
            raise problem(document, (*place, "example"), f"the regex does not match its own example {event.example!r}")
        if kind in KINDS:
            events[kind] = Event(pattern, event.units)
    try:
        layout = (Layout(spec.timestamp.layout)
                  if any("timestamp" in event.pattern.groups for event in events.values()) else None)
    except ValueError as error:
        raise problem(document, ("spec", "timestamp", "layout"), str(error)) from None
    try:
        return TrainingProfile(manifest.metadata.name, events, layout, spec.warmupSteps or 0, spec.logInterval or 0)
    except ValueError as error:
        raise problem(document, ("spec", "patterns", STEP, "regex"), str(error)) from None


def needed_text(expression: str) -> bytes:
    """Longest text that stands in every line that an expression matches; empty if none is known. Only a speed-up.

    Found by Python's own parser of expressions, outside of groups, repeats and alternatives.
    """
    try:
        parsed = re._parser.parse(expression)
    except (re.error, AttributeError, OverflowError):
        return b""
    if parsed.state.flags & (re.IGNORECASE | re.VERBOSE):
        return b""
    runs = [""]
    for operation, value in parsed:
        if str(operation) == "LITERAL":
            runs[-1] += chr(value)
        else:
            runs.append("")
    return max(runs, key=len).encode()


def whole(text: str) -> int:
    """A captured integer; 0 if it is none, as in the original."""
    return int(text) if _INTEGER.fullmatch(text) else 0


def real(text: str) -> float:
    """A captured number; 0 if it is none or not finite, as in the original."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0
