"""Volcano's HyperNodes: which nodes form a rack (tier 1), which racks a pod (tier 2).

Fields: volcano-sh/apis, pkg/apis/topology/v1alpha1 (HyperNodeSpec, MemberSpec, MemberSelector).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from distsim.cluster import hyper_tree
from distsim.cluster.labels import expression_holds, not_empty
from distsim.cluster.manifests import validated
from distsim.cluster.problems import Problems
from distsim.cluster.types import HyperNodeInfo
from distsim.config.names import nearest
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError
from distsim.quantities import StrictModel

API_GROUP = "topology.volcano.sh/"


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


class Metadata(StrictModel):
    """Name of the HyperNode."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(min_length=1, max_length=63, description="Name of the HyperNode.")


class ExactMatch(StrictModel):
    """One name."""

    name: str = Field(min_length=1, description="Name of the member.")


class RegexMatch(StrictModel):
    """All names that a regular expression is found in."""

    pattern: str = Field(min_length=1, description="Regular expression.")

    @model_validator(mode="after")
    def _compiles(self) -> RegexMatch:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern: {self.pattern!r} is not a regular expression: {error}") from None
        return self


class Requirement(StrictModel):
    """A condition on a label."""

    key: str = Field(min_length=1, description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="What has to hold.")
    values: tuple[str, ...] = Field((), description="Values of In and NotIn.")

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil it."""
        return expression_holds(labels, self.key, self.operator, self.values)


class LabelMatch(StrictModel):
    """Nodes by their labels."""

    matchLabels: dict[str, str] = Field({}, description="Labels that a node must have.")
    matchExpressions: tuple[Requirement, ...] = Field((), description="Further conditions.")

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil all conditions."""
        return (all(labels.get(key) == value for key, value in self.matchLabels.items())
                and all(entry.holds(labels) for entry in self.matchExpressions))


class Selector(StrictModel):
    """How members are chosen: exactly one of three."""

    exactMatch: ExactMatch | None = Field(None, description="By name.")
    regexMatch: RegexMatch | None = Field(None, description="By a regular expression on the name.")
    labelMatch: LabelMatch | None = Field(None, description="By labels, nodes only.")

    @model_validator(mode="after")
    def _one(self) -> Selector:
        if sum(part is not None for part in (self.exactMatch, self.regexMatch, self.labelMatch)) != 1:
            raise ValueError("a selector needs exactly one of exactMatch, regexMatch and labelMatch")
        return self


class Member(StrictModel):
    """Members of a HyperNode."""

    type: Literal["Node", "HyperNode"] = Field(description="Kind of the members.")
    selector: Selector = Field(description="Which ones.")

    @model_validator(mode="after")
    def _labels_of_nodes(self) -> Member:
        if self.type == "HyperNode" and self.selector.labelMatch is not None:
            raise ValueError("labelMatch goes with members of type Node")
        return self


class HyperNodeSpec(StrictModel):
    """What a HyperNode holds."""

    tier: Annotated[int, BeforeValidator(_number), Field(ge=1, le=64)] = Field(
        description="Tier, 1 is a rack; 1 to 64.")
    tierName: str = Field("", description="Name of the tier.")
    members: Annotated[tuple[Member, ...], BeforeValidator(not_empty)] = Field(description="Its members.")


