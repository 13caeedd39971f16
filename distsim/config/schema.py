"""The JSON Schema of a configuration, for editors (`distsim validate --schema`)."""

from __future__ import annotations

from typing import Any

from .root import root_model

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the whole file: descriptions, defaults, ranges; ``acts`` says what a setting does."""
    return {"$schema": DIALECT, **root_model().model_json_schema(by_alias=True)}
