"""Errors as documented: a status code, and a body ``{"error": {"code", "message"}}`` (scala-computing/docs,
api-reference: Error Responses)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from distsim.errors import InputError, RunError

CODES = {
    400: "VALIDATION_ERROR", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED",
    409: "CONFLICT", 412: "PRECONDITION_FAILED", 413: "PAYLOAD_TOO_LARGE", 415: "UNSUPPORTED_MEDIA_TYPE",
    416: "RANGE_NOT_SATISFIABLE", 422: "UNPROCESSABLE_ENTITY", 429: "TOO_MANY_REQUESTS", 500: "INTERNAL_ERROR",
    501: "NOT_IMPLEMENTED", 503: "SERVICE_UNAVAILABLE",
}
MEANINGS = {
    400: "A parameter or the body is not valid", 401: "The token is missing or wrong",
    403: "Not allowed: a link that was altered or has expired, or files outside the runs directory",
    404: "There is no such thing", 409: "Its state does not allow this", 412: "If-Match names another version",
    413: "The request is too large", 415: "The body is not JSON", 416: "The range lies outside the file",
    422: "The configuration is not validated", 429: "As much is going on as the server allows",
    500: "Internal error", 501: "Not possible for this simulation", 503: "The server is busy; try again",
}
log = logging.getLogger("distsim.server")


class ApiError(Exception):
    """An answer other than success. message : one line for a person. more : other fields of the error, a line number
    for instance."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.headers, self.more = status, message, dict(headers or {}), more


def not_found(what: str) -> ApiError:
    """404 for a thing that there is not."""
    return ApiError(404, f"{what} not found")


def body(status: int, message: str, **more: Any) -> dict[str, Any]:
    """The body of an error."""
    return {"error": {"code": CODES.get(status, "ERROR"), "message": message, **more}}


def answer(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> JSONResponse:
    """An error as a response."""
    return JSONResponse(body(status, message, **more), status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Makes every error of an application one of these."""

    @app.exception_handler(ApiError)
    async def _api(_: Request, error: ApiError) -> JSONResponse:
        return answer(error.status, error.message, error.headers, **error.more)

    @app.exception_handler(InputError)
    async def _input(_: Request, error: InputError) -> JSONResponse:
        said = ": ".join(part for part in (error.where, error.message) if part)
        return answer(400, said)

    @app.exception_handler(RunError)
    async def _run(_: Request, error: RunError) -> JSONResponse:
        log.error("%s", error)
        return answer(500, "the run's files cannot be read or written; the server's log says more")

    @app.exception_handler(RequestValidationError)
    async def _request(_: Request, error: RequestValidationError) -> JSONResponse:
        return answer(400, "; ".join(_line(entry) for entry in error.errors()[:5]))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, str(error.detail), error.headers)

    @app.exception_handler(Exception)
    async def _any(_: Request, error: Exception) -> JSONResponse:
        return answer(500, "internal error; the server's log says more")


def _line(entry: Mapping[str, Any]) -> str:
    """What is wrong with a part of a request: ``limit: Input should be ...``."""
    place = [str(key) for key in entry.get("loc", ()) if key not in ("query", "path", "body", "header")]
    said = ("the body is not JSON" if entry.get("type") == "json_invalid" else str(entry.get("msg", "is not valid")))
    return _printable(f"{'.'.join(place)}: {said}" if place else said)


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
