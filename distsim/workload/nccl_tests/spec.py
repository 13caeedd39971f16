"""The section of the kind `nccl-tests`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from distsim.quantities import Rate, Size, Time
from distsim.workload.base import HostChoice, WorkloadSpec, spelled
from distsim.workload.scale_up import ScaleUpSpec

from .command import parse

MOST_PS = 10**15
Duration = Annotated[Time, Field(ge=0, le=MOST_PS)]
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[ -~]*[!-~][ -~]*$")]


class NcclTestsSpec(WorkloadSpec):
    """What a program of nccl-tests does on simulated ranks, and the log that it prints."""

    kind: Literal["nccl-tests"]
    command: str = Field(
        default="all_reduce_perf -b 8 -e 64M -f 2 -n 1 -w 0",
        description="Command line of a program of nccl-tests 2.19, without mpirun; README.md in "
                    "distsim/workload/nccl_tests says what each option does here.")
    hosts: HostChoice = Field(
        default=None, description="Ranks in order: a number (the first n hosts) or a list of host numbers, at least 2. "
                                  "Default: all.")
    gpus_per_server: Annotated[int, Field(ge=1, le=1024, strict=True)] | None = Field(
        default=None, description="Consecutive ranks that share a server, whose name stands in the log. Default: as in "
                                  "scale_up, without it -t times -g of the command.")
    scale_up: ScaleUpSpec | None = Field(
        default=None, description="Transfers between ranks of a server take this network. Default: none; all take the "
                                  "fabric.")
    algorithm: Annotated[str, Field(min_length=1)] = Field(
        default="auto", description="An algorithm of the collective (collectives/README.md), or auto: for all_reduce "
                                    "the shorter of ring and double-binary-tree, by rate and latency; with scale_up, "
                                    "hierarchical where there is one; else what NCCL has.")
    protocol: Literal["auto", "simple", "ll", "ll128"] = Field(
        default="auto", description="NCCL's protocol. ll puts twice, ll128 16/15 of the data on the wire. auto: the "
                                    "shortest, by rate and latency; smaller chunks are all that ll and ll128 gain, "
                                    "since the GPU's latency is not simulated.")
    rate: Annotated[Rate, Field(gt=0)] | None = Field(
        default=None, description="Rate of a NIC, for the choice of auto; nothing else depends on it. Default: the "
                                  "slowest NIC's.")
    latency: Duration = spelled(
        "500ns", "What a message takes besides its bytes, for the choice of auto; nothing else depends on it.")
    channels: Annotated[int, Field(ge=1, le=64, strict=True)] = Field(
        default=1, description="Parts of the data that go round at once.")
    chunk: Annotated[Size, Field(ge=0)] | None = Field(
        default=None, description="Most bytes of a rank's part of one loop of a channel, 0 for everything at once. "
                                  "Default: NCCL's (a ring's 2 MiB, a chain's 512 KiB, ll 32 KiB, ll128 576,000 B; "
                                  "less in a tree); hierarchical 128 KiB, or 64 KiB for a part below 512 KiB; the "
                                  "algorithm's own for sends and receives.")
    slices: Annotated[int, Field(ge=1, le=64, strict=True)] | None = Field(
        default=None, description="Messages that a chunk is sent in. Default: 2 in a ring's Simple when a rank's "
                                  "part is above 32 KiB, else 1.")
    launch: Duration = spelled(
        "6.6us", "Between the end of a rank's operation and its next one's begin, and before the first: the base "
                 "latency of a ring in NCCL's cost model. Aggregated operations (-m) share one, so do a graph's (-G).")
    barrier: Duration = spelled("10us", "Pause between two measurements, and with -z 1 after each operation.")
    steady: bool = Field(
        default=False, description="Stop simulating larger sizes once the time per byte is steady, and extrapolate: "
                                   "three marginal rates of successive sizes within 1 %. Such rows are marked in "
                                   "{simulation}-nccl-tests-extrapolated.csv and by a comment in the log.")
    steady_from: Annotated[Size, Field(gt=0)] = spelled(
        "8MiB", "Smallest size that counts for `steady`.")
    network: Line = Field(
        default="UET", description="Name in the NCCL INFO lines, Using network ...: what the log's reader reports as "
                                   "transport.")

    @field_validator("command")
    @classmethod
    def _command(cls, line: str) -> str:
        parse(line)
        return line


Spec = NcclTestsSpec
