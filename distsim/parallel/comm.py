"""Communicators: MPI under mpirun, or one process without it. Control messages are msgpack."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import msgpack
import numpy as np

from ..errors import DistsimError, InputError, RunError

# Set by the launchers in every process they start.
LAUNCH_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")


def launched_ranks() -> int:
    """Number of ranks that an MPI launcher started, 1 without one."""
    for name in LAUNCH_VARIABLES:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 1


class Serial:
    """One process: every collective is the identity."""

    rank, size = 0, 1

    def barrier(self) -> None:
        """Nothing to wait for."""

    def gather(self, value: Any) -> list[Any] | None:
        """[value]."""
        return [value]

    def share(self, value: Any) -> Any:
        """`value` of rank 0, on every rank."""
        return value

    def everyone(self, value: Any) -> list[Any]:
        """[value]."""
        return [value]

    def agree(self, error: DistsimError | None) -> None:
        """Raise the first rank's error on every rank."""
        if error is not None:
            raise error

    def exchange(self, head: np.ndarray, send: np.ndarray, counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Nothing crosses."""
        return head.reshape(1, -1), send[:0]

    def abort(self, code: int) -> NoReturn:
        """End the process."""
        sys.exit(code)


class Mpi:
    """The ranks of an mpirun. Everyone makes the same calls in the same order."""

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise RunError(f"started by an MPI launcher with {launched_ranks()} processes, but mpi4py cannot be "
                           f"imported ({error}); install distsim-uet[mpi]") from error
        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.rank: int = self._world.Get_rank()
        self.size: int = self._world.Get_size()

    def barrier(self) -> None:
        """Wait for every rank."""
        self._world.Barrier()

    def gather(self, value: Any) -> list[Any] | None:
        """The values of all ranks on rank 0, None elsewhere."""
        packed = msgpack.packb(value)
        sizes = self._world.gather(len(packed))
        if self.rank != 0:
            self._world.Gatherv([np.frombuffer(packed, "u1"), self._mpi.BYTE], None)
            return None
        assert sizes is not None
        everything = np.empty(sum(sizes), "u1")
        self._world.Gatherv([np.frombuffer(packed, "u1"), self._mpi.BYTE], [everything, sizes, None, self._mpi.BYTE])
        ends = np.cumsum(sizes)
        return [msgpack.unpackb(everything[end - size:end].tobytes()) for size, end in zip(sizes, ends, strict=True)]

    def share(self, value: Any) -> Any:
        """`value` of rank 0, on every rank."""
        packed = self._world.bcast(msgpack.packb(value) if self.rank == 0 else None)
        return msgpack.unpackb(packed)

    def everyone(self, value: Any) -> list[Any]:
        """The values of all ranks, on every rank."""
        return [msgpack.unpackb(packed) for packed in self._world.allgather(msgpack.packb(value))]

    def agree(self, error: DistsimError | None) -> None:
        """Raise the first rank's error on every rank, so that all end alike."""
        mine = None if error is None else (str(error), error.exit_code)
        first = next((found for found in self._world.allgather(mine) if found is not None), None)
        if first is None:
            return
        if error is not None and mine == first:
            raise error
        raised = InputError(first[0]) if first[1] == InputError.exit_code else RunError(first[0])
        raise raised

    def exchange(self, head: np.ndarray, send: np.ndarray, counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Swap a head of a few int64 and packet records with every rank.

        head : i8[k], sent to all, its first entry replaced by the number of records for that rank. send : PACKET rows
        by destination rank; counts : rows for each. Returns (heads i8[ranks, k], received PACKET rows), by source.
        """
        heads = np.tile(head, (self.size, 1))
        heads[:, 0] = counts
        got = np.empty_like(heads)
        self._world.Alltoall([heads, self._mpi.INT64_T], [got, self._mpi.INT64_T])
        width = send.dtype.itemsize
        received = np.empty(int(got[:, 0].sum()), send.dtype)
        sizes_in = (got[:, 0] * width).tolist()
        sizes_out = [count * width for count in counts]
        if got[:, 1].any():      # some rank sends something: the collective is everyone's
            self._world.Alltoallv([send.view("u1"), sizes_out, _starts(sizes_out), self._mpi.BYTE],
                                  [received.view("u1"), sizes_in, _starts(sizes_in), self._mpi.BYTE])
        return got, received

    def abort(self, code: int) -> NoReturn:
        """End every rank."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._world.Abort(code)
        raise SystemExit(code)


def _starts(sizes: Sequence[int]) -> list[int]:
    """Offset of each part."""
    return [0, *np.cumsum(sizes)[:-1].tolist()]


Communicator = Serial | Mpi


def world() -> Communicator:
    """The communicator of this launch. RunError when a launcher started several processes and mpi4py is missing."""
    return Mpi() if launched_ranks() > 1 else Serial()
