"""Configurations: create, look at, check, change, delete."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Response

from distsim import __version__
from distsim.server import configuration_view as view
from distsim.server import models_configurations as models
from distsim.server.context import Context, Here
from distsim.server.errors import ApiError
from distsim.server.ids import is_workspace, iso, seconds_of
from distsim.server.paging import page
from distsim.server.paths import CONFIGURATION_ID, checked_id
from distsim.server.routes_common import (
    API,
    After,
    Before,
    IfMatch,
    Limit,
    Next,
    Search,
    Workspace,
    check_match,
    errors,
)
from distsim.server.store import INVALID, STATUSES, VALIDATED, Stored, document_of, text_of

router = APIRouter(prefix=f"{API}/configurations", tags=["Configurations"])
Patch = Annotated[dict[str, Any], Body(description="Typed parameters: nested objects down to {value, type[, unit]}.")]
TAGGED: dict[str, Any] = {"headers": {"ETag": {"schema": {"type": "string"}, "description": "The version in quotes."}}}
EMPTY = ("containers", "applications", "links", "topology", "activeTraceset")


@router.get("", response_model=models.ConfigurationList, responses=errors())
def list_configurations(
        here: Here, limit: Limit = 100, after: Next = None, workspace: Workspace = None,
        status: Annotated[str | None, Query(description=f"Comma-separated: {', '.join(STATUSES)}.")] = None,
        search: Search = None, created_after: After = None, created_before: Before = None) -> Any:
    """The latest version of each configuration, the newest first."""
    wanted = {one.strip() for one in status.split(",")} if status else set(STATUSES)
    if not wanted <= set(STATUSES):
        raise ApiError(400, f"status: there are {', '.join(STATUSES)}")
    begin = seconds_of(created_after, "createdAfter") if created_after else -math.inf
    end = seconds_of(created_before, "createdBefore") if created_before else math.inf
    found = [stored for stored in (here.configurations.all() if is_workspace(workspace) else [])
             if stored.status in wanted and begin <= stored.created < end
             and (not search or search.casefold() in stored.name.casefold())]
    items, pagination = page(found, limit, after, "configurations", lambda one: [one.created, one.id], descending=True)
    return {"configurations": [view.summary(stored) for stored in items], "pagination": pagination}


@router.post("", response_model=models.ConfigurationDetails, status_code=201,
             responses={201: {"description": "Configuration created", **TAGGED}, **errors(415, 429)})
def create_configuration(here: Here, asked: models.ConfigurationCreate, response: Response) -> Any:
    """Keeps a configuration, as a draft until it is validated."""
    is_workspace(asked.workspaceId)
    for name in EMPTY:
        if getattr(asked, name):
            raise ApiError(400, f"{name}: leave it out; the document's fabric and workload say it")
    text = _text(asked.text, asked.document)
    if text is None:
        raise ApiError(400, "give the configuration as text (YAML) or as document (JSON)")
    data = document_of(text)
    changed = view.with_parameters(data, asked.globalParameters) if asked.globalParameters else data
    for one in asked.components:
        changed = view.with_component(changed, str(one.get("name")), one.get("typedParameters"))
    return _answer(here.configurations.create(asked.name, text if changed is data else text_of(changed)), response)


@router.post("/validate", response_model=models.Validation, responses=errors(415))
def validate_text(here: Here, asked: models.TextCheck) -> Any:
    """Ours: checks a configuration without keeping it."""
    return here.checks.check(asked.text)


@router.get("/{config_id}", response_model=models.ConfigurationDetails,
            responses={200: {"description": "Configuration details", **TAGGED}, **errors(404)})
def get_configuration(here: Here, config_id: str, response: Response) -> Any:
    """The latest version of a configuration."""
    return _answer(here.configurations.get(_id(config_id)), response)


@router.patch("/{config_id}", response_model=models.ConfigurationDetails,
              responses={200: {"description": "Configuration updated", **TAGGED}, **errors(404, 409, 412, 415)})
def update_configuration(here: Here, config_id: str, asked: models.ConfigurationUpdate, match: IfMatch,
                         response: Response) -> Any:
    """Makes a new version, a draft, with another name or document. If-Match is required."""
    if match is None:
        raise ApiError(400, "If-Match is required: the version in quotes")
    text = _text(asked.text, asked.document)
    if asked.name is None and text is None and asked.globalParameters is None:
        raise ApiError(400, "nothing to change: give name, text, document or globalParameters")

    def change(before: Stored) -> Stored:
        check_match(match, before.version)
        new = before.text if text is None else text
        if asked.globalParameters is not None:
            new = text_of(view.with_parameters(document_of(new), asked.globalParameters))
        return replace(before, name=asked.name or before.name, text=new)

    return _answer(here.configurations.update(_id(config_id), change), response)


@router.delete("/{config_id}", status_code=204, response_class=Response, responses=errors(404))
def delete_configuration(here: Here, config_id: str) -> None:
    """Removes all versions. Simulations of it keep what they run."""
    here.configurations.delete(_id(config_id))


@router.post("/{config_id}/validate", response_model=models.Validation, responses=errors(404))
def validate_configuration(here: Here, config_id: str) -> Any:
    """Checks the latest version and all that it refers to, and notes whether it may be simulated."""
    stored = here.configurations.get(_id(config_id))
    found = here.checks.check(stored.text)
    here.configurations.set_status(stored.id, stored.version, VALIDATED if found["valid"] else INVALID)
    return found


@router.patch("/{config_id}/parameters", response_model=dict[str, Any],
              responses={200: {"description": "All global parameters", **TAGGED}, **errors(404, 409, 412, 415)})
def update_parameters(here: Here, config_id: str, patch: Patch, response: Response, match: IfMatch = None) -> Any:
    """Changes global simulation parameters, e.g. {"SimulationParameters": {"NDStatsReportInterval": {"value": 0.0005,
    "type": "double"}}}. Makes a new version; comments of the text are lost."""
    stored = _patched(here, config_id, match, lambda data: view.with_parameters(data, patch))
    response.headers["ETag"] = stored.etag
    return view.parameters(stored.data)


@router.get("/{config_id}/components", response_model=models.ConfigurationComponents, responses=errors(404))
def list_components(
        here: Here, config_id: str, limit: Limit = 100, after: Next = None,
        kind: Annotated[str | None, Query(alias="type", description="nic or switch.")] = None,
        details: Annotated[bool, Query(alias="withDetails", description="With typedParameters.")] = False) -> Any:
    """The components: `nic` and `switch`, which hold for all NICs and switches but for the document's overrides."""
    data = here.configurations.get(_id(config_id)).data
    items, pagination = page([name for name in view.COMPONENTS if kind in (None, name)], limit, after,
                             "configuration-components", lambda name: [name])
    return {"components": [view.component(data, name, details) for name in items], "pagination": pagination}


