"""The section of the kind `training`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from distsim.quantities import Size, StrictModel, Time
from distsim.workload.base import MAX_MESSAGE_BYTES, MAX_START_PS, spelled
from distsim.workload.replay import ReplaySpec

Duration = Annotated[Time, Field(ge=0, le=MAX_START_PS)]
Data = Annotated[Size, Field(ge=0, le=MAX_MESSAGE_BYTES)]
Count = Annotated[int, Field(ge=1, le=2**20, strict=True)]
Path = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


class CheckpointSpec(StrictModel):
    """Pauses in which all ranks save a checkpoint."""

    every: Count = Field(description="Steps between two checkpoints.")
    pause: Duration = Field(description="How long all ranks pause; the write that goes on beside training is not "
                                        "simulated.")
    path: Path = Field(default="/checkpoints", description="Folder, as the log names it.")


class TrainingSpec(ReplaySpec):
    """A trainer: every rank does the same steps of forward, backward, gradient collectives and optimizer."""

    kind: Literal["training"]
    steps: Annotated[int, Field(ge=1, le=10**7, strict=True)] = Field(
        default=100, description="Steps. The log profile megatron-training reads every tenth, and takes the first of "
                                 "those for the warm-up.")
    compute: Duration | None = Field(
        default=None, description="Compute time of a step, of which a third is forward and two thirds are backward. "
                                  "Either this, or forward and backward.")
    forward: Duration | None = Field(default=None, description="Compute time of the forward pass of a step.")
    backward: Duration | None = Field(default=None, description="Compute time of the backward pass of a step.")
    optimizer: Duration = spelled("0s", "Time of the optimizer at the end of a step, after all gradients.")
    layers: Annotated[int, Field(ge=1, le=4096, strict=True)] = Field(
        default=1, description="Parts into which either pass is cut; tensor and expert collectives follow each part, "
                               "and gradients leave after the parts that made them.")
    gradients: Data = Field(description="Gradients of a rank, summed over its data-parallel group.")
    gradient_sync: Literal["all_reduce", "reduce_scatter"] = Field(
        default="all_reduce", description="all_reduce, or reduce_scatter and, after the optimizer, an all_gather of "
                                          "parameters (a distributed optimizer).")
    parameters: Data | None = Field(
        default=None, description="What the all_gather after the optimizer brings to each rank in all. Default: as "
                                  "much as `gradients`.")
    buckets: Annotated[int, Field(ge=1, le=4096, strict=True)] = Field(
        default=1, description="Collectives into which gradients and parameters are cut.")
    overlap: bool = Field(
        default=True, description="A bucket's collective starts as soon as the backward pass has made its gradients, "
                                  "beside the rest of that pass; otherwise all start when the pass is over.")
    tensor_parallel: Count = Field(default=1, description="Neighbouring ranks that share a model's layers.")
    tensor_size: Data = spelled("0B", "all_reduce among them after each part of a pass; 0: none.")
    expert_parallel: Count = Field(default=1, description="Ranks (of different tensor groups) that share the experts.")
    expert_size: Data = spelled("0B", "What a rank gives into the all_to_all among them after each part of a pass; 0: "
                                      "none.")
    flops: Annotated[float, Field(ge=0, le=1e24, allow_inf_nan=False)] = Field(
        default=0.0, description="Floating-point operations of a GPU in a step, for the log's TFLOP/s/GPU; 0: not "
                                 "known, the log says 0.0.")
    global_batch: Count = Field(default=1, description="Samples of a step, for the log.")
    startup: Duration = spelled("0s", "From the job's start to that of the first step: loading, initialization.")
    log_interval: Count = Field(
        default=10, description="Steps a line of the log; the first step has a line too. All ranks wait for each other "
                                "at a line, as Megatron-LM's interval timer makes them.")
    checkpoint: CheckpointSpec | None = Field(default=None, description="Checkpoints. Default: none.")
    simulated: Count | None = Field(
        default=None, description="Only so many first steps are simulated; each later one takes as long as the last "
                                  "of them, which the log and {simulation}-training-steps.csv say. Default: all.")
    algorithms: dict[Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"], str] = Field(
        default={}, description="Algorithm of a collective by its name, e.g. {all_reduce: ring}. Default: hierarchical "
                                "for gradients and parameters on whole servers without tensor and expert parallelism, "
                                "else the first of each in collectives/README.md.")
    channels: Annotated[int, Field(ge=1, le=1024, strict=True)] = Field(
        default=1, description="Parts of the data that go round at once, 1 to 1024.")
    chunk: Annotated[Size, Field(ge=0)] | None = Field(
        default=None, description="Most bytes of a rank's part of one loop of a channel; 0: everything at once. "
                                  "Default: 128 KiB when a collective is hierarchical, else 0.")
    slices: Annotated[int, Field(ge=1, le=1024, strict=True)] = Field(
        default=1, description="Messages that a chunk is sent in, 1 to 1024.")
    server: Count | None = Field(
        default=None, description="Consecutive members of a group that make a server, for hierarchical. Default: the "
                                  "ranks of a server of scale_up, else 1.")

    @model_validator(mode="after")
    def _one_compute_time(self) -> TrainingSpec:
        if self.file is not None:
            raise ValueError("file: a training reads no file; to replay a trace use the kind chakra")
        halves = (self.forward, self.backward)
        if self.compute is not None and halves != (None, None):
            raise ValueError("compute stands beside forward or backward; give compute, or forward and backward")
        if self.compute is None and None in halves:
            raise ValueError("give compute, or forward and backward (times such as 20ms)")
        if self.gradient_sync == "all_reduce" and self.parameters is not None:
            raise ValueError("parameters: only with gradient_sync: reduce_scatter")
        return self

    @property
    def forward_ps(self) -> int:
        """Compute time of the forward pass."""
        return int(self.forward) if self.forward is not None else int(self.compute or 0) // 3

    @property
    def backward_ps(self) -> int:
        """Compute time of the backward pass."""
        return int(self.backward) if self.backward is not None else int(self.compute or 0) - self.forward_ps


Spec = TrainingSpec
