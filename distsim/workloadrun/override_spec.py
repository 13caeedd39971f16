"""An override as a run gives it: when it applies and what it changes.

Source: NVIDIA/cluster-readiness-engine, OverrideSpec and WhenSpec.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from distsim.quantities import StrictModel

from .orchestration import OrchestrationOverride


class StringMatch(StrictModel):
    """Conditions on a text; each that is given must hold, case counts, an empty `equals` is none."""

    equals: str = Field("", description="the value; empty: any")
    among: list[str] = Field([], alias="in", description="values, one of which it is")
    notIn: list[str] = Field([], description="values, none of which it is")

    def holds(self, value: str) -> bool:
        """Whether a value meets them; an unknown value is empty."""
        return ((not self.equals or self.equals == value) and (not self.among or value in self.among)
                and value not in self.notIn)

    def summary(self) -> str:
        """The condition in a few characters."""
        if self.equals:
            return self.equals
        if self.among:
            return f"in [{','.join(self.among)}]"
        return f"notIn [{','.join(self.notIn)}]" if self.notIn else "<any>"


class IntMatch(StrictModel):
    """Conditions on a number; each that is given must hold."""

    equals: int | None = Field(None, strict=True, description="the number")
    greaterThan: int | None = Field(None, strict=True, description="it is greater than this")
    lessThan: int | None = Field(None, strict=True, description="it is less than this")

    def holds(self, value: int) -> bool:
        """Whether a number meets them."""
        return ((self.equals is None or value == self.equals)
                and (self.greaterThan is None or value > self.greaterThan)
                and (self.lessThan is None or value < self.lessThan))

    def summary(self) -> str:
        """The condition in a few characters."""
        signs = (("=", self.equals), (">", self.greaterThan), ("<", self.lessThan))
        return ",".join(f"{sign}{number}" for sign, number in signs if number is not None)


class TopologyMatch(StrictModel):
    """Conditions on the domains of the nodes."""

    mode: str = Field("", description="simple, or topology where a topology key is set; empty: any")
    domainCount: IntMatch | None = Field(None, description="number of domains")


class When(StrictModel):
    """Conditions of an override; all that are given must hold, none given: always."""

    platform: StringMatch | None = Field(None, description="platform of the nodes")
    gpuArchitecture: StringMatch | None = Field(None, description="kind of GPU of the nodes, e.g. h100")
    workloadKind: str = Field("", description="kind of the workload object, e.g. TrainJob; empty: any")
    topology: TopologyMatch | None = Field(None, description="domains of the nodes")
    config: dict[str, Any] | None = Field(None, description="values that the run's performance configuration has")
    expression: str = Field("", description="CEL expression over platform, gpuArchitecture, workloadKind, "
                                            "topologyMode and domainCount")


class Operation(StrictModel):
    """One operation of a JSON patch, RFC 6902."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="what is done")
    path: str = Field(description="JSON pointer from the job template, e.g. /spec/workloadMetadata/labels/a~1b")
    source: str | None = Field(None, alias="from", description="JSON pointer that is moved or copied")
    value: Any = Field(None, description="value that is added, put in place or compared")

    @field_validator("path", "source")
    @classmethod
    def _pointer(cls, text: str | None) -> str | None:
        if text and not text.startswith("/"):
            raise ValueError(f"{text!r} is not a JSON pointer: it begins with /")
        return text

    @model_validator(mode="after")
    def _complete(self) -> Operation:
        if self.op in ("move", "copy") and self.source is None:
            raise ValueError(f"{self.op} needs from")
        if self.op in ("add", "replace", "test") and "value" not in self.model_fields_set:
            raise ValueError(f"{self.op} needs a value")
        return self


class Override(StrictModel):
    """A change of the Workflow, made where its conditions hold: merge, then patch, then dependencies, orchestration."""

    when: When = Field(description="conditions; empty: always")
    jobTemplate: dict[str, Any] | None = Field(None, description="merged into the job template")
    jobTemplatePatch: list[Operation] | None = Field(None, description="JSON patch of the job template, RFC 6902")
    dependencies: list[dict[str, Any]] = Field([], description="merged into those of the same name, else added")
    orchestration: OrchestrationOverride | None = Field(None, description="put in place of the Workflow's")

    @field_validator("dependencies")
    @classmethod
    def _identified(cls, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for index, dependency in enumerate(given):
            metadata = dependency.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            if not all(isinstance(part, str) and part for part in (dependency.get("apiVersion"),
                                                                  dependency.get("kind"), name)):
                raise ValueError(f"dependencies[{index}] needs apiVersion, kind and metadata.name")
            try:
                When.model_validate(dependency.get("when") or {})
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join(map(str, ("when", *first["loc"])))
                raise ValueError(f"dependencies[{index}].{place}: {first['msg']}") from None
        return given
