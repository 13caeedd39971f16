"""The documentation's WorkloadRun, and small changes of it."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from distsim.errors import InputError
from distsim.workloadrun.load import load_workloadrun
from distsim.workloadrun.spec import WorkloadRun

EXAMPLE = """\
apiVersion: nvcre.nvidia.com/v1alpha1
kind: WorkloadRun
metadata:
  name: nccl-all-reduce
spec:
  image: nvcr.io/nvidia/pytorch:26.01-py3
  framework:
    mpi:
      binary: /usr/local/bin/all_reduce_perf_mpi
      args: ["-b", "8", "-e", "32G", "-f", "2", "-n", "100"]
      mpirunPath: /usr/local/mpi/bin/mpirun
  numNodes: 4   # nodes per job group; all eligible nodes are partitioned into 4-node
                # jobs. For a single 4-node job, add orchestration.placement: Unpinned
  gangScheduler:
    schedulerName: kai-scheduler
    queue: high-priority
    # On a Run:ai cluster instead:
    #   schedulerName: runai-scheduler
    #   queueLabelKey: runai/queue
    #   queue: team-a   # must name an existing Run:ai queue
  target:
    nodeSelector:
      nvidia.com/gpu.present: "true"
  bandwidthMeasurement:
    logProfileRef: nccl-bandwidth
    testType: all_reduce
  goodputMeasurement:
    logProfileRef: megatron-training
"""
MINIMAL = """\
apiVersion: nvcre.nvidia.com/v1alpha1
kind: WorkloadRun
metadata: {name: least}
spec:
  image: trainer:1
  framework: {exec: {command: [sleep, "1"]}}
  numNodes: 2
"""


def text_of(spec: dict[str, Any], base: str = MINIMAL) -> str:
    """A run's text whose spec has other values; None takes a key out."""
    document = yaml.safe_load(base)
    document["spec"] = {key: value for key, value in {**document["spec"], **spec}.items() if value is not None}
    return yaml.safe_dump(document, sort_keys=False)


def with_overrides(overrides: str, base: str = EXAMPLE) -> str:
    """The base with a list of overrides, written without indentation."""
    return base + "  overrides:\n" + textwrap.indent(textwrap.dedent(overrides).strip("\n") + "\n", "    ")


def load(tmp_path: Path, text: str) -> WorkloadRun:
    """The run of a text."""
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return load_workloadrun(str(path))


def refused(tmp_path: Path, text: str) -> InputError:
    """The error of a text that is refused."""
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)
    return caught.value
