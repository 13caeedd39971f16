"""What a job does: the workload section of one of its steps, how many there are, what checkpoints and restarts cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.cluster.job_steps import JobSteps
from distsim.cluster.workloads_map import steps_for, workload_for
from distsim.errors import InputError
from distsim.quantities import parse_time
from distsim.scheduler.faults.options import SUBSCRIBE
from distsim.workload.nccl_tests.sizes import bus_factor
from distsim.workload.steps.spec import TrainingSpec
from distsim.workloadrun.traffic import NCCL

from .command import benchmark
from .progress import Plan

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.scheduler.types import Job

TRAINING, COLLECTIVE = "training", "collective"
# Keys of a training that say how it goes on from step to step; a step has none of it.
_OF_ALL_STEPS = ("steps", "startup", "checkpoint", "simulated", "log_interval")
# Sections whose step holds computation that cannot be told apart from what is sent.
_COMPUTING = ("chakra", "goal", "simai")
_BUS_NAMES = {"all_to_all": "alltoall"}


@dataclass(frozen=True)
class Work:
    """section : `workload` of a configuration, one step. plan : the steps. compute_ps : how long a rank computes in a
    step; None: all of a step counts as that."""

    section: dict[str, Any]
    plan: Plan
    compute_ps: int | None = 0

    @property
    def benchmark(self) -> bool:
        """Whether it is a program of nccl-tests, whose log is measured."""
        return bool(self.section["kind"] == NCCL)

    def stretch_ps(self, step_ps: int, factor: float) -> int:
        """What is added to a step when the chips compute `factor` times slower: to its computation."""
        return round((factor - 1) * (step_ps if self.compute_ps is None else self.compute_ps))

    def bus_gbs(self, ranks: int, step_ps: int) -> float | None:
        """Bus bandwidth of a loop of collectives, GB/s as nccl-tests counts it; None for anything else."""
        section = self.section
        if section["kind"] != COLLECTIVE or section.get("collective") == "barrier":
            return None
        from distsim.quantities import parse_size

        members = len(section["groups"][0]) if section.get("groups") else ranks
        name = str(section.get("collective", "all_reduce"))
        size = parse_size(section.get("size", "1MB"))
        if section.get("size_counts") == "member" and name in ("all_gather", "gather"):
            size *= members
        seconds = step_ps / 10**12 / int(section.get("iterations", 1))
        return size / 1e9 / seconds * bus_factor(_BUS_NAMES.get(name, name), members)


def works_of(jobs: Sequence[Job], cluster: Cluster) -> dict[str, Work]:
    """What each job does, by uid; jobs whose keys are invalid (`Job.refusal`) are left out, they never run.

    InputError, naming the job, when neither its command nor the cluster's map `workloads` says what it does.
    """
    return {job.uid: work_of(job, cluster) for job in jobs if job.refusal is None}


def work_of(job: Job, cluster: Cluster) -> Work:
    """What a job does. InputError as `works_of`."""
    line = benchmark(job.command)
    steps = steps_for(job.name, job.image, job.command, cluster.workloads)
    if line is not None:
        section: dict[str, Any] = {"kind": NCCL, "command": line}
    else:
        section = _mapped(job, cluster)
    if steps.inference:
        job.annotations.setdefault(SUBSCRIBE, "on")
    if section["kind"] != TRAINING:
        compute_ps = None if section["kind"] in _COMPUTING else 0
        return Work(section, _plan(steps, {}), compute_ps)
    spec = TrainingSpec.model_validate(section)
    one = {key: value for key, value in section.items() if key not in _OF_ALL_STEPS} | {"steps": 1}
    return Work(one, _plan(steps, section), spec.forward_ps + spec.backward_ps + int(spec.optimizer))


def _mapped(job: Job, cluster: Cluster) -> dict[str, Any]:
    try:
        return workload_for(job.name, job.image, job.command, cluster.workloads)
    except InputError as error:
        raise InputError(error.message, file=job.file or None, line=job.line, where=error.where) from None


def _plan(steps: JobSteps, training: Mapping[str, Any]) -> Plan:
    """The plan of a job: what its key `job` says, else what its training does."""
    saving = training.get("checkpoint") or {}
    startup = parse_time(training.get("startup", 0))
    every, pause = steps.checkpoint_every, steps.checkpoint_time
    if every is None and saving:
        every, pause = int(saving["every"]), parse_time(saving["pause"])
    return Plan(steps.steps or int(training.get("steps", 100 if training else 1)), every, int(pause or 0), startup,
                startup if steps.restart_time is None else int(steps.restart_time))
