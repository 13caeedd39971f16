"""What there is to choose from: component types with their attributes, shipped configurations, plots."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from distsim import __version__
from distsim.config import json_schema
from distsim.server import configuration_view as view
from distsim.server import models_configurations as models
from distsim.server.context import Here
from distsim.server.errors import ApiError, not_found
from distsim.server.ids import is_workspace
from distsim.server.paging import page
from distsim.server.routes_common import API, Limit, Next, Search, errors
from distsim.server.store import document_of
from distsim.server.templates import CATEGORY, Template
from distsim.server.typed import typed

router = APIRouter(prefix=API)
IDS = {"nic": "model_uet_nic", "switch": "model_switch"}
MEANINGS = {"nic": "UET NIC: transport, congestion control, spraying, buffers, PCIe",
            "switch": "Switch: shared buffer, trimming, ECN, load balancing"}
CHARTS_VERSION = "1"


@router.get("/components", response_model=models.ComponentList, responses=errors(), tags=["Components"])
def list_components(
        limit: Limit = 100, after: Next = None,
        category: Annotated[Literal["model"] | None, Query(description="There are models only.")] = None,
        kind: Annotated[str | None, Query(alias="type", description="nic or switch.")] = None) -> Any:
    """The component types."""
    items, pagination = page([name for name in IDS if kind in (None, name)], limit, after, "components",
                             lambda name: [name])
    return {"components": [_component(name) for name in items], "pagination": pagination}


@router.get("/components/{component_id}", response_model=models.ComponentDetails, response_model_exclude_none=True,
            responses=errors(404), tags=["Components"])
def get_component(
        component_id: str,
        version: Annotated[str | None, Query(description="There is one: the simulator's.")] = None,
        notes: Annotated[bool, Query(description="With notes.")] = False) -> Any:
    """A component type's attributes: value, type, unit, bounds, what setting it does (`acts`, ours)."""
    name = next((name for name, id in IDS.items() if component_id in (id, view.COMPONENTS[name][1])), None)
    if name is None or version not in (None, __version__):
        raise not_found("Component" if name is None else "Version")
    summary = _component(name)
    del summary["versions"], summary["model"]
    return {**summary, "version": __version__, "typedParameters": typed(view.COMPONENTS[name][0], described=True),
            "jsonSchema": _schema(name), "notes": MEANINGS[name] if notes else None}


@router.get("/templates", response_model=models.TemplateList, responses=errors(), tags=["Templates"])
def list_templates(here: Here, limit: Limit = 100, after: Next = None, search: Search = None,
                   category: Annotated[str | None, Query(description=f"There is {CATEGORY}.")] = None) -> Any:
    """The configurations that come with distsim."""
    found = [one for one in here.templates.all() if category in (None, CATEGORY) and (
        not search or search.casefold() in f"{one.name} {one.description}".casefold())]
    items, pagination = page(found, limit, after, "templates", lambda one: [one.id])
    return {"templates": [_template(one) for one in items], "pagination": pagination}


@router.get("/templates/{template_id}", response_model=models.TemplateDetails, responses=errors(404),
            tags=["Templates"])
def get_template(here: Here, template_id: str) -> Any:
    """One of them."""
    found = here.templates.get(template_id)
    return {**_template(found), "text": found.text, "document": document_of(found.text)}


@router.post("/templates/{template_id}/clone", response_model=models.ConfigurationDetails, status_code=201,
             responses=errors(404, 415, 429), tags=["Templates"])
def clone_template(here: Here, template_id: str, asked: models.TemplateClone, response: Response) -> Any:
    """A configuration of one's own from it."""
    if not is_workspace(asked.workspaceId):
        raise ApiError(404, "Workspace not found")
    stored = here.configurations.create(asked.name, here.templates.get(template_id).text)
    response.headers["ETag"] = stored.etag
    return view.details(stored)


@router.get("/chart-definitions", response_model=models.ChartDefinitions, responses=errors(), tags=["Charts"])
def chart_definitions() -> Any:
    """The plots that there are, in order of their ids; `distsim results plot` and the page draw them."""
    from distsim.results.plots import PLOTS

    found = [{"id": plot.name, "title": plot.title, "description": plot.summary, "choices": sorted(plot.takes)}
             for plot in PLOTS]
    return {"schemaVersion": CHARTS_VERSION, "definitions": sorted(found, key=lambda one: str(one["id"]))}


def _component(name: str) -> dict[str, Any]:
    model = view.COMPONENTS[name][1]
    return {"id": IDS[name], "name": model, "model": model, "category": "model", "type": name,
            "description": MEANINGS[name], "latestVersion": __version__, "versions": [__version__]}


def _template(template: Template) -> dict[str, Any]:
    return {"id": template.id, "name": template.name, "description": template.description, "category": CATEGORY}


@cache
def _schema(name: str) -> dict[str, Any]:
    """The part of the configuration's JSON Schema that describes a component, complete in itself."""
    whole = json_schema()
    definitions: dict[str, Any] = whole["$defs"]
    top = view.COMPONENTS[name][0].__name__
    wanted, waiting = set(), [top]
    while waiting:
        one = waiting.pop()
        if one not in wanted:
            wanted.add(one)
            waiting += _references(definitions[one])
    return {"$schema": whole["$schema"], **definitions[top],
            "$defs": {one: definitions[one] for one in sorted(wanted - {top})}}


def _references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        here = [str(schema["$ref"]).rpartition("/")[2]] if "$ref" in schema else []
        return here + [name for value in schema.values() for name in _references(value)]
    return [name for value in schema for name in _references(value)] if isinstance(schema, list) else []
