"""Results as gauges in the Prometheus text format: as text, as a file for a textfile collector, or for a scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError

from .status import Result

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

LABELS = ("namespace", "measurement", "job", "workflow", "nccl_test", "message_size_bytes")
_ALGBW = ("nvcre_nccl_algbw_gbs", "Algorithmic bandwidth in GB/s by message size")
_BUSBW = ("nvcre_nccl_busbw_gbs", "Bus bandwidth in GB/s by message size")


@dataclass(frozen=True, slots=True)
class Series:
    """Labels of one measurement's gauges, and its results."""

    measurement: str
    results: list[Result]
    test_type: str = ""
    namespace: str = ""
    job: str = ""
    workflow: str = ""


class GaugeServer:
    """Gauges for a scrape at ``http://HOST:PORT/metrics``, in a thread, until `close`."""

    def __init__(self, host: str, port: int, source: Callable[[], Iterable[Series]]):
        """Port 0 takes a free one. `source` is asked at every scrape. InputError if the port cannot be had."""
        from prometheus_client import start_http_server

        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=_registry(source))
        except (OSError, OverflowError) as error:
            said = getattr(error, "strerror", None) or error
            raise InputError(f"cannot listen on {host}:{port}: {said}", where="--metrics-port") from None
        self.url = f"http://{host}:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def gauges_text(series: Iterable[Series]) -> str:
    """The gauges as text."""
    from prometheus_client import generate_latest

    held = list(series)
    return generate_latest(_registry(lambda: held)).decode()


def write_gauges(path: str, series: Iterable[Series]) -> None:
    """Write the file at once (a reader never sees half of it); InputError if it cannot be written."""
    from prometheus_client import write_to_textfile

    held = list(series)
    try:
        write_to_textfile(path, _registry(lambda: held))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None


def _registry(source: Callable[[], Iterable[Series]]) -> CollectorRegistry:
    """A registry that asks `source` whenever it is read."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.registry import Collector

    class Gauges(Collector):
        def collect(self) -> Iterable[Any]:
            values = {(one.namespace, one.measurement, one.job, one.workflow, one.test_type, str(result.size_bytes)):
                      (float(result.algbw), float(result.busbw)) for one in source() for result in one.results}
            for at, named in enumerate((_ALGBW, _BUSBW)):
                family = GaugeMetricFamily(*named, labels=LABELS)
                for labels, value in values.items():
                    family.add_metric(labels, value[at])
                yield family

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Gauges())
    return registry