class HyperNode(StrictModel):
    """A HyperNode manifest; a status in it is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    apiVersion: Literal["topology.volcano.sh/v1alpha1"] = Field(description="Version of this kind of manifest.")
    kind: Literal["HyperNode"] = Field(description="Kind of manifest.")
    metadata: Metadata = Field(description="Its name.")
    spec: HyperNodeSpec = Field(description="What it holds.")


@dataclass
class Placed:
    """A HyperNode and where it stands."""

    spec: HyperNodeSpec
    document: Document
    place: Place


def is_hypernodes(data: Any) -> bool:
    """Whether a document holds HyperNodes."""
    return isinstance(data, dict) and (str(data.get("apiVersion", "")).startswith(API_GROUP)
                                       or data.get("kind") in ("List", "HyperNodeList"))


def read_hypernodes(documents: list[Document]) -> dict[str, Placed]:
    """All HyperNodes of a file by name, lists taken apart. Raises InputError for HyperNodes that go in a circle."""
    found: dict[str, Placed] = {}
    for document in documents:
        items = document.at(("items",))
        places: list[Place] = [("items", i) for i in range(len(items))] if isinstance(items, list) else [()]
        for place in places:
            one = validated(document, HyperNode, place)
            if one.metadata.name in found:
                problems = Problems(document)
                problems.add((*place, "metadata", "name"), f"HyperNode {one.metadata.name!r} stands there twice")
                problems.stop()
            found[one.metadata.name] = Placed(one.spec, document, (*place, "spec"))
    if not found:
        raise InputError("there is no HyperNode in it", file=documents[0].file)
    circle = hyper_tree.circle_of(_all_children(found))
    if circle:
        raise _fail(found[circle[0]], ("members",), "HyperNodes are members of each other in a cycle: "
                                                    + " -> ".join([*circle, circle[0]]))
    return found


def exact_nodes(hypernodes: Mapping[str, Placed]) -> list[str]:
    """Names of the nodes, in order, when no pool tells them; InputError for a member that names none."""
    names: dict[str, None] = {}
    for one in hypernodes.values():
        for index, member in enumerate(one.spec.members):
            if member.type != "Node":
                continue
            if member.selector.exactMatch is None:
                raise _fail(one, ("members", index), "only exactMatch tells which nodes there are; give the nodes "
                            "as pools of a cluster file with network: {kind: hypernodes, file: ...}")
            names.setdefault(member.selector.exactMatch.name)
    return list(names)


def pods_of(hypernodes: Mapping[str, Placed], nodes: Mapping[str, Mapping[str, str]],
            ) -> list[list[tuple[str, list[str]]]]:
    """The tree as pods of racks, each rack with its nodes.

    nodes : labels of every node by name. Raises InputError for a name that there is not, a node in two racks, a rack in
    two pods, a tier that does not lie above its members', and more tiers than a fabric has.
    """
    children = _all_children(hypernodes)
    racks = _racks(hypernodes, nodes)
    parent = _parents(hypernodes, children)
    pods: dict[str, list[str]] = {}
    for name in racks:
        pods.setdefault(parent.get(name, ""), []).append(name)
    _check_depth(hypernodes, children, pods, parent)
    return [[(name, racks[name]) for name in members] for members in pods.values()]


def tree_of(hypernodes: Mapping[str, Placed], nodes: Mapping[str, Mapping[str, str]]) -> dict[str, HyperNodeInfo]:
    """The HyperNodes for the scheduler; arguments and errors as for `pods_of`."""
    tiers = {name: (one.spec.tier, one.spec.tierName) for name, one in hypernodes.items()}
    parents = _parents(hypernodes, _all_children(hypernodes))
    return hyper_tree.tree(tiers, parents, _racks(hypernodes, nodes) if hypernodes else {}, list(nodes))


def _all_children(hypernodes: Mapping[str, Placed]) -> dict[str, list[str]]:
    return {name: _children(name, one, hypernodes) for name, one in hypernodes.items()}


def _children(name: str, one: Placed, hypernodes: Mapping[str, Placed]) -> list[str]:
    found: dict[str, None] = {}
    for index, member in enumerate(one.spec.members):
        if member.type == "HyperNode":
            chosen = _chosen(member, hypernodes, one, index, "HyperNode")
            pattern = member.selector.exactMatch is None         # which may fit the HyperNode's own name too
            found.update(dict.fromkeys(other for other in chosen if not (pattern and other == name)))
    return list(found)


def _racks(hypernodes: Mapping[str, Placed], nodes: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    racks: dict[str, list[str]] = {}
    home: dict[str, str] = {}
    for name, one in hypernodes.items():
        members = [member.type for member in one.spec.members]
        if "Node" not in members:
            continue
        if "HyperNode" in members:
            raise _fail(one, ("members",), "has nodes and HyperNodes as members; a fabric has either below a switch")
        found: dict[str, None] = {}
        for index, member in enumerate(one.spec.members):
            for node in _chosen(member, nodes, one, index, "node"):
                if home.setdefault(node, name) != name:
                    raise _fail(one, ("members", index), f"node {node!r} is in HyperNode {home[node]} already")
                found[node] = None
        racks[name] = list(found)
    lost = [node for node in nodes if node not in home]
    if lost:
        first = next(iter(hypernodes.values()))
        raise InputError(f"{len(lost)} nodes are in no HyperNode, the first is {lost[0]!r}", file=first.document.file)
    return racks


def _chosen(member: Member, valid: Mapping[str, Any], one: Placed, index: int, what: str) -> list[str]:
    """The names that a member's selector means."""
    selector = member.selector
    if selector.exactMatch is not None:
        name = selector.exactMatch.name
        if name not in valid:
            near = nearest(name, list(valid))
            advice = f"; nearest: {near}" if near else ""
            raise _fail(one, ("members", index), f"no {what} is called {name!r}{advice}")
        return [name]
    if selector.regexMatch is not None:
        search = re.compile(selector.regexMatch.pattern).search
        found = [name for name in valid if search(name)]
    else:
        assert selector.labelMatch is not None
        found = [name for name, labels in valid.items() if selector.labelMatch.holds(labels)]
    if not found:
        raise _fail(one, ("members", index), f"selects no {what}")
    return found


def _parents(hypernodes: Mapping[str, Placed], children: Mapping[str, list[str]]) -> dict[str, str]:
    parent: dict[str, str] = {}
    for name, below in children.items():
        tier = hypernodes[name].spec.tier
        for child in below:
            if hypernodes[child].spec.tier >= tier:
                raise _fail(hypernodes[name], ("tier",), f"tier {tier} is not above tier "
                                                         f"{hypernodes[child].spec.tier} of its member {child!r}")
            if parent.setdefault(child, name) != name:
                raise _fail(hypernodes[name], ("members",),
                            f"HyperNode {child!r} is a member of {parent[child]} already")
    return parent


def _check_depth(hypernodes: Mapping[str, Placed], children: Mapping[str, list[str]], pods: Mapping[str, list[str]],
                 parent: Mapping[str, str]) -> None:
    """Racks under pods under at most one more: three tiers of switches, the same everywhere."""
    for pod, racks in pods.items():
        if not pod and len(pods) > 1:
            raise _fail(hypernodes[racks[0]], (), "is a rack in no HyperNode of tier 2, but other racks are in one; a "
                                                  "fabric has the same tiers everywhere")
        mixed = [child for child in children.get(pod, []) if parent[child] == pod and child not in racks]
        if mixed:
            raise _fail(hypernodes[pod], ("members",), f"has racks and {mixed[0]!r}, which holds racks, as members; a "
                                                       "fabric has the same tiers everywhere")
        top = parent.get(parent.get(pod, ""))
        if top is not None:
            raise _fail(hypernodes[top], ("tier",), "a fabric has at most three tiers of switches: racks (tier 1), "
                                                    "pods (tier 2) and what joins them")


def _fail(one: Placed, place: Place, message: str) -> InputError:
    problems = Problems(one.document)
    problems.add((*one.place, *place), message)
    return next(iter(problems.found.values()))
