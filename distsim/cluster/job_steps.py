"""How long a job goes on and what saving it costs: the key `job` beside a workload of a cluster file."""

from __future__ import annotations

from pydantic import Field, model_validator

from distsim.quantities import StrictModel, Time

KEY = "job"
LONGEST_PS = 10**18
MOST_STEPS = 10**9


class JobSteps(StrictModel):
    """How often a job does its workload, and what checkpoints and restarts cost it. A step is one execution of the
    workload's section: a step of a `training`, one traversal of a trace, one loop of collectives, one command."""

    steps: int | None = Field(
        None, ge=1, le=MOST_STEPS, strict=True,
        description="Steps of the job in all. Default: those of a `training`, else 1.")
    checkpoint_every: int | None = Field(
        None, ge=1, le=MOST_STEPS, strict=True,
        description="Steps between two checkpoints. Default: as a `training` says, else there are none, and a job that "
                    "is interrupted begins anew.")
    checkpoint_time: Time | None = Field(
        None, ge=0, le=LONGEST_PS,
        description="How long the job pauses for a checkpoint. Default: as a `training` says, else 0s.")
    restart_time: Time | None = Field(
        None, ge=0, le=LONGEST_PS,
        description="From the start of the pods after an interruption to the first step: processes start, the "
                    "checkpoint is loaded. Default: `startup` of a `training`, else 0s.")
    inference: bool = Field(
        False, strict=True,
        description="Whether it serves requests and subscribes to faults: RestartRequest of up to 60 s leaves it be.")

    @model_validator(mode="after")
    def _time_of_something(self) -> JobSteps:
        if self.checkpoint_time and self.checkpoint_every is None:
            raise ValueError("checkpoint_time stands without checkpoint_every; give both")
        return self
