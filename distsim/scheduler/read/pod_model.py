"""What the models of pods' templates share: values that may stand there empty, and unknown keys that stay."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _texts(data: Any) -> Any:
    """Labels or annotations: text only, as in Kubernetes; a value of nothing is no value."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        return data
    for key, value in data.items():
        if value is not None and not isinstance(value, str):
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            raise ValueError(f"{key}: {shown} is not text; write it in quotes, e.g. \"{shown}\"")
    return {key: value for key, value in data.items() if value is not None}


def or_nothing(empty: Any) -> BeforeValidator:
    """A key that stands there with nothing behind it."""
    return BeforeValidator(lambda data: empty if data is None else data)


Texts = Annotated[dict[str, str], BeforeValidator(_texts)]
Amounts = Annotated[dict[str, str | int | float], or_nothing({})]
Words = Annotated[tuple[str, ...], or_nothing(())]


class Tolerant(BaseModel):
    """A model that keeps the keys that it does not know."""

    model_config = ConfigDict(extra="allow", frozen=True)
