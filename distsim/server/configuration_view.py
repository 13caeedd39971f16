"""A configuration as the API shows it: the documented parts, taken from a distsim document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from distsim import __version__
from distsim.config import Nic, SimulationParameters, Switch
from distsim.config.overrides import deep_merge, plain
from distsim.server.errors import ApiError
from distsim.server.ids import WORKSPACE, iso
from distsim.server.store import Stored
from distsim.server.typed import merged, typed

PARAMETERS, SOFTWARE = "SimulationParameters", "SoftwareVersion"
MANAGED = (SOFTWARE, "ComputeConfiguration", "ParallelizationParameters")  # not the user's to set
COMPONENTS: dict[str, tuple[type[BaseModel], str]] = {"nic": (Nic, "ScalaUETNIC"), "switch": (Switch, "ScalaSwitch")}
CLOS = {"leaf-spine": 2, "rail-optimised": 2, "fat-tree": 3}


def summary(stored: Stored) -> dict[str, Any]:
    """As it stands in a list."""
    return {"id": stored.id, "workspaceId": WORKSPACE, "name": stored.name, "status": stored.status,
            "version": stored.version, "createdAt": iso(stored.created), "modifiedAt": iso(stored.modified),
            "componentCount": len(COMPONENTS)}


def details(stored: Stored) -> dict[str, Any]:
    """All of it."""
    data = stored.data
    return {**summary(stored), "components": [component(data, name) for name in COMPONENTS], "containers": [],
            "applications": _applications(data), "links": [], "topology": _topology(data),
            "globalParameters": parameters(data), "activeTraceset": None, "text": stored.text, "document": data}


def parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    """globalParameters: the simulation parameters and the software's version."""
    version = {"Version": {"value": __version__, "type": "string", "readonly": True}}
    return {PARAMETERS: typed(SimulationParameters, _values(SimulationParameters, data.get(PARAMETERS))),
            SOFTWARE: version}


def component(data: Mapping[str, Any], name: str, with_details: bool = True) -> dict[str, Any]:
    """The component `nic` or `switch`: what holds for all of them, without the document's overrides."""
    model, documented = COMPONENTS[name]
    found: dict[str, Any] = {"name": name, "type": name, "model": documented, "version": __version__}
    if with_details:
        found["typedParameters"] = typed(model, _values(model, data.get(name)))
    return found


def with_parameters(data: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """The document with typed global parameters on top; 400 for what cannot be set."""
    if not isinstance(patch, dict) or not patch:
        raise ApiError(400, f"the patch is empty; send an object with {PARAMETERS}")
    for name in patch:
        if name in MANAGED:
            raise ApiError(400, f"{name} cannot be changed")
        if name != PARAMETERS:
            raise ApiError(400, f"there is no section {name!r}; there is {PARAMETERS}")
    return {**data, PARAMETERS: merged(SimulationParameters, data.get(PARAMETERS), patch[PARAMETERS])}


def with_component(data: Mapping[str, Any], name: str, patch: Any) -> dict[str, Any]:
    """The document with typed attributes of `nic` or `switch` on top; 404 for another component."""
    if name not in COMPONENTS:
        raise ApiError(404, f"there is no component {name!r}; there are {', '.join(COMPONENTS)}")
    return {**data, name: merged(COMPONENTS[name][0], data.get(name), patch)}


def _values(model: type[BaseModel], section: Any) -> Any:
    """A section with every default as plain data; what it gives wrongly is shown by its default (the text shows it as
    it is, the check names it)."""
    try:
        return plain(model.model_validate(section if section is not None else {}))
    except ValidationError as error:
        given = section if isinstance(section, dict) else {}
        wrong = {tuple(entry["loc"]) for entry in error.errors(include_url=False, include_input=False)}
    try:
        return plain(model.model_validate(_without(given, wrong, ())))
    except ValidationError:
        return plain(model())


def _without(section: dict[str, Any], wrong: set[tuple[Any, ...]], place: tuple[Any, ...]) -> dict[str, Any]:
    return {key: _without(value, wrong, (*place, key)) if isinstance(value, dict) else value
            for key, value in section.items() if not any(spot[:len(place) + 1] == (*place, key) and
                                                         (not isinstance(value, dict) or len(spot) == len(place) + 1)
                                                         for spot in wrong)}


def _applications(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    workload = data.get("workload")
    kind = workload.get("kind") if isinstance(workload, dict) else None
    return [{"name": "workload", "type": "application", "model": str(kind), "version": __version__,
             "trafficType": "chakra" if kind == "chakra" else "generator"}] if kind else []


def _topology(data: Mapping[str, Any]) -> dict[str, Any]:
    fabric = data.get("fabric")
    kind = str(fabric.get("kind")) if isinstance(fabric, dict) else ""
    found: dict[str, Any] = {"name": kind or None, "type": "clos" if kind in CLOS else "custom", "components": []}
    return deep_merge(found, {"topologyTiers": CLOS[kind]} if kind in CLOS else {})
