"""The configuration that a cluster makes: the same checks as a run's, with file and line; and its fabric."""

from __future__ import annotations

from typing import Any

from distsim import fabric as fabrics
from distsim.config.check import Checker
from distsim.config.config import Config
from distsim.config.problems import ConfigError, problem
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError
from distsim.fabric.links import LinkRules, NicLink, SwitchLink
from distsim.fabric.types import Fabric

SECTIONS = ("SimulationParameters", "nic", "nic_overrides", "switch", "switch_overrides")


def configuration(fabric: dict[str, Any], settings: dict[str, Any], document: Document) -> Config:
    """The checked configuration of a fabric with these settings (its workload is a stand-in); ConfigError with places
    in the cluster file."""
    data = {"simulation": "cluster", "fabric": fabric, "workload": {"kind": "permutation", "size": "1KB"}}
    data |= {key: settings[key] for key in SECTIONS if key in settings}
    document.locate(())
    lines = {place: line for place, line in document.lines.items() if place and place[0] in SECTIONS}
    try:
        return Checker(Document(data, lines, document.file)).config()
    except ConfigError as error:
        raise ConfigError([placed(entry, document) for entry in error.problems]) from None


def fabric_of(config: Config, document: Document) -> Fabric:
    """The fabric of a configuration; InputError with a place in the cluster file."""
    try:
        built: Fabric = fabrics.build(config.fabric, _rules(config))
        if config.nic_overrides or config.switch_overrides:
            nodes, names, hosts = built.nodes, built.names, built.hosts
            config.check_overrides(list(zip(names[:hosts], nodes["rack"][:hosts].tolist())),
                                   list(zip(names[hosts:], nodes["tier"][hosts:].tolist())))
    except InputError as error:
        raise placed(error, document) from None
    return built


def placed(error: InputError, document: Document) -> InputError:
    """The same error with a place in the cluster file: what is said of `fabric` stands in `network` there."""
    if error.file is not None and (error.file != document.file or error.line is not None):
        return error
    place: Place = tuple(int(key) if key.isdigit() else key for key in (error.where or "").split("."))
    if place[0] == "fabric":
        whole: Place = ("network", "fabric") if document.at(("network", "fabric")) is not None else ("network",)
        inside = (*whole, *place[1:])
        place = inside if document.at(inside) is not None else whole
    if place[:1] == ("network",) and document.at(("network",)) is None:
        place = ()
    return problem(document, place, error.message)


def _rules(config: Config) -> LinkRules:
    """The configuration's link rules; NICs of a rack and switches of a tier are asked for once, unless overrides tell
    them apart by name."""
    rules = config.link_rules()
    nics: dict[int, NicLink] = {}
    switches: dict[int, SwitchLink] = {}

    def nic(host: int, name: str, rack: int) -> NicLink:
        if rack not in nics:
            nics[rack] = rules.nic(host, name, rack)
        return nics[rack]

    def switch(tier: int, name: str) -> SwitchLink:
        if tier not in switches:
            switches[tier] = rules.switch(tier, name)
        return switches[tier]

    return LinkRules(nic=rules.nic if any(one.names for one in config.nic_overrides) else nic,
                     switch=rules.switch if any(one.names for one in config.switch_overrides) else switch)
