"""What routes share: parameters, documented errors, the base of links."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Header, Query, Request

from distsim.server.errors import MEANINGS, ApiError
from distsim.server.models import ErrorBody
from distsim.server.paging import MOST, MOST_CURSOR

API = "/api/v1"
ALWAYS = (400, 401, 403, 413, 500, 503)
Limit = Annotated[int, Query(ge=1, le=MOST, description=f"Items of a page, at most {MOST}.")]
Next = Annotated[str | None, Query(alias="next", max_length=MOST_CURSOR,
                                   description="nextCursor of the page before.")]
Workspace = Annotated[str | None, Query(alias="workspaceId", description="There is one workspace, workspace_default.")]
Search = Annotated[str | None, Query(max_length=100, description="Part of the name, upper and lower case alike.")]
After = Annotated[str | None, Query(alias="createdAfter", description="ISO 8601, inclusive.")]
Before = Annotated[str | None, Query(alias="createdBefore", description="ISO 8601, exclusive.")]
IfMatch = Annotated[str | None, Header(alias="If-Match", description='ETag: the version in quotes, e.g. "4".')]
_TAG = re.compile(r'"v?(\d{1,9})"')


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer, besides those that all may, for the OpenAPI document."""
    return {code: {"model": ErrorBody, "description": MEANINGS[code]} for code in sorted({*ALWAYS, *codes})}


def base_of(request: Request) -> str:
    """Scheme and host by which the client reached the server."""
    return str(request.base_url)


def check_match(given: str | None, version: int) -> None:
    """412 when If-Match names other versions; nothing for none and for ``*``. 400 when it is no ETag."""
    if given is None or given.strip() == "*":
        return
    matches = [_TAG.fullmatch(tag.strip()) for tag in given.split(",")]
    if not all(matches):
        raise ApiError(400, 'If-Match: not an ETag; it is the version in quotes, e.g. "4"')
    if version not in [int(match[1]) for match in matches if match]:
        raise ApiError(412, f'the configuration is at version {version} (ETag "{version}")')
