"""The application: routes, bounds, token, errors, the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from distsim import __version__
from distsim.server import errors, metrics
from distsim.server.auth import Guard
from distsim.server.context import Context
from distsim.server.headers import Safe
from distsim.server.limits import Bounds
from distsim.server.settings import Settings

# Modules of this package with a `router`.
ROUTES = ("routes_simulations", "routes_results", "routes_downloads", "routes_configurations", "routes_catalogs",
          "routes_system", "page_routes")
PAGE = Path(__file__).parent / "page"
ABOUT = """Simulations of Ultra Ethernet clusters: start them, follow them, read their records. Paths, fields, filters
and errors are those of scala-computing/docs (api-reference); what is ours is marked so."""
OPEN = ("/healthz", "/api/v1/downloads/")


def create_app(settings: Settings) -> FastAPI:
    """The application over a directory of runs, which it has for itself from now until its shutdown.

    Raises InputError when it cannot have it. An app that is never served: `app.state.context.close()`.
    """
    context = Context(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        context.close()

    app = FastAPI(title="distsim", version=__version__, description=ABOUT, docs_url=None, redoc_url=None,
                  lifespan=lifespan, separate_input_output_schemas=False)
    app.state.context = context
    app.state.metrics = metrics.Metrics(context)
    for name in ROUTES:
        app.include_router(import_module(f"distsim.server.{name}").router)
    errors.install(app)
    # The last one added is the first one asked.
    app.add_middleware(metrics.Counted, metrics=app.state.metrics)
    app.add_middleware(Bounds, most_body=settings.most_body, most_requests=settings.most_requests)
    app.add_middleware(Guard, token=settings.token, host=settings.host)
    app.add_middleware(Safe)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    app.add_api_route("/", _index, include_in_schema=False, response_class=FileResponse)
    app.mount("/assets", StaticFiles(directory=PAGE / "assets"), name="assets")
    return app


def _index() -> FileResponse:
    return FileResponse(PAGE / "index.html")


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once. Errors of parameters are 400 here, so FastAPI's 422 are taken out."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                stated = operation.get("responses", {})
                if "HTTPValidationError" in str(stated.get("422")):
                    del stated["422"]
                if path.startswith(OPEN):
                    operation["security"] = []
        parts = schema.setdefault("components", {})
        for name in ("HTTPValidationError", "ValidationError"):
            parts.get("schemas", {}).pop(name, None)
        parts["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"bearer": []}]
        app.openapi_schema = schema
    return app.openapi_schema
