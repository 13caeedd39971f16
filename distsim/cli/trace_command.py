"""`distsim trace`: what is in a trace, and any workload as a Chakra traceset."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from .options import read

if TYPE_CHECKING:
    from distsim.workload.chakra.info import Info
    from distsim.workload.graph import Graph
    from distsim.workload.types import Workload

KINDS = ("chakra", "goal", "simai", "hpcc", "cm")
ENDINGS = {".et": "chakra", ".goal": "goal", ".cm": "cm"}
CONFIGS = (".yaml", ".yml")
_GIVEN = ("file", "kind")            # fields of a section that the command line says by itself
MOST_RANKS = 1 << 20                 # of a trace file that is converted without a fabric


@click.group("trace", short_help="Look into traces, and write any workload as Chakra traces.")
def command() -> None:
    """Look into traces of training jobs, and write any workload as Chakra traces."""


kind_option = click.option("--kind", type=click.Choice(KINDS),
                           help="Format of the file. Default: by its ending (.et, .goal, .cm), else Chakra.")
field_option = click.option("--set", "fields", multiple=True, metavar="FIELD=VALUE",
                            help="A field of the kind's workload section, e.g. ranks=8 (of a configuration: the path "
                                 "of any value). May be given several times.")


@command.command("info")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@kind_option
@field_option
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def info(files: tuple[str, ...], kind: str | None, fields: tuple[str, ...], form: str) -> None:
    """Say what is in each FILE: a file of one rank, or the prefix of a Chakra traceset; nodes by type, bytes by
    collective, ranks, dangling dependencies."""
    found = [_info(source, parts, kind or _kind(source, parts), fields) for source, parts in _sources(files).items()]
    if form == "json":
        import json

        objects = [one.plain() for one in found]
        click.echo(json.dumps(objects if len(objects) > 1 else objects[0], indent=2))
    else:
        from .trace_table import show

        show(found)
    for one in found:
        _warn(one.warnings)


@command.command("convert")
@click.argument("source")
@click.argument("prefix")
@kind_option
@field_option
@click.option("--overwrite", is_flag=True, help="Replace a traceset of that prefix.")
def convert(source: str, prefix: str, kind: str | None, fields: tuple[str, ...], overwrite: bool) -> None:
    """Write the workload of SOURCE, a configuration (YAML) or a trace file, as the Chakra traceset PREFIX.<rank>.et.

    Ranks that are placed, or that share scale-up networks, get a mapping file PREFIX.mapping. Flows become a send and a
    receive each, dependencies between hosts messages; what Chakra cannot say is named in a warning.
    """
    workload: Workload | None
    if kind is None and source.endswith(CONFIGS):
        graph, workload = _graph_of_config(source, fields)
    else:
        graph, workload = _graph(kind or _kind(source, []), source, fields)
    from distsim.workload.chakra.writer import write_traceset

    notes = write_traceset(graph, prefix, overwrite)
    settings, left_out = _write_beside(workload, prefix) if workload is not None else ([], [])
    _warn([*graph.warnings, *notes, *left_out])
    click.echo(f"{prefix}: {graph.ranks} ranks, {len(graph.nodes)} nodes, {len(graph.deps)} dependencies, "
               f"{len(graph.groups)} process groups")
    if settings:
        click.echo(f"to replay it as it was, in the section workload: {'; '.join(settings)}")


def _write_beside(workload: Workload, prefix: str) -> tuple[list[str], list[str]]:
    """Write the mapping file if one is needed; (settings of the replay, lines about what it cannot be told)."""
    from pathlib import Path

    from distsim.workload.chakra.beside import left_out, mapping_text, settings_to_give
    from distsim.workload.chakra.files import MAPPING

    text, file = mapping_text(workload), Path(prefix + MAPPING)
    if text:
        file.write_text(text, encoding="ascii")
    return [*[f"mapping: {file}"] * bool(text), *settings_to_give(workload)], left_out(workload)


def _sources(files: tuple[str, ...]) -> dict[str, list[str]]:
    """Each source with its files: files of ranks are put together by their prefix; other files stand for themselves."""
    from distsim.workload.chakra.files import split_name

    found: dict[str, list[str]] = {}
    for file in dict.fromkeys(files):
        parts = split_name(file)
        if parts:
            found.setdefault(parts[0], []).append(file)
        else:
            found.setdefault(file, [])
    return found


def _kind(source: str, files: list[str]) -> str:
    """The kind of a file by its name; InputError when it says nothing and the file is no prefix of a traceset."""
    kind = "chakra" if files else ENDINGS.get(os.path.splitext(source)[1])
    if kind is None and os.path.isfile(source):
        from distsim.errors import InputError

        raise InputError(f"say what it is: --kind {', '.join(KINDS)}", file=source)
    return kind or "chakra"


def _info(source: str, files: list[str], kind: str, fields: tuple[str, ...]) -> Info:
    from distsim.workload.chakra.info import chakra_info, graph_info

    if kind == "chakra" and not fields:
        lone = [source] if not files and os.path.isfile(source) else files
        return chakra_info(source, lone)
    module, spec, context = _module(kind, source, fields)
    if hasattr(module, "info"):                # what is in it without the nodes of all ranks
        found: Info = module.info(spec, context)
        return found
    return graph_info(source, kind, _graph(kind, source, fields)[0])


def _graph_of_config(config: str, assignments: tuple[str, ...]) -> tuple[Graph, Workload]:
    """The graph of a configuration's workload on its fabric, and the workload."""
    checked = read(config, assignments)
    from distsim import fabric as fabrics
    from distsim import workload as workloads
    from distsim.errors import InputError

    try:
        fabric = fabrics.build(checked.fabric, checked.link_rules())
        workload = workloads.build(checked.workload, fabric.hosts, checked.seed, fabric.servers)
        return _graph_of(workload, config), workload
    except InputError as error:
        raise checked.placed(error) from None


