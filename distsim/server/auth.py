"""Who may ask: the bearer token, and on loopback without one only requests that no foreign web page can have sent."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from distsim.server.errors import answer
from distsim.server.links import PREFIX

NEEDS_TOKEN = ("/api/", "/metrics")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="distsim"'}


class Guard:
    """Lets a request through, or answers 401 or 403.

    With a token: everything under /api and /metrics needs it, signed download links excepted, which carry their own
    proof. Without one (loopback only): any token is accepted, the Host must be a loopback name and a request that
    changes something must not come from another site's page (names that are made to resolve to 127.0.0.1, forms).
    """

    def __init__(self, app: ASGIApp, token: str, host: str) -> None:
        self._app, self._host = app, host.lower()
        self._digest = _digest(token) if token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (self._app if refusal is None else refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Any:
        headers = Headers(scope=scope)
        path: str = scope["path"]
        if self._digest is not None:
            if not path.startswith(NEEDS_TOKEN) or path.startswith(f"{PREFIX}/") or self._is_right(headers):
                return None
            return answer(401, "Invalid or missing authentication token", CHALLENGE)
        if not self._is_ours(headers.get("host", "")):
            return answer(403, "the Host of this request is not this server; without a token only loopback names are")
        if scope["method"] in UNSAFE and not _same_site(headers):
            return answer(403, "this request comes from another site's page")
        return None

    def _is_right(self, headers: Mapping[str, str]) -> bool:
        """Whether the token is the right one, in a time that does not depend on it: digests are compared, all of
        them."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        assert self._digest is not None
        return hmac.compare_digest(_digest(given.strip()), self._digest) and scheme.lower() == "bearer"

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        return name in ("localhost", self._host) or is_loopback(name)


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.rpartition(":")[0] if name.count(":") == 1 else name


def is_loopback(address: str) -> bool:
    """Whether a text is an address of this machine alone."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _same_site(headers: Mapping[str, str]) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2].lower() == headers.get("host", "").strip().lower()
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
