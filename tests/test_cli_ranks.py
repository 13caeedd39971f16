"""Several ranks: starting them, and that exit codes, errors and signals come through. The engine is a stand-in here."""

from __future__ import annotations

import importlib.util
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from distsim.cli import launcher
from distsim.cli.launcher import World, check_world, world
from distsim.cli.noise import forward
from distsim.errors import InputError

ROOT = Path(__file__).parents[1]
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
ENGINE = '''
import os, sys, time, types
def run_config(config, output, *, ranks_expected, quiet, overwrite, limits):
    from mpi4py import MPI
    from distsim.errors import InputError
    comm, mode, here = MPI.COMM_WORLD, os.environ["STANDIN"], str(output)
    if mode == "wait":
        open(f"{here}.{comm.rank}.up", "w").close()
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(0.7)                      # longer than mpirun would leave
            open(f"{here}.{comm.rank}.closed", "w").close()
            raise
    if mode == "one" and comm.rank == 1:
        raise InputError("only here", where="workload.kind")
    if mode == "lost" and comm.rank == 1:
        os.kill(os.getpid(), 9)
    if mode in ("one", "lost"):
        time.sleep(60)
    comm.Barrier()
    line = f"{comm.size} of {ranks_expected}, seed {config.seed}, {config.workload.size} B"
    return types.SimpleNamespace(exit_code=int(mode), lines=[line])
sys.modules["distsim.engine"] = module = types.ModuleType("distsim.engine")
module.run_config = run_config
'''


@pytest.fixture
def standin(tmp_path: Path) -> Path:
    """A folder with a small configuration, and a sitecustomize.py that puts the stand-in in place of the engine."""
    (tmp_path / "sitecustomize.py").write_text(ENGINE)
    (tmp_path / "c.yaml").write_text("simulation: c\nfabric: {kind: leaf-spine}\nworkload:\n  kind: permutation\n")
    return tmp_path


def start(folder: Path, mode: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "STANDIN": mode}
    return subprocess.Popen([sys.executable, "-m", "distsim", "run", "c.yaml", "-o", "out", *arguments], cwd=folder,
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(folder: Path, mode: str, *arguments: str) -> tuple[int, str, str]:
    child = start(folder, mode, *arguments)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def wait_for(*paths: Path) -> None:
    end = time.monotonic() + 30
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, f"no {paths}"
        time.sleep(0.02)


@pytest.mark.ranks
@needs_mpi
def test_arguments_and_exit_code_come_through_and_rank_0_alone_prints(standin: Path) -> None:
    done = finish(standin, "3", "--ranks", "2", "--seed", "5", "--set", "workload.size=3MB")
    assert done == (3, "2 of 2, seed 5, 3000000 B\n", "")


@pytest.mark.ranks
@needs_mpi
def test_a_configuration_error_is_said_once(standin: Path) -> None:
    done = finish(standin, "0", "--ranks", "3", "--set", "sed=1")
    assert done == (2, "", "distsim: error: --set sed=1: unknown path 'sed'; nearest valid path: seed\n")


@pytest.mark.ranks
@needs_mpi
def test_an_error_that_one_rank_sees_ends_all(standin: Path) -> None:
    code, _, errors = finish(standin, "one", "--ranks", "2")
    assert code == 2
    assert errors == "distsim: error: c.yaml:4: workload.kind: only here (rank 1)\n"


@pytest.mark.ranks
@needs_mpi
def test_a_lost_rank_ends_all_with_a_message(standin: Path) -> None:
    begin = time.monotonic()
    code, _, errors = finish(standin, "lost", "--ranks", "2")
    assert code == 1
    assert "distsim: error: a rank was lost, or mpirun could not start them (exit code 137): " in errors
    assert time.monotonic() - begin < 10


@pytest.mark.ranks
@needs_mpi
def test_ctrl_c_leaves_the_ranks_time_to_close_their_records(standin: Path) -> None:
    child = start(standin, "wait", "--ranks", "2")
    wait_for(standin / "out.0.up", standin / "out.1.up")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)
    assert child.returncode == 130
    assert (standin / "out.0.closed").exists()
    assert (standin / "out.1.closed").exists()


@pytest.mark.ranks
@needs_mpi
def test_under_mpirun_itself(standin: Path) -> None:
    environment = {**launcher._environment(), "PYTHONPATH": f"{standin}:{ROOT}", "STANDIN": "0"}
    mpirun = launcher._mpirun(2)
    command = [*mpirun, sys.executable, "-m", "distsim", "run", "c.yaml"]
    done = subprocess.run(command, cwd=standin, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2 of None, seed 1, 1000000 B\n")
    done = subprocess.run([*command, "--ranks", "3"], cwd=standin, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("--ranks 3 differs from the 2 ranks that mpirun started") == 1


def test_world_reads_what_launchers_set() -> None:
    assert world({}) is None
    assert world({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"}) == World(1, 4)
    assert world({"PMI_RANK": "0", "PMI_SIZE": "2"}) == World(0, 2)
    assert world({"PMIX_RANK": "3"}) == World(3, None)


def test_mpi4py_is_needed_under_mpirun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="started by mpirun, but mpi4py is not installed"):
        check_world(World(0, 2), None)
    check_world(World(0, 1), None)
    with pytest.raises(InputError, match="--ranks 2 needs mpi4py"):
        launcher.start_ranks(2, [])


@needs_mpi
def test_mpirun_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="--ranks 2 needs mpirun, which is not on PATH nor beside "):
        launcher.start_ranks(2, [])


RULE = b"-" * 74 + b"\n"
NOTICE = RULE + b"prterun detected that one or more processes exited with non-zero status,\n\n  Exit code: 3\n" + RULE
KILLED = RULE + b"prterun noticed that process rank 1 exited on signal 9 (Killed).\n" + RULE


@pytest.mark.parametrize(("said", "passed"), [
    (b"a\n" + NOTICE + b"b\n", b"a\nb\n"),
    (b"a\n" + KILLED, b"a\n" + KILLED),
    (b"[vm:1] PMIX ERROR: PMIX_ERR_UNREACH in file x\n\n\x00a", b"\x00a"),
    (RULE + b"cut off", RULE + b"cut off"),
    (b"distsim: error: prterun detected that\n", b"distsim: error: prterun detected that\n"),
])
def test_mpirun_s_notices_about_exit_codes_are_left_out(said: bytes, passed: bytes) -> None:
    target = io.BytesIO()
    forward(io.BytesIO(said), target)
    assert target.getvalue() == passed
