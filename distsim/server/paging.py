"""Pages of a list: opaque cursors that go on after an item, and the documented `pagination` object."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from distsim.server.errors import ApiError

T = TypeVar("T")
MOST = 100
MOST_CURSOR = 2048


def cursor_of(values: dict[str, Any]) -> str:
    """An opaque token of JSON values."""
    return base64.urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(token: str | None, kind: str, **kinds: type) -> dict[str, Any]:
    """The values in a token that `cursor_of` made, {} for none. kind : of the list; kinds : name -> type of each value.
    400 when it is another's or was altered."""
    if token is None:
        return {}
    try:
        if len(token) > MOST_CURSOR:
            raise ValueError
        values = json.loads(base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        values = None
    wanted = {"of": str, **kinds}
    if (not isinstance(values, dict) or set(values) != set(wanted) or values["of"] != kind
            or any(not isinstance(values[name], wanted[name]) for name in wanted)):
        raise ApiError(400, "Invalid pagination cursor: take `next` from nextCursor of the page before")
    return values


def page(items: Iterable[T], limit: int, token: str | None, kind: str, key: Callable[[T], list[Any]],
         order: str = "", descending: bool = False) -> tuple[list[T], dict[str, Any]]:
    """One page of a list, sorted by `key`, and its `pagination`.

    key : JSON values of an item, the last one unique. The page begins behind the cursor's item, also when that one is
    gone. order : of the list; a cursor belongs to one order (scala-computing/docs, api-changelog: sort).
    """
    keyed = sorted(((key(item), item) for item in items), key=lambda pair: pair[0], reverse=descending)
    given = read_cursor(token, kind, order=str, key=list)
    if given:
        if given["order"] != order:
            raise ApiError(400, "Invalid pagination cursor: it belongs to another sort; start again without next")
        keyed = _behind(keyed, given["key"], descending)
    more = len(keyed) > limit
    pagination: dict[str, Any] = {"count": min(len(keyed), limit), "hasMore": more}
    if more:
        pagination["nextCursor"] = cursor_of({"of": kind, "order": order, "key": keyed[limit - 1][0]})
    return [item for _, item in keyed[:limit]], pagination


def _behind(keyed: list[tuple[list[Any], T]], last: list[Any], descending: bool) -> list[tuple[list[Any], T]]:
    """The items whose keys come after one."""
    if keyed and [type(value) for value in keyed[0][0]] != [type(value) for value in last]:
        raise ApiError(400, "Invalid pagination cursor: take `next` from nextCursor of the page before")
    return [pair for pair in keyed if (pair[0] < last if descending else pair[0] > last)]
