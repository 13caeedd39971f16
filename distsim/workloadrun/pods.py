"""Parts of a pod that a WorkloadRun passes on as they are: variables, volumes, containers, resources."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from distsim.quantities import StrictModel

_QUANTITY = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?", re.ASCII)


class Reference(StrictModel):
    """Another object, by its name."""

    name: str = Field(min_length=1, description="name of the object")


class EnvVar(StrictModel):
    """A variable of the workload's environment."""

    name: str = Field(min_length=1, description="name of the variable")
    value: str | None = Field(None, description="its value")
    valueFrom: dict[str, Any] | None = Field(None, description="where its value comes from")


class VolumeMount(StrictModel):
    """Where a volume is mounted in the workload's container."""

    name: str = Field(min_length=1, description="name of the volume")
    mountPath: str = Field(min_length=1, description="path in the container")
    subPath: str | None = Field(None, description="path in the volume")
    subPathExpr: str | None = Field(None, description="path in the volume, with variables")
    readOnly: bool | None = Field(None, strict=True, description="whether it cannot be written")
    recursiveReadOnly: str | None = Field(None, description="whether what is mounted below cannot be written")
    mountPropagation: str | None = Field(None, description="which mounts the container and the host see of each other")


class Named(BaseModel):
    """A volume or a container: it has a name, the rest is passed on unread."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(min_length=1, description="name of the object")


class Resources(StrictModel):
    """Requests and limits of the workload's container."""

    limits: dict[str, str | int | float] = Field({}, description="most it may use, by resource name")
    requests: dict[str, str | int | float] = Field({}, description="what it asks for, by resource name")
    claims: list[dict[str, Any]] = Field([], description="resource claims it uses")

    @field_validator("limits", "requests")
    @classmethod
    def _quantities(cls, given: dict[str, str | int | float]) -> dict[str, str | int | float]:
        for name, amount in given.items():
            if not _QUANTITY.fullmatch(str(amount)):
                raise ValueError(f"{amount!r} is not a quantity of {name}, e.g. 8, 500m or 800Gi")
        return given


def plain(model: BaseModel) -> dict[str, Any]:
    """A part as plain data, as it was given."""
    return model.model_dump(by_alias=True, exclude_unset=True)
