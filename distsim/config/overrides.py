"""Changes on top of the file: `--set path=value` on the command line, and overrides for some NICs or switches."""

from __future__ import annotations

import difflib
import fnmatch
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, model_validator

from distsim.errors import InputError
from distsim.quantities import StrictModel

from .names import Models, fields_of, holds_list, models_in, narrow, paths_below
from .nic import Nic
from .switch import Switch
from .yaml_reader import Document, Place, parse

M = TypeVar("M", bound=BaseModel)
# Keys of values that are paths: workload, fabric; the NICs' plug-in; of Chakra traces. A `file` may be the prefix of
# trace files, <file>.<rank>.et.
FILE_KEYS = ("file", "File", "mapping", "comm_groups")
FILE_SECTIONS = ("fabric", "workload", "nic", "nic_overrides")
TIERS = {"spine": 0, "fabric": 1, "rack": 2}


class NicOverride(StrictModel):
    """Other attributes for the NICs in these racks and with these names (both, when both are given)."""

    racks: list[Annotated[int, Field(ge=0, strict=True)]] | None = Field(
        None, description="Rack indices, counted from 0; all racks when left out.")
    names: list[str] | None = Field(None, description="Name patterns such as NIC-1*; all names when left out.")
    set: Nic = Field(description="The part of `nic` that differs.")

    @model_validator(mode="after")
    def _selects(self) -> Self:
        if not self.racks and not self.names:
            raise ValueError("an override needs racks, names or both")
        return self

    def matches(self, name: str, rack: int) -> bool:
        """Whether it applies to the NIC called `name` in rack number `rack`."""
        in_rack = not self.racks or rack in self.racks
        return in_rack and (not self.names or any(fnmatch.fnmatchcase(name, glob) for glob in self.names))


class SwitchOverride(StrictModel):
    """Other attributes for the switches of these tiers and with these names (both, when both are given)."""

    tiers: list[Literal["rack", "fabric", "spine"]] | None = Field(None, description="Tiers; all when left out.")
    names: list[str] | None = Field(None, description="Name patterns such as SpineSwitch-*; all names when left out.")
    set: Switch = Field(description="The part of `switch` that differs.")

    @model_validator(mode="after")
    def _selects(self) -> Self:
        if not self.tiers and not self.names:
            raise ValueError("an override needs tiers, names or both")
        return self

    def matches(self, name: str, tier: int) -> bool:
        """Whether it applies to the switch called `name` of tier number `tier` (0 spine, 1 fabric, 2 rack)."""
        in_tier = not self.tiers or tier in [TIERS[entry] for entry in self.tiers]
        return in_tier and (not self.names or any(fnmatch.fnmatchcase(name, glob) for glob in self.names))


def deep_merge(base: Any, change: Any) -> Any:
    """`base` with `change` on top: sections key by key, everything else (lists too) replaced. Neither is changed."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    merged = dict(base)
    for key, value in change.items():
        merged[key] = deep_merge(base[key], value) if key in base else value
    return merged


def plain(model: BaseModel, given_only: bool = False) -> Any:
    """A model as plain data, quantities with their units; `given_only` leaves out what was not set."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=given_only)


def overridden(base: M, parts: list[M]) -> M:
    """`base` with what each of `parts` sets on top, in order."""
    data = plain(base)
    for part in parts:
        data = deep_merge(data, plain(part, True))
    return type(base).model_validate(data) if parts else base


def apply_set(document: Document, option: str, root: Models) -> None:
    """Carry out one ``path=value`` on the document; InputError if the path is unknown or the value is not YAML."""
    path, sign, text = option.partition("=")
    label = f"--set {option}"
    if not sign or not path.strip():
        raise InputError("write it as path=value, e.g. seed=7", file=label)
    place = _split(document, path.strip(), root, label)
    if place[-1] in FILE_KEYS and text:
        value: Any = str(Path(text).absolute())
    else:
        try:
            value = parse(text).data if text.strip() else None
        except InputError as error:
            raise InputError(f"the value cannot be read: {error.message}", file=label) from None
        if place[0] in FILE_SECTIONS:
            value = absolute_files(value, Path.cwd())
    _assign(document, place, value, label)


def absolute_files(value: Any, folder: Path) -> Any:
    """The same value with every text under a key of a file made an absolute path, relative ones against `folder`."""
    if isinstance(value, dict):
        return {key: str((folder / entry).absolute()) if is_file(key, entry)
                else absolute_files(entry, folder) for key, entry in value.items()}
    return [absolute_files(entry, folder) for entry in value] if isinstance(value, list) else value


def files_of(path: str) -> list[Path]:
    """The input files that a path stands for: itself, or the traces (and process groups) of which it is the prefix."""
    if Path(path).is_file():
        return [Path(path)]
    stem = Path(path)
    if not stem.parent.is_dir():
        return []
    traces = [found for found in stem.parent.iterdir()
              if found.name.startswith(f"{stem.name}.") and found.suffix in (".et", ".json") and found.is_file()]
    return sorted(traces) if any(found.suffix == ".et" for found in traces) else []


def is_file(key: Any, value: Any) -> bool:
    """Whether a key and its value name an input file."""
    return key in FILE_KEYS and isinstance(value, str) and bool(value or key == "file")


def _split(document: Document, path: str, root: Models, label: str) -> Place:
    """The keys of a dotted path; keys that hold dots themselves (PCIeGen3.0) are recognised."""
    place: list[str | int] = []
    models, rest = root, path
    while rest:
        data = document.at(tuple(place))
        head = rest.partition(".")[0]
        if isinstance(data, list) and head.isdigit() and int(head) < len(data):
            place.append(int(head))
            rest = rest[len(head) + 1:]
            continue
        models = narrow(models, data)
        fields = fields_of(models)
        key = max((key for key in fields if rest == key or rest.startswith(key + ".")), key=len, default=None)
        if key is None:
            raise InputError(f"unknown path {path!r}; {_near(path, document, root)}", file=label)
        place.append(key)
        models, rest = models_in(fields[key].annotation), rest[len(key) + 1:]
    return tuple(place)


def _near(path: str, document: Document, root: Models) -> str:
    valid: list[str] = []
    for key, field in fields_of(root).items():
        valid.append(key)
        if holds_list(field):
            continue
        below = narrow(models_in(field.annotation), document.at((key,)))
        valid += [".".join(entry) for entry in paths_below(below, (key,))]
    last = path.rpartition(".")[2].casefold()
    same = [entry for entry in valid if entry.rpartition(".")[2].casefold() == last]
    if same:
        return f"did you mean {' or '.join(same[:3])}?"
    close = difflib.get_close_matches(path, valid, n=1, cutoff=0.5)
    return f"nearest valid path: {close[0]}" if close else f"valid first names: {', '.join(fields_of(root))}"


def _assign(document: Document, place: Place, value: Any, label: str) -> None:
    target = document.data
    for depth, key in enumerate(place[:-1]):
        if isinstance(target, dict) and not isinstance(target.get(key), (dict, list)):
            if target.get(key) is not None:
                raise InputError(f"{'.'.join(map(str, place[:depth + 1]))} is not a section", file=label)
            target[key] = {}
        target = target[key]
    target[place[-1]] = value
    for known in [known for known in document.lines if known[: len(place)] == place]:
        del document.lines[known]
    document.set_places.add(place)
