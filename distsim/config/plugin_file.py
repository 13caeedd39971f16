"""A user's file with a congestion control or a spraying: what it must define. It is read, never run, here."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .nic import Nic
from .nic_transport import UserPlugin
from .problems import Rules
from .yaml_reader import Place

PLUGIN: Place = ("TransportProcessingLayers", "Plugin")
# Hooks and their parameters, in order.
CONGESTION_CONTROL = {
    "start": ("g", "par", "now_ps"),
    "on_ack": ("g", "par", "newly_bytes", "marked", "rtt_ps", "penalty", "restore", "now_ps"),
    "on_nack": ("g", "par", "nominal_bytes", "rtt_ps", "now_ps"),
    "on_timeout": ("g", "par", "nominal_bytes"),
    "offer_rtt": ("g", "par", "rtt_ps"),
}
SPRAYING = {
    "spray_start": ("g", "par"),
    "spray_pick": ("g", "par"),
    "spray_feedback": ("g", "par", "entropy", "good"),
}


def in_use(plugin: UserPlugin) -> bool:
    """Whether the NIC runs anything of its plug-in file."""
    return plugin.CongestionControl or plugin.Spraying


def plugin_file(nics: Iterable[Nic]) -> str | None:
    """The plug-in file that these NICs run, None if none does; the first one when they name several."""
    plugins = [nic.TransportProcessingLayers.Plugin for nic in nics]
    return next((plugin.File for plugin in plugins if in_use(plugin)), None)


def plugin_rules(plugin: UserPlugin) -> Rules:
    """A plug-in in use names a file of Python that defines its hooks."""
    if not in_use(plugin):
        return
    place: Place = (*PLUGIN, "File")
    if not plugin.File:
        yield place, "CongestionControl or Spraying is true; name the Python file that has the hooks"
        return
    try:
        with open(plugin.File, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except OSError as error:
        yield place, f"{plugin.File}: cannot be read: {error.strerror}"
        return
    except SyntaxError as error:
        yield place, f"{plugin.File}:{error.lineno}: not Python: {error.msg}"
        return
    except ValueError as error:
        yield place, f"{plugin.File}: not Python: {error}"
        return
    wanted = {**(CONGESTION_CONTROL if plugin.CongestionControl else {}), **(SPRAYING if plugin.Spraying else {})}
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, parameters in wanted.items():
        signature = f"{name}({', '.join(parameters)})"
        if name not in found:
            yield place, f"{plugin.File}: has no function {signature}"
        elif _count(found[name].args) != len(parameters):
            yield place, (f"{plugin.File}:{found[name].lineno}: {name} must take {len(parameters)} arguments: "
                          f"{signature}")


def _count(arguments: ast.arguments) -> int:
    """Number of plain arguments, -1 when there are any of other kinds."""
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return -1
    return len(arguments.posonlyargs) + len(arguments.args)


def one_file_rules(earlier: Iterable[Nic], nic: Nic) -> Rules:
    """All NICs that run a plug-in name the same file."""
    known, plugin = plugin_file(earlier), nic.TransportProcessingLayers.Plugin
    if known is not None and in_use(plugin) and plugin.File != known:
        yield (*PLUGIN, "File"), f"{plugin.File}: a configuration has one plug-in file, and {known} is already named"
