"""Whether the server is well, and its metrics."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from distsim import __version__
from distsim.server.context import Here
from distsim.server.metrics import CONTENT_TYPE, Metrics
from distsim.server.routes_common import errors

router = APIRouter(tags=["Health"])


@router.get("/healthz", response_model=dict[str, Any])
def healthz(here: Here) -> Any:
    """The server is up."""
    return {"status": "ok", "version": __version__, "uptimeSeconds": round(time.time() - here.started, 3)}


@router.get("/metrics", response_class=PlainTextResponse, responses=errors())
def metrics(request: Request) -> Response:
    """Requests, simulations, bandwidth gauges and scheduler counters in the Prometheus text format."""
    found: Metrics = request.app.state.metrics
    return Response(found.text(), headers={"Content-Type": CONTENT_TYPE})
