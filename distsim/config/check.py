"""Checking a configuration section by section, so that all its problems are reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from distsim.errors import InputError

from .config import Config
from .names import Models, fields_of, hint, kinds_of, models_in, narrow, nearest
from .overrides import FILE_SECTIONS, files_of, is_file, overridden
from .plugin_file import one_file_rules
from .problems import ConfigError, Rules, problem, problems_of, shown
from .root import DEFAULT_SEED, MOST_SEED, NAME_PATTERN, root_of
from .rules import nic_rules, parameter_rules
from .rules_nic import nic_alike_rules
from .rules_switch import switch_alike_rules, switch_rules
from .yaml_reader import Document, Place


class Checker:
    """Checks the sections one by one and collects every problem."""

    def __init__(self, document: Document):
        self.document = document
        self.data: dict[str, Any] = document.data
        self.root: Models = (root_of(self.data),)
        self.tree = {key: models_in(fields_of(self.root)[key].annotation) for key in ("nic", "switch")}
        self.problems: list[InputError] = []

    def config(self) -> Config:
        """The Config, or ConfigError with what was found, in the order of the file."""
        self._keys()
        parts = {key: self._section(key, self.data[key]) for key in fields_of(self.root) if key in self.data}
        for key in ("SimulationParameters", "nic", "switch"):
            if key not in parts:
                parts[key] = self._section(key, None)
        for key in FILE_SECTIONS:
            self._files((key,), self.data.get(key))
        if not self.problems:
            self._rules(parts)
        if self.problems:
            raise ConfigError(sorted(self.problems, key=lambda entry: entry.line or 0))
        return Config(
            simulation=parts["simulation"],
            seed=parts.get("seed", DEFAULT_SEED),
            parameters=parts["SimulationParameters"],
            fabric=parts["fabric"],
            workload=parts["workload"],
            nic=parts["nic"],
            switch=parts["switch"],
            nic_overrides=tuple(parts.get("nic_overrides") or ()),
            switch_overrides=tuple(parts.get("switch_overrides") or ()),
            document=self.document,
            faults=parts.get("faults"),
            bandwidth_measurement=parts.get("bandwidthMeasurement"),
        )

    def _keys(self) -> None:
        """Unknown and missing keys at the top."""
        fields = fields_of(self.root)
        for key in self.data:
            if key not in fields:
                close = nearest(str(key), list(fields))
                advice = f"nearest valid name: {close}" if close else self._home(str(key), list(fields))
                self._add((key,), f"unknown key {key!r}; {advice}")
        for key, field in fields.items():
            if field.is_required() and key not in self.data:
                self._add((key,), f"this key is required: {field.description}")

    def _home(self, key: str, valid: list[str]) -> str:
        advice = hint(key, (), self.tree)
        return advice if advice.startswith("it belongs") else f"valid names: {', '.join(valid)}"

    def _section(self, key: str, data: Any) -> Any:
        """The checked value of a top-level key, None if it is wrong."""
        models = models_in(fields_of(self.root)[key].annotation)
        if key in ("fabric", "workload"):
            models = self._by_kind(key, data, models)
            if not models:
                return None
        if key == "simulation":
            return self._name(data)
        if key == "seed":
            return self._seed(data)
        if key in ("nic_overrides", "switch_overrides"):
            return self._overrides(key, data, models)
        return self._validate((key,), models, data)

    def _validate(self, place: Place, models: Models, data: Any) -> Any:
        try:
            return models[0].model_validate(data)
        except ValidationError as error:
            self.problems += problems_of(error, self.document, place, models, self.tree)
        return None

    def _by_kind(self, key: str, data: Any, models: Models) -> Models:
        kinds = [str(kind) for model in models for kind in kinds_of(model)]
        kind = data.get("kind") if isinstance(data, dict) else None
        if kind in kinds:
            return narrow(models, data)
        valid = f"valid values: {', '.join(kinds)}"
        if not isinstance(data, dict):
            self._add((key,), f"{shown(data)} is not a section of keys; it needs kind, {valid}")
        elif kind is None:
            self._add((key,), f"kind is required; {valid}")
        else:
            close = nearest(str(kind), kinds)
            self._add((key, "kind"), f"{shown(kind)} is not valid; {valid}" + (f"; nearest: {close}" if close else ""))
        return ()

    def _name(self, data: Any) -> str | None:
        if isinstance(data, str) and re.fullmatch(NAME_PATTERN, data):
            return data
        quotes = "; put it in quotes" if isinstance(data, (int, float)) else ""
        self._add(("simulation",), f"{shown(data)} is not a name; use letters, digits, - and _ (at most 100, first a "
                                   f"letter or digit){quotes}")
        return None

    def _seed(self, data: Any) -> int | None:
        if isinstance(data, int) and not isinstance(data, bool) and 0 <= data <= MOST_SEED:
            return data
        self._add(("seed",), f"{shown(data)} is not a seed; valid: whole numbers 0 to {MOST_SEED} (default "
                             f"{DEFAULT_SEED})")
        return None

    def _overrides(self, key: str, data: Any, models: Models) -> list[Any] | None:
        if data is None:
            return []
        if not isinstance(data, list):
            self._add((key,), f"{shown(data)} is not a list of overrides")
            return None
        return [self._validate((key, index), models, entry) for index, entry in enumerate(data)]

    def _files(self, place: Place, data: Any) -> None:
        """Input files that are not there."""
        entries: Sequence[tuple[Any, Any]] = (
            list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else [])
        for key, value in entries:
            if is_file(key, value):
                if not files_of(value):
                    self._add((*place, key), f"{value}: {'not a file' if Path(value).exists() else 'no such file'}"
                              + (f", nor {Path(value).name}.0.et"
                                 if key == "file" and dict(entries).get("kind") == "chakra" else ""))
            else:
                self._files((*place, key), value)

    def _rules(self, parts: dict[str, Any]) -> None:
        """Rules between attributes, for the defaults and for each override by itself."""
        self._apply(("SimulationParameters",), parameter_rules(parts["SimulationParameters"]))
        nics = self._variants("nic", nic_rules, parts)
        for index, nic in enumerate(nics[1:]):
            place = ("nic_overrides", index, "set")
            self._apply(place, nic_alike_rules(nics[0], nic))
            self._apply(place, one_file_rules(nics[:index + 1], nic))
        mss_bytes = max(nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS for nic in nics)
        switches = self._variants("switch", lambda switch: switch_rules(switch, mss_bytes), parts)
        for index, switch in enumerate(switches[1:]):
            self._apply(("switch_overrides", index, "set"),
                        switch_alike_rules(switches[0], switch, parts["SimulationParameters"]))

    def _variants(self, key: str, rules: Callable[[Any], Rules], parts: dict[str, Any]) -> list[Any]:
        """Check `key` as it is and with each of its overrides; returns all of them."""
        base = parts[key]
        known = list(rules(base))
        self._apply((key,), known)
        variants = [base]
        for index, override in enumerate(parts.get(f"{key}_overrides") or ()):
            variants.append(overridden(base, [override.set]))
            new = (entry for entry in rules(variants[-1]) if entry not in known)
            self._apply((f"{key}_overrides", index, "set"), new)
        return variants

    def _apply(self, prefix: Place, rules: Iterable[tuple[Place, str]]) -> None:
        for place, message in rules:
            self._add((*prefix, *place), message)

    def _add(self, place: Place, message: str) -> None:
        self.problems.append(problem(self.document, place, message))