def _graph(kind: str, source: str, fields: tuple[str, ...]) -> tuple[Graph, Workload | None]:
    """The graph of a file of some kind, and the workload that it was made from; None for a traceset."""
    module, spec, context = _module(kind, source, fields)
    if hasattr(module, "graph"):
        return module.graph(spec, context), None
    workload: Workload = module.build(spec, context)
    return _graph_of(workload, source), workload


def _module(kind: str, source: str, fields: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """The module of a kind, its section for this file, and a context without a fabric."""
    from pydantic import ValidationError

    from distsim.errors import InputError
    from distsim.workload.base import Context
    from distsim.workload.registry import PARTS

    module, values = PARTS[kind], _values(fields)
    valid = ", ".join(name for name in module.Spec.model_fields if name not in _GIVEN)
    taken = next((name for name in _GIVEN if name in values), None)
    if taken is not None:
        raise InputError(f"no field {taken!r} of kind {kind}; valid: {valid}", file=source)
    try:
        spec = module.Spec(kind=kind, file=source, **values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise InputError(f"no field {where!r} of kind {kind}; valid: {valid}", file=source) from None
        raise InputError(first["msg"].removeprefix("Value error, "), file=source, where=where or None) from None
    return module, spec, Context(MOST_RANKS, 1, where=kind)


def _values(fields: tuple[str, ...]) -> dict[str, Any]:
    import yaml

    found = {}
    for field in fields:
        name, sign, text = field.partition("=")
        if not sign or not name.strip():
            raise click.UsageError(f"--set {field}: write it as field=value, e.g. ranks=8")
        try:
            found[name.strip()] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise click.UsageError(f"--set {field}: the value is not YAML") from None
    return found


def _graph_of(workload: Workload, source: str) -> Graph:
    """The graph of a workload, made from its flows where it has none."""
    if workload.graph is not None:
        graph: Graph = workload.graph
        if workload.following is not None:
            graph.warnings.append("the workload has several phases, the next made from what the one before it came to; "
                                  "the traces hold the first")
        return graph
    from distsim.workload.chakra.from_flows import graph_of_flows

    return graph_of_flows(workload, source)


def _warn(lines: list[str]) -> None:
    for line in lines:
        click.echo(f"distsim: warning: {line}", err=True)
