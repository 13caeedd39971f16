"""How the workload is started: torch, mpi or exec; the trainer's command line of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from pydantic import Field, model_validator

from distsim.quantities import StrictModel

KINDS = ("torch", "mpi", "exec")
LONGEST_S = 3600                                    # an mpirun is ended after this time
Command = tuple[list[str], list[str]]               # command, arguments


class TorchFramework(StrictModel):
    """Distributed training by torchrun."""

    script: str | None = Field(None, min_length=1, description="file to run; this or module")
    module: str | None = Field(None, min_length=1, description="Python module to run; this or script")
    args: list[str] = Field([], description="arguments of the script or module")

    @model_validator(mode="after")
    def _one(self) -> TorchFramework:
        if self.script is not None and self.module is not None:
            raise ValueError("script and module are mutually exclusive")
        if self.script is None and self.module is None:
            raise ValueError("either script or module must be set")
        return self


class MPIFramework(StrictModel):
    """A program under mpirun, e.g. one of nccl-tests."""

    binary: str = Field(min_length=1, description="program to run, e.g. /usr/local/bin/all_reduce_perf_mpi")
    args: list[str] = Field([], description="arguments of the program")
    mpiArgs: list[str] = Field([], description="further arguments of mpirun")
    mpiImplementation: str = Field("OpenMPI", min_length=1, description="MPI implementation")
    mpirunPath: str = Field(min_length=1, description="path of mpirun in the image")


class ExecFramework(StrictModel):
    """A command as it stands."""

    command: list[str] = Field(min_length=1, description="the command's words")
    args: list[str] = Field([], description="arguments of the command")


class Framework(StrictModel):
    """Exactly one of torch, mpi and exec."""

    torch: TorchFramework | None = Field(None, description="training by torchrun")
    mpi: MPIFramework | None = Field(None, description="a program under mpirun")
    exec: ExecFramework | None = Field(None, description="any command")

    @model_validator(mode="before")
    @classmethod
    def _exactly_one(cls, data: Any) -> Any:
        if isinstance(data, dict):
            given = [kind for kind in KINDS if data.get(kind) is not None]
            if len(given) != 1 and set(data) <= set(KINDS):
                found = f"found {' and '.join(given)}" if given else "found none"
                raise ValueError(f"exactly one of {', '.join(KINDS)} must be set; {found}")
        return data

    @property
    def kind(self) -> str:
        """Which of the three it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)


def trainer_command(framework: Framework, gpus_per_node: int, multi_node_nvlink: bool) -> Command:
    """The trainer's command and arguments; mpirun starts `gpus_per_node` ranks on every node."""
    if framework.torch is not None:
        torch = framework.torch
        program = [torch.script] if torch.script is not None else ["-m", str(torch.module)]
        return ["torchrun"], [*program, *torch.args]
    if framework.mpi is not None:
        mpi = framework.mpi
        options = ["-N", str(gpus_per_node), "--allow-run-as-root",
                   "--mca", "plm_rsh_args", "-o StrictHostKeyChecking=no -o ConnectionAttempts=10",
                   "-x", "NCCL_DEBUG=INFO", "-x", f"NCCL_MNNVL_ENABLE={int(multi_node_nvlink)}"]
        return ["timeout", str(LONGEST_S), mpi.mpirunPath], [*options, *mpi.mpiArgs, mpi.binary, *mpi.args]
    assert framework.exec is not None
    return list(framework.exec.command), list(framework.exec.args)


def benchmark_words(command: Sequence[str], args: Sequence[str]) -> list[str] | None:
    """The command line from an nccl-tests program on, None if none is started; overrides may have changed it."""
    words = [*command, *args]
    for index, word in enumerate(words):
        name = PurePosixPath(word).name
        if not word.startswith("-") and (name.endswith("_perf") or "_perf_" in name) and " " not in word:
            return words[index:]
    return None
