"""Results as gauges in the Prometheus text format, for a node exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from distsim.errors import InputError

from .status import Result

LABELS = ("namespace", "measurement", "job", "workflow", "nccl_test", "message_size_bytes")


@dataclass(frozen=True, slots=True)
class Series:
    """Labels of one measurement's gauges, and its results."""

    measurement: str
    results: list[Result]
    test_type: str = ""
    namespace: str = ""
    job: str = ""
    workflow: str = ""


def write_gauges(path: str, series: Iterable[Series]) -> None:
    """Write the file at once (a reader never sees half of it); InputError if it cannot be written."""
    from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

    registry = CollectorRegistry()
    algbw = Gauge("nvcre_nccl_algbw_gbs", "Algorithmic bandwidth in GB/s by message size", LABELS, registry=registry)
    busbw = Gauge("nvcre_nccl_busbw_gbs", "Bus bandwidth in GB/s by message size", LABELS, registry=registry)
    for one in series:
        for result in one.results:
            labels = (one.namespace, one.measurement, one.job, one.workflow, one.test_type, str(result.size_bytes))
            algbw.labels(*labels).set(float(result.algbw))
            busbw.labels(*labels).set(float(result.busbw))
    try:
        write_to_textfile(path, registry)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None
