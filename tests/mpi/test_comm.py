"""The communicator's collectives, and a run, inside a real mpirun: `mpirun -n 2 pytest --with-mpi tests/mpi`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distsim.config import from_dict
from distsim.engine import run_config
from distsim.errors import InputError, RunError
from distsim.parallel.comm import Mpi, launched_ranks, world
from distsim.state.tables import PACKET

pytestmark = pytest.mark.mpi(min_size=2)


def test_world_is_mpi_under_a_launcher():
    comm = world()
    assert isinstance(comm, Mpi)
    assert comm.size == launched_ranks() >= 2


def test_gather_and_share_carry_plain_data():
    comm = Mpi()
    mine = {"rank": comm.rank, "bytes": b"\0\1" * comm.rank, "list": [1.5, None, "x" * 100_000 * comm.rank]}
    found = comm.gather(mine)
    if comm.rank == 0:
        assert [row["rank"] for row in found] == list(range(comm.size))
        assert len(found[1]["list"][2]) == 100_000 and found[1]["bytes"] == b"\0\1"
    else:
        assert found is None
    assert comm.share({"from": comm.rank}) == {"from": 0}


def test_an_error_of_one_rank_becomes_everyone_s():
    comm = Mpi()
    comm.agree(None)
    last = comm.size - 1
    mine = InputError("no such host", file="a.cm", line=3) if comm.rank == last else None
    with pytest.raises(InputError, match=r"a\.cm:3: no such host"):
        comm.agree(mine)
    with pytest.raises(RunError, match="disk full"):
        comm.agree(RunError("disk full") if comm.rank == 0 else None)


def test_exchange_sends_every_rank_its_own_rows():
    comm = Mpi()
    counts = [3 * comm.rank + to for to in range(comm.size)]
    send = np.zeros(sum(counts), PACKET)
    send["src"] = comm.rank
    send["dst"] = np.repeat(np.arange(comm.size), counts)
    send["time_ps"] = np.arange(len(send)) + (1 << 50)
    heads, got = comm.exchange(np.array([0, len(send), 100 + comm.rank, 0], "i8"), send, counts)
    assert heads[:, 0].tolist() == [3 * source + comm.rank for source in range(comm.size)]
    assert heads[:, 2].tolist() == [100 + source for source in range(comm.size)]
    assert (got["dst"] == comm.rank).all()
    assert got["src"].tolist() == np.repeat(np.arange(comm.size), heads[:, 0]).tolist()
    assert (got["time_ps"] >= 1 << 50).all()


def test_exchange_of_nothing():
    comm = Mpi()
    heads, got = comm.exchange(np.array([0, 0, 7, 2 * comm.rank], "i8"), np.zeros(0, PACKET), [0] * comm.size)
    assert len(got) == 0 and heads[:, 3].max() == 2 * (comm.size - 1)


def test_a_run_inside_mpirun_writes_a_shard_a_rank(tmp_path_factory):
    comm = Mpi()
    folder = Path(comm.share(str(tmp_path_factory.mktemp("run"))))
    fabric = {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 2, "spines": 1}
    config = from_dict({"simulation": "inside", "fabric": fabric,
                        "workload": {"kind": "permutation", "size": "10KB"}})
    result = run_config(config, folder, ranks_expected=comm.size, quiet=True)
    assert result.exit_code == 0
    comm.barrier()
    assert len(list(folder.glob("inside-perf-*.csv"))) == comm.size
    info = json.loads((folder / "inside-run.json").read_text())
    assert info["ranks"] == comm.size and info["flows"] == {"total": 4, "finished": 4, "unfinished": 0}
    assert (result.info == info) == (comm.rank == 0)
