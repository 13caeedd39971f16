"""A goodput measurement as gauges in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .status import GoodputStatus

LABELS = ("namespace", "measurement", "job", "workflow")
# Facts: NVIDIA/cluster-readiness-engine, pkg/controller/metrics.go. Name -> (field of the status, help).
GAUGES = {
    "nvcre_goodput_ratio": ("result", "Goodput ratio, 0 to 1"),
    "nvcre_goodput_avg_tflops_per_gpu": ("avgTFLOPSPerGPU", "Mean TFLOP/s of a GPU"),
    "nvcre_goodput_reschedule_time_seconds": ("rescheduleTimeSec", "Time between interruptions and new starts"),
    "nvcre_goodput_resume_time_seconds": ("resumeTimeSec", "Time between starts and first steps"),
    "nvcre_goodput_checkpoint_save_time_seconds": ("checkpointSaveTimeSec", "Time of pauses for checkpoints"),
    "nvcre_goodput_lost_work_time_seconds": ("lostWorkTimeSec", "Time of work that interruptions undid"),
    "nvcre_goodput_training_time_seconds": ("trainingTimeSec", "Time since the job began to run"),
    "nvcre_goodput_warmup_time_seconds": ("warmupTimeSec", "Time of steps that warm up"),
    "nvcre_goodput_non_warmup_time_seconds": ("nonWarmupTimeSec", "Time of the other steps"),
    "nvcre_goodput_avg_step_time_seconds": ("avgStepTimeSec", "Mean time of a step after the warm-up"),
}
OUTCOME = "nvcre_goodput_ratio"                    # what stays when a measurement is complete


def gauges_text(measurement: str, job: str, status: GoodputStatus, namespace: str = "", workflow: str = "") -> str:
    """The gauges of one measurement as text: all that are known while it is provisional, then the ratio only."""
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.registry import Collector

    class Gauges(Collector):
        def collect(self) -> Iterable[Any]:
            for name, (key, said) in GAUGES.items():
                value = status.values.get(key)
                if value is not None and (status.complete is None or name == OUTCOME):
                    family = GaugeMetricFamily(name, said, labels=LABELS)
                    family.add_metric((namespace, measurement, job, workflow), float(value))
                    yield family

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Gauges())
    return generate_latest(registry).decode()