@router.patch("/{config_id}/components/{component_name}/parameters", response_model=dict[str, Any],
              responses={200: {"description": "All attributes", **TAGGED}, **errors(404, 409, 412, 415)})
def update_component(here: Here, config_id: str, component_name: str, patch: Patch, response: Response,
                     match: IfMatch = None) -> Any:
    """Changes attributes of the component `nic` or `switch`. Makes a new version; comments of the text are lost."""
    stored = _patched(here, config_id, match, lambda data: view.with_component(data, component_name, patch))
    response.headers["ETag"] = stored.etag
    return view.component(stored.data, component_name)["typedParameters"]


@router.get("/{config_id}/software-version", response_model=dict[str, str], responses=errors(404))
def software_version(here: Here, config_id: str) -> Any:
    """The simulator's version."""
    here.configurations.get(_id(config_id))
    return {"version": __version__}


@router.get("/{config_id}/versions", response_model=models.ConfigurationVersions, responses=errors(404))
def list_versions(here: Here, config_id: str) -> Any:
    """The versions of a configuration."""
    return {"versions": [{"version": version, "createdAt": iso(made)}
                         for version, made in here.configurations.versions(_id(config_id))]}


@router.get("/{config_id}/versions/{version}", response_model=models.ConfigurationDetails,
            responses={200: {"description": "One version", **TAGGED}, **errors(404)})
def get_version(here: Here, config_id: str, version: int, response: Response) -> Any:
    """One version of a configuration."""
    return _answer(here.configurations.get(_id(config_id), version), response)


def _id(text: str) -> str:
    return checked_id(text, CONFIGURATION_ID, "configuration")


def _answer(stored: Stored, response: Response) -> dict[str, Any]:
    response.headers["ETag"] = stored.etag
    return view.details(stored)


def _text(text: str | None, document: dict[str, Any] | None) -> str | None:
    """The configuration's text however it was given; 400 when it was given twice."""
    if text is not None and document is not None:
        raise ApiError(400, "give text or document, not both")
    return text_of(document) if document is not None else text


def _patched(here: Context, config_id: str, match: str | None, change: Any) -> Stored:
    """A new version with a changed document."""
    def changed(before: Stored) -> Stored:
        check_match(match, before.version)
        return replace(before, text=text_of(change(before.data)))

    return here.configurations.update(_id(config_id), changed)
