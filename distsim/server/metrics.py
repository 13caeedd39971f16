"""Prometheus metrics of the server: requests, simulations, what the runs measured and scheduled."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from distsim import __version__
from distsim.server.metrics_files import bandwidth_families, schedule_families
from distsim.server.simulations import STATUSES

if TYPE_CHECKING:
    from distsim.server.context import Context

CONTENT_TYPE = CONTENT_TYPE_LATEST
disable_created_metrics()  # a series more for each one
BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0)


class Metrics:
    """The registry of one server."""

    def __init__(self, context: Context) -> None:
        self._registry = registry = CollectorRegistry(auto_describe=False)
        self.requests = Counter("distsim_http_requests", "Requests answered", ["method", "route", "status"],
                                registry=registry)
        self.seconds = Histogram("distsim_http_request_seconds", "Time to answer, to the end of the body", ["route"],
                                 buckets=BUCKETS, registry=registry)
        self.inside = Gauge("distsim_http_requests_in_progress", "Requests being answered", registry=registry)
        Gauge("distsim_server_info", "The server's version", ["version"], registry=registry).labels(__version__).set(1)
        Gauge("distsim_server_start_time_seconds", "When the server started, seconds since the epoch",
              registry=registry).set(context.started)
        registry.register(_Runs(context))

    def text(self) -> bytes:
        """All of them in the Prometheus text format."""
        return generate_latest(self._registry)


class _Runs(Collector):
    """What is read of the runs directory at every scrape."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterable[Any]:
        """Families of metrics."""
        found = self._context.simulations.all()
        states = GaugeMetricFamily("distsim_simulations", "Simulations in the runs directory", labels=["status"])
        for status in STATUSES:
            states.add_metric([status], sum(one.status == status for one in found))
        yield states
        yield from self._live([one for one in found if one.live])
        top = self._context.settings.runs_dir
        yield from bandwidth_families(found, top)
        yield from schedule_families(found, top)

    def _live(self, live: list[Any]) -> Iterable[Any]:
        """How far the simulations in progress have come."""
        labels = ["simulation", "name"]
        simulated = GaugeMetricFamily("distsim_simulation_simulated_seconds", "Simulation time reached", labels=labels)
        events = GaugeMetricFamily("distsim_simulation_events_per_second", "Events a second of late", labels=labels)
        flows = GaugeMetricFamily("distsim_simulation_flows", "Flows by whether they have finished",
                                  labels=[*labels, "state"])
        for one in live:
            reached = self._context.jobs.log(one.id).reached() if one.job is not None else None
            if reached is not None:
                key = [one.id, one.name]
                simulated.add_metric(key, reached.simulated_s)
                events.add_metric(key, reached.events_per_s)
                flows.add_metric([*key, "finished"], reached.flows_done)
                flows.add_metric([*key, "unfinished"], reached.flows_total - reached.flows_done)
        return simulated, events, flows


class Counted:
    """ASGI middleware: counts requests by the path of their route, so that ids do not make series of their own."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = time.perf_counter()
        with self._metrics.inside.track_inprogress():
            try:
                await self._app(scope, receive, sending)
            finally:
                route = getattr(scope.get("route"), "path", "page")
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._metrics.requests.labels(method, route, str(status)).inc()
                self._metrics.seconds.labels(route).observe(time.perf_counter() - began)


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
