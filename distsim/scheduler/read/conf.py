"""read_conf: the settings of the scheduler out of a volcano-scheduler-configmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from pydantic import Field

from distsim.cluster.manifests import validated
from distsim.config.names import nearest
from distsim.config.problems import problem
from distsim.config.yaml_reader import Document, Place
from distsim.quantities import StrictModel
from distsim.scheduler.read.arguments import (
    INIT_PARAMS,
    MAIN_SWITCH,
    PARTS,
    PLUGIN_ARGUMENTS,
    SWITCHES,
    Argument,
    argument_of,
    boolean,
    plugin_of,
)
from distsim.scheduler.read.conf_file import conf_document
from distsim.scheduler.read.levels import Levels, parse_levels
from distsim.scheduler.read.notes import Notes
from distsim.scheduler.read.pod_model import or_nothing
from distsim.scheduler.settings import ACTIONS, PLUGINS, SchedulerSettings

INIT = "init-params"


class Tier(StrictModel):
    """A tier: plugins that are asked before those of the next one."""

    plugins: Annotated[tuple[dict[str, Any], ...], or_nothing(())] = Field((), description="its plugins")


class Configuration(StrictModel):
    """Arguments by name."""

    name: str = Field(min_length=1, description="what they are for: init-params")
    arguments: Annotated[dict[str, Any], or_nothing({})] = Field({}, description="the arguments")


class Conf(StrictModel):
    """volcano-scheduler.conf."""

    actions: str = Field(", ".join(ACTIONS), description="actions in their order, joined by commas")
    tiers: tuple[Tier, ...] = Field(description="plugins by tier")
    configurations: Annotated[tuple[Configuration, ...], or_nothing(())] = Field((), description="further arguments")
    metrics: Any = Field(None, description="where metrics of nodes come from")


def read_conf(path: str) -> tuple[SchedulerSettings, list[str]]:
    """The settings of a volcano-scheduler-configmap (the ConfigMap, a manifest that holds it, or its conf by itself),
    and lines that name what is passed over or not acted on.

    Raises InputError or ConfigError with file and line that names an unknown action, plugin, argument or key with the
    valid ones, and a value that is out of range.
    """
    notes = Notes()
    document = conf_document(path, notes)
    conf = validated(document, Conf)
    notes.ignore(path, "settings", ["metrics"] if conf.metrics is not None else [])
    values: dict[str, Any] = {}
    for index, configuration in enumerate(conf.configurations):
        values |= _init_params(configuration, document, ("configurations", index), notes)
    _fit_reserve(values, document, notes)
    actions, plugins = _actions(conf.actions, document), _plugins(conf.tiers, document, notes)
    return SchedulerSettings(actions=actions, plugins=plugins, **values), notes.lines()


def _actions(text: str, document: Document) -> tuple[str, ...]:
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    valid = f"valid: {', '.join(ACTIONS)}"
    for name in found:
        if name not in ACTIONS:
            raise problem(document, ("actions",), f"unknown action {name!r}{_near(name, ACTIONS)}; {valid}")
        if found.count(name) > 1:
            raise problem(document, ("actions",), f"action {name!r} is given twice")
    if not found:
        raise problem(document, ("actions",), f"there is no action; {valid}")
    return found


def _plugins(tiers: Sequence[Tier], document: Document, notes: Notes) -> dict[str, dict[str, Any]]:
    """Plugin -> its arguments and switches, over all tiers; those left out whose one function is switched off."""
    found: dict[str, dict[str, Any]] = {}
    for t, tier in enumerate(tiers):
        for p, option in enumerate(tier.plugins):
            place: Place = ("tiers", t, "plugins", p)
            if "name" not in option:
                raise problem(document, (*place, "name"), "this key is required: name of the plugin")
            given = option["name"]
            name = plugin_of(str(given))
            if name not in PLUGINS:
                raise problem(document, (*place, "name"), f"unknown plugin {given!r}{_near(str(given), PLUGINS)}; "
                                                          f"valid: {', '.join(PLUGINS)}")
            if name in found:
                raise problem(document, (*place, "name"), f"plugin {name!r} is given twice")
            found[name] = _options(name, option, document, place, notes)
    return {name: options for name, options in found.items() if options.get(MAIN_SWITCH.get(name, ""), True)}


def _options(plugin: str, option: dict[str, Any], document: Document, place: Place, notes: Notes) -> dict[str, Any]:
    """Switches and arguments of a plugin, in one section."""
    found: dict[str, Any] = {}
    for key, given in option.items():
        if key in ("name", "arguments"):
            continue
        if key not in SWITCHES:
            raise problem(document, (*place, key), f"unknown key {key!r} of plugin {plugin}{_near(key, SWITCHES)}; "
                                                   f"valid: name, arguments, {', '.join(SWITCHES)}")
        found[key] = _value(boolean, given, document, (*place, key))
        if (key in PARTS.get(plugin, ()) and not found[key]) or (key == "enableHierarchy" and found[key]):
            notes.ignore(document.file, f"plugin {plugin}", [key])
    arguments = option.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise problem(document, (*place, "arguments"), f"{arguments!r} is not a section of keys")
    for key, given in (arguments or {}).items():
        row = argument_of(plugin, key)
        if row is None:
            raise _unknown(document, (*place, "arguments", key), f"plugin {plugin}", PLUGIN_ARGUMENTS[plugin])
        found[key] = _value(row.parse, given, document, (*place, "arguments", key))
        if not row.acts and (found[key] or False) != row.quiet:           # 0 and "" are as good as false
            notes.ignore(document.file, f"plugin {plugin}", [key])
    return found


def _init_params(configuration: Configuration, document: Document, place: Place, notes: Notes) -> dict[str, Any]:
    """Field of SchedulerSettings -> value."""
    if configuration.name != INIT:
        raise problem(document, (*place, "name"), f"unknown configuration {configuration.name!r}; valid: {INIT}")
    found: dict[str, Any] = {}
    for key, given in configuration.arguments.items():
        here = (*place, "arguments", key)
        row = INIT_PARAMS.get(key)
        if row is None:
            raise _unknown(document, here, INIT, INIT_PARAMS)
        found[row.field] = (_levels(given, document, here, notes) if row.field == "levels"
                            else _value(row.parse, given, document, here))
        if not row.acts and found[row.field] != row.quiet:
            notes.ignore(document.file, INIT, [key])
    return found


def _levels(given: Any, document: Document, place: Place, notes: Notes) -> Levels:
    """resource-level-config, with a line for what has no effect in it."""
    file, line = document.locate(place)
    return cast(Levels, _value(lambda text: parse_levels(text, lambda message: notes.warn(file, line, message)), given,
                               document, place))


def _fit_reserve(values: dict[str, Any], document: Document, notes: Notes) -> None:
    """More reserved nodes than a SuperPoD has are 2, or 0 in a SuperPoD of at most 2 (mind-cluster's page)."""
    size = values.get("super_pod_size", SchedulerSettings.super_pod_size)
    reserved = values.get("reserve_nodes", SchedulerSettings.reserve_nodes)
    if reserved > size:
        values["reserve_nodes"] = 2 if size > 2 else 0
        file, line = document.locate(("configurations",))
        notes.warn(file, line, f"reserve-nodes {reserved} is more than super-pod-size {size}; "
                               f"{values['reserve_nodes']} is taken")


def _value(parse: Any, given: Any, document: Document, place: Place) -> Any:
    try:
        return parse(given)
    except ValueError as error:
        raise problem(document, place, str(error)) from None


def _unknown(document: Document, place: Place, owner: str, valid: dict[str, Argument]) -> Exception:
    name = str(place[-1])
    choices = f"valid: {', '.join(valid)}" if valid else "it takes none"
    return problem(document, place, f"unknown argument {name!r} of {owner}{_near(name, valid)}; {choices}")


def _near(name: str, valid: Sequence[str] | dict[str, Any]) -> str:
    close = nearest(name, list(valid))
    return f", nearest: {close}" if close else ""
