"""Files of jobs for the tests of distsim.scheduler.read."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from distsim.scheduler.read import read_jobs
from distsim.scheduler.types import Job


def container(chips: str = "huawei.com/Ascend910: 8", limits: str | None = None, more: str = "") -> str:
    """A container of a pod's spec. limits : as chips unless given."""
    limits = chips if limits is None else limits
    return dedent(f"""\
        containers:
        - name: main
          image: torch:1
          command: [/bin/bash, -c]
          args: ["train.sh"]
          resources:
            requests: {{{chips}}}
            limits: {{{limits}}}
        """) + more


def volcano(spec: str = "", metadata: str = "", replicas: int = 2, template: str = "", pod: str | None = None,
            name: str = "train", task: str = "worker") -> str:
    """A VolcanoJob of one task. spec, metadata, template : further lines there. pod : the pod's spec."""
    return "\n".join([
        "apiVersion: batch.volcano.sh/v1alpha1", "kind: Job", "metadata:", f"  name: {name}",
        indent(dedent(metadata), "  "), "spec:", indent(dedent(spec), "  "), "  tasks:",
        f"  - name: {task}", f"    replicas: {replicas}",
        "    template:", indent(dedent(template), "      "), "      spec:",
        indent(pod if pod is not None else container(), "        ")])


def ascend(worker: int = 3, run: str = "", metadata: str = "", master_template: str = "") -> str:
    """An AscendJob, Worker before Master in the file."""
    return "\n".join([
        "apiVersion: mindxdl.gitee.com/v1", "kind: AscendJob", "metadata:", "  name: acjob",
        indent(dedent(metadata), "  "), "spec:", indent(dedent(run), "  "), "  replicaSpecs:",
        "    Worker:", f"      replicas: {worker}", "      template:", "        spec:",
        indent(container(), "          "), "    Master:", "      replicas: 1", "      template:",
        indent(dedent(master_template), "        "),
        "        spec:", indent(container(), "          ")])


def write(tmp_path: Path, text: str, name: str = "job.yaml") -> str:
    """A file of this text; its path."""
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def jobs_of(tmp_path: Path, text: str) -> tuple[list[Job], list[str]]:
    """Jobs and lines of a file of this text."""
    return read_jobs([write(tmp_path, text)])


def job_of(tmp_path: Path, text: str) -> Job:
    """The one job of a file of this text."""
    (job,), _ = jobs_of(tmp_path, text)
    return job
