"""What every kind of workload shares: the base of its section, the hosts it names, seeded draws, rows of sends."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import numpy as np
from pydantic import Field

from distsim.errors import InputError
from distsim.quantities import Size, StrictModel, Time
from distsim.workload.types import LOG_MESSAGE, OPS, SEND

MAX_MESSAGE_BYTES = 1 << 40
MAX_START_PS = 10**18
MAX_OPS = 1 << 27
MAX_FLOW_ID = 1 << 53

MessageSize = Annotated[Size, Field(ge=0, le=MAX_MESSAGE_BYTES)]
StartTime = Annotated[Time, Field(ge=0, le=MAX_START_PS)]
HostNumber = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
HostChoice = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] | tuple[HostNumber, ...] | None
SeedOffset = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]


def spelled(default: str, description: str) -> Any:
    """A pydantic field whose default is a quantity written with its unit, e.g. ``1MB``."""
    return Field(default=default, description=description)


class WorkloadSpec(StrictModel):
    """What every kind of workload accepts."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$")] | None = Field(
        default=None, description="Name of a part of `several`, in the names of its job's files: letters, digits, - "
                                  "and _. Default: part-<n>.")
    file: str | None = Field(
        default=None, description="Path of an htsim connection matrix (.cm). When given, its flows replace what the "
                                  "kind would generate.")


@dataclass(frozen=True)
class Context:
    """Where a workload is built.

    hosts : NICs of the fabric, numbered 0 to hosts - 1; seed : of the run; where : path of the section in the
    configuration; part : index among the parts of a `several`, so that two equal parts draw differently; servers :
    `Fabric.servers`, what the topology says of servers with several NICs (nics, rate_bps, latency_ps), None when it
    says nothing; rate_bps : of the slowest NIC's link, 0 when it is not known.
    """

    hosts: int
    seed: int
    where: str = "workload"
    part: int = 0
    servers: Any = None
    rate_bps: int = 0

    def fail(self, field: str, message: str) -> NoReturn:
        """Raise the InputError for a field of this section."""
        raise InputError(message, where=f"{self.where}.{field}")

    def stream(self, kind: str, seed_offset: int) -> np.random.PCG64:
        """The random bits of this section. Only raw bits are used, which no NumPy version or machine changes."""
        return np.random.PCG64(np.random.SeedSequence([self.seed, zlib.crc32(kind.encode()), seed_offset, self.part]))

    def choose_hosts(self, choice: int | Sequence[int] | None, field: str, least: int) -> np.ndarray:
        """The hosts that a HostChoice names, i8[...]: all, the first n, or a list; InputError when they do not exist,
        appear twice or are fewer than `least`."""
        if choice is None or isinstance(choice, int):
            count = self.hosts if choice is None else choice
            if count > self.hosts:
                self.fail(field, f"{count} hosts are more than the {self.hosts} of the fabric")
            chosen = np.arange(count)
        else:
            chosen = np.array(choice, "i8")
            self.check_hosts(chosen, field)
            values, counts = np.unique(chosen, return_counts=True)
            if (counts > 1).any():
                self.fail(field, f"host {values[counts > 1][0]} is listed twice")
        if len(chosen) < least:
            self.fail(field, f"{len(chosen)} host{'s' * (len(chosen) != 1)} given; at least {least} are needed")
        return chosen

    def check_hosts(self, numbers: np.ndarray, field: str) -> None:
        """InputError when one of the host numbers is not in the fabric."""
        bad = numbers[(numbers < 0) | (numbers >= self.hosts)]
        if len(bad):
            self.fail(field, f"unknown host {bad[0]}; the fabric has hosts 0 to {self.hosts - 1}")


def shuffled(stream: np.random.PCG64, count: int) -> np.ndarray:
    """A random order of 0 to count - 1, i8[count]."""
    return np.argsort(stream.random_raw(count), kind="stable")


def sends(src: Any, dst: Any, size_bytes: int, start_ps: Any) -> np.ndarray:
    """OPS[n] of messages that wait for nothing, with ids from 1. `src`, `dst`, `start_ps` : numbers or i8[n]."""
    ops = np.zeros(len(src), OPS)
    ops["user_id"] = np.arange(1, len(src) + 1)
    ops["kind"], ops["host"], ops["dst"] = SEND, src, dst
    ops["size_bytes"], ops["start_ps"], ops["flags"] = size_bytes, start_ps, LOG_MESSAGE
    return ops
