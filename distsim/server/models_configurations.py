"""Bodies of requests and answers about configurations, and what they are made of (distsim/server/models.py)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from distsim.server.models import Answer, Asked, Pagination, Title

ConfigurationStatus = Literal["draft", "validated", "invalid"]


class ConfigurationSummary(Answer):
    """A configuration in a list."""

    id: str
    workspaceId: str
    name: str
    status: ConfigurationStatus
    version: int
    createdAt: str
    modifiedAt: str
    componentCount: int


class ConfigurationDetails(ConfigurationSummary):
    """A configuration."""

    components: list[dict[str, Any]]
    containers: list[dict[str, Any]]
    applications: list[dict[str, Any]]
    links: list[dict[str, Any]]
    topology: dict[str, Any]
    globalParameters: dict[str, Any]
    activeTraceset: dict[str, Any] | None = None
    text: str = Field(description="Ours: the configuration as YAML.")
    document: dict[str, Any] = Field(description="Ours: the same as JSON.")


class ConfigurationList(Answer):
    """A page of configurations."""

    configurations: list[ConfigurationSummary]
    pagination: Pagination


class ConfigurationCreate(Asked):
    """A new configuration: `text` or `document`, and documented parts on top of it."""

    name: Title
    workspaceId: str | None = None
    text: str | None = Field(None, description="Ours: a distsim configuration as YAML.")
    document: dict[str, Any] | None = Field(None, description="Ours: the same as JSON, in place of text.")
    globalParameters: dict[str, Any] | None = Field(None, description="Typed parameters on top of the document.")
    components: list[dict[str, Any]] = Field([], description="typedParameters of the components nic and switch, on top "
                                                             "of the document.")
    containers: list[dict[str, Any]] = Field([], description="Only empty: the document's fabric says it.")
    applications: list[dict[str, Any]] = Field([], description="Only empty: the document's workload says it.")
    links: list[dict[str, Any]] = Field([], description="Only empty: the document's fabric says it.")
    topology: dict[str, Any] | None = Field(None, description="Only empty: the document's fabric says it.")
    activeTraceset: dict[str, Any] | None = None


class ConfigurationUpdate(Asked):
    """Parts of a configuration that change."""

    name: Title | None = None
    text: str | None = None
    document: dict[str, Any] | None = None
    globalParameters: dict[str, Any] | None = None


class ConfigurationVersions(Answer):
    """The versions of a configuration."""

    versions: list[dict[str, Any]]


class ConfigurationComponents(Answer):
    """The components of a configuration."""

    components: list[dict[str, Any]]
    pagination: Pagination


class ValidationEntry(Answer):
    """Something that was found in a configuration."""

    severity: Literal["error", "warning", "info"]
    code: str
    message: str
    component: str | None = None
    parameter: str | None = None
    path: str | None = None
    line: int | None = Field(None, description="Ours: line of the text, from 1.")


class Validation(Answer):
    """What the check of a configuration found."""

    valid: bool
    status: Literal["valid", "error"]
    errors: list[ValidationEntry]
    warnings: list[ValidationEntry]
    info: list[ValidationEntry]


class TextCheck(Asked):
    """A configuration that is checked and not kept."""

    text: str


class ComponentSummary(Answer):
    """A component type."""

    id: str
    name: str
    model: str
    category: Literal["model"]
    type: str
    description: str
    latestVersion: str
    versions: list[str]


class ComponentList(Answer):
    """A page of component types."""

    components: list[ComponentSummary]
    pagination: Pagination


class ComponentDetails(Answer):
    """A component type and its attributes."""

    id: str
    name: str
    category: Literal["model"]
    type: str
    description: str
    version: str
    latestVersion: str
    typedParameters: dict[str, Any]
    jsonSchema: dict[str, Any] = Field(description="Ours: the same as JSON Schema (2020-12).")
    notes: str | None = None


class TemplateSummary(Answer):
    """A shipped configuration."""

    id: str
    name: str
    description: str
    category: str


class TemplateList(Answer):
    """A page of them."""

    templates: list[TemplateSummary]
    pagination: Pagination


class TemplateDetails(TemplateSummary):
    """A shipped configuration with its text."""

    text: str = Field(description="Ours: YAML.")
    document: dict[str, Any] = Field(description="Ours: the same as JSON.")


class TemplateClone(Asked):
    """A copy of a template."""

    name: Title
    workspaceId: str | None = None


class ChartDefinitions(Answer):
    """The plots that runs have."""

    schemaVersion: str
    definitions: list[dict[str, Any]]
