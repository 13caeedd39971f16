"""From a file to a `Cluster`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from distsim.cluster import labels, nodes, rates, topology
from distsim.cluster.build import SECTIONS, configuration, fabric_of, placed
from distsim.cluster.hypernodes import is_hypernodes
from distsim.cluster.manifests import only, read_documents, validated
from distsim.cluster.network_spec import NETWORKS, BaseNetwork
from distsim.cluster.networks import EXISTING, Network
from distsim.cluster.nodes import Draft
from distsim.cluster.problems import Problems
from distsim.cluster.spec import ClusterFile
from distsim.cluster.tor_node import is_tor_node
from distsim.cluster.types import Cluster, Queue, Rack
from distsim.cluster.wiring import Wiring
from distsim.cluster.workloads_map import check_workloads
from distsim.config.overrides import absolute_files, deep_merge
from distsim.config.problems import ConfigError, problem, problems_of, shown
from distsim.config.yaml_reader import Document
from distsim.errors import InputError

_WITH_FILES = ("network", "nic", "nic_overrides")      # workloads_map makes its own paths absolute
_OF_THE_JOB = ("kind", "command", "hosts", "file")


def load(path: str) -> Cluster:
    """See `distsim.cluster.load_cluster`."""
    documents = read_documents(path)
    data = documents[0].data
    for kind, fits in (("tor-node", is_tor_node), ("hypernodes", is_hypernodes)):
        if fits(data):
            network = {"kind": kind, "file": str(Path(path).absolute())}
            return _cluster(Document({"network": network}, {}, path), documents)
    document = only(documents, "a cluster file")
    if not isinstance(data, dict):
        raise InputError(f"{shown(data)} is not a cluster; write keys such as name, pools and network",
                         file=document.file, line=1)
    folder = Path(path).absolute().parent
    for key in _WITH_FILES:
        if key in data:
            data[key] = absolute_files(data[key], folder)
    return _cluster(document)


def _cluster(document: Document, documents: list[Document] | None = None) -> Cluster:
    """The cluster of a cluster file. documents : those of the network's file, if they were read already."""
    file = _checked(document)
    problems = Problems(document)
    _check_nccl(file, document, problems)
    network = Network(file, problems, documents)
    drafts = nodes.drafts(file, problems) if file.pools else network.nodes()
    nodes.override(file, drafts, problems)
    _check_queues(file, problems)
    workloads = check_workloads(document)
    if drafts and not any(draft.nics for draft in drafts):
        problems.add(("pools",), "no node has a NIC")
    problems.stop()
    wiring, settings, warnings = _wired(network, drafts, document, problems)
    label = file.network.rack_label or labels.rack_key(file.platform)
    racks = _label(wiring, drafts, label)
    rack_of = {name: rack.name for rack in racks for name in rack.nodes}
    return Cluster(
        name=file.name or _stem(document), platform=file.platform,
        nodes=tuple(draft.node(hosts, rack_of.get(draft.name, "")) for draft, hosts in zip(drafts, wiring.hosts)),
        queues=tuple(Queue(queue.name, queue.weight, queue.priority) for queue in file.queues),
        workloads=workloads, fabric=wiring.fabric, settings=settings | ({"nccl": file.nccl} if file.nccl else {}),
        racks=racks, rack_label=label, warnings=tuple(warnings), tor_nodes=network.tors,
        hyper_nodes=network.hyper_nodes(drafts))


def _checked(document: Document) -> ClusterFile:
    data = dict(document.data)
    found: list[InputError] = []
    if "network" in data:
        try:
            data["network"] = _network(document)
        except ConfigError as error:
            found += error.problems
            del data["network"]
    try:
        file = ClusterFile.model_validate(data)
    except ValidationError as error:
        found += problems_of(error, document, (), (ClusterFile,))
    if found:
        raise ConfigError(sorted(found, key=lambda entry: entry.line or 0))
    return file


