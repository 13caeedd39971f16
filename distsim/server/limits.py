"""Bounds: bytes of a request (413), requests at once (503), work that waits for its turn (503)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distsim.server.errors import ApiError, answer

RETRY = {"Retry-After": "5"}
ALWAYS = ("/healthz",)


class Bounds:
    """ASGI middleware. most_body : bytes; most_requests : answered at once."""

    def __init__(self, app: ASGIApp, most_body: int, most_requests: int) -> None:
        self._app, self._most_body, self._most_requests = app, most_body, most_requests
        self.inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["path"] in ALWAYS:
            await self._app(scope, receive, send)
            return
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not length.isdigit() or int(length[:20]) > self._most_body:
            await answer(413, self._too_large, {"Connection": "close"})(scope, receive, send)
            return
        if self.inside >= self._most_requests:
            await answer(503, f"{self._most_requests} requests are being answered; try again", RETRY)(
                scope, receive, send)
            return
        self.inside += 1
        try:
            await self._app(scope, self._counted(receive), send)
        finally:
            self.inside -= 1

    @property
    def _too_large(self) -> str:
        return f"the request is too large; at most {self._most_body:,} bytes"

    def _counted(self, receive: Receive) -> Receive:
        """The same, ending with 413 when more arrives than is allowed."""
        arrived = 0

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > self._most_body:
                raise HTTPException(413, self._too_large)
            return message

        return counted


class Turns:
    """So many at once; the next ones wait `patience_s` at most and are then answered 503."""

    def __init__(self, count: int, patience_s: float, what: str) -> None:
        self._turns, self._patience_s, self._what = threading.BoundedSemaphore(count), patience_s, what

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """For the time of a `with`."""
        if not self._turns.acquire(timeout=self._patience_s):
            raise ApiError(503, f"the server is busy {self._what}; try again", RETRY)
        try:
            yield
        finally:
            self._turns.release()