def _network(document: Document) -> BaseNetwork:
    """The section `network`, by its kind."""
    data = document.data["network"]
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in NETWORKS:
        said = f"{shown(data)} is not a section of keys" if not isinstance(data, dict) else (
            f"kind {shown(kind)} is not valid" if "kind" in data else "kind is required")
        raise ConfigError([problem(document, ("network",), f"{said}; valid values of kind: {', '.join(NETWORKS)}")])
    return validated(document, NETWORKS[kind], ("network",))


def _wired(network: Network, drafts: list[Draft], document: Document, problems: Problems,
           ) -> tuple[Wiring, dict[str, Any], list[str]]:
    """The wiring with its links, the settings of runs, and what the fabric's builder warns of."""
    spec = network.spec
    try:
        if isinstance(spec, EXISTING):
            wiring = _existing(network, drafts, document, problems)
        else:
            wiring = network.wiring(drafts)
    except InputError as error:
        raise error if isinstance(error, ConfigError) else placed(error, document) from None
    settings = _settings(document, rates.settings(spec, wiring, drafts, problems))
    links = rates.link_overrides(spec, wiring, drafts, problems)
    problems.stop()
    if links:
        wiring.fabric["link_overrides"] = [*wiring.fabric.get("link_overrides", []), *links]
    built = fabric_of(configuration(wiring.fabric, settings, document), document)
    return wiring, settings, built.warnings


def _existing(network: Network, drafts: list[Draft], document: Document, problems: Problems) -> Wiring:
    hosts = network.hosts(drafts)
    problems.stop()
    section = topology.section_of(network.spec)
    given = _settings(document, {})
    fabric = fabric_of(configuration(section, given, document), document)
    return topology.wiring_of(section, fabric, hosts, drafts, problems)


def _settings(document: Document, made: dict[str, Any]) -> dict[str, Any]:
    """What the network makes of rates and delays, with the file's own sections on top."""
    settings = dict(made)
    for key in SECTIONS:
        given = document.data.get(key)
        if given is None:
            continue
        if isinstance(given, list):
            settings[key] = [*settings.get(key, []), *given]
        else:
            settings[key] = deep_merge(settings.get(key, {}), given)
    return settings


def _label(wiring: Wiring, drafts: list[Draft], label: str) -> tuple[Rack, ...]:
    """Give every node the label of its rack, unless the file sets it or takes it away; the racks."""
    racks = []
    for group, switches in zip(wiring.racks, wiring.switches):
        racks.append(Rack(group.name, tuple(drafts[index].name for index in group.nodes), switches))
        for index in group.nodes:
            if label not in drafts[index].removed:
                drafts[index].labels.setdefault(label, group.name)
    return tuple(racks)


def _check_queues(file: ClusterFile, problems: Problems) -> None:
    names: dict[str, int] = {}
    for index, queue in enumerate(file.queues):
        if queue.name in names:
            problems.add(("queues", index, "name"), f"{queue.name!r} is the name of queues.{names[queue.name]} already")
        names.setdefault(queue.name, index)


def _check_nccl(file: ClusterFile, document: Document, problems: Problems) -> None:
    """The section `nccl` against the keys of the workload kind nccl-tests."""
    for key in _OF_THE_JOB:
        if key in file.nccl:
            problems.add(("nccl", key), "is what a job sets; leave it out")
    if not file.nccl or problems.found:
        return
    from distsim.workload.nccl_tests.spec import NcclTestsSpec

    try:
        NcclTestsSpec.model_validate({"kind": "nccl-tests", **file.nccl})
    except ValidationError as error:
        raise ConfigError(problems_of(error, document, ("nccl",), (NcclTestsSpec,))) from None


def _stem(document: Document) -> str:
    """A name for the cluster, from that of its file."""
    try:
        return labels.checked_name(Path(document.file or "cluster").stem)
    except ValueError:
        return "cluster"
