"""Commands and exit codes in one process: what is printed where, and what is not imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import distsim
from distsim.cli import run_cli
from distsim.cli.app import COMMANDS, app
from distsim.errors import InputError, RunError
from distsim.limits import Limits

ROOT = Path(__file__).parents[1]
TINY = ("# A tiny network.\nsimulation: tiny\nfabric: {kind: leaf-spine, racks: 2, nics_per_rack: 2}\n"
        "workload: {kind: permutation, size: 64KB}\n")


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return str(path)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A stand-in for the engine: calls are kept, the exit code is 3."""
    calls: list[Any] = []

    def run_config(config: Any, output: Path, **options: Any) -> SimpleNamespace:
        calls.append((config, output, options))
        return SimpleNamespace(exit_code=3, lines=["the table"])

    monkeypatch.setitem(sys.modules, "distsim.engine", SimpleNamespace(run_config=run_config))
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    return calls


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_help_names_every_command() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(f"\n  {name} " in result.output for name in COMMANDS)


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"distsim, version {distsim.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["configs"]])
def test_help_is_cheap(arguments: list[str], tmp_path: Path) -> None:
    program = ("import sys; from distsim.cli import run_cli; code = run_cli(sys.argv[1:]); "
               "print(code, [m for m in ('numba', 'polars', 'mpi4py', 'numpy', 'pydantic') if m in sys.modules])")
    (tmp_path / "a.yaml").write_text("# A.\n")
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "DISTSIM_CONFIGS": str(tmp_path)})
    assert done.stdout.splitlines()[-1] == "0 []"


def test_reading_a_configuration_needs_no_compiler_and_no_mpi(config: str) -> None:
    program = ("import sys; from distsim.cli import run_cli; code = run_cli(['validate', sys.argv[1]]); "
               "print(code, [m for m in ('numba', 'polars', 'mpi4py') if m in sys.modules])")
    assert python("-c", program, config).stdout.splitlines()[-1] == "0 []"


def test_run_hands_the_checked_configuration_to_the_engine(
        config: str, engine: list[Any], capfd: pytest.CaptureFixture[str]) -> None:
    code = run_cli(["run", config, "--set", "workload.size=1MB", "--seed", "7", "-o", "out", "--overwrite"])
    (checked, output, options) = engine[0]
    assert code == 3
    assert capfd.readouterr().out == "the table\n"
    assert (checked.seed, checked.workload.size, output) == (7, 1_000_000, Path("out"))
    assert options == {"ranks_expected": None, "quiet": False, "overwrite": True, "limits": Limits()}


def test_run_goes_to_runs_by_default_and_quiet_prints_nothing(
        config: str, engine: list[Any], capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["run", config, "--quiet", "--ranks", "1"]) == 3
    assert engine[0][1] == Path("runs/tiny")
    assert engine[0][2] == {"ranks_expected": 1, "quiet": True, "overwrite": False, "limits": Limits()}
    assert capfd.readouterr().out == ""


def test_the_limits_of_the_projected_length_come_through(config: str, engine: list[Any]) -> None:
    assert run_cli(["run", config, "--max-hops", "1000", "--yes"]) == 3
    assert engine[0][2]["limits"] == Limits(max_hops=1000, yes=True)


def test_only_rank_0_prints_the_table(
        config: str, engine: list[Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    assert run_cli(["run", config]) == 3
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(("error", "code", "line"), [
    (InputError("no room", where="workload.size"), 2, "tiny.yaml:4: workload.size: no room"),
    (RunError("disk full"), 1, "distsim: error: disk full"),
    (KeyboardInterrupt(), 130, "distsim: interrupted"),
    (ZeroDivisionError("oh"), 1, "ZeroDivisionError: oh"),
])
def test_errors_of_a_run(config: str, engine: list[Any], monkeypatch: pytest.MonkeyPatch,
                         capfd: pytest.CaptureFixture[str], error: BaseException, code: int, line: str) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(sys.modules["distsim.engine"], "run_config", fail)
    assert run_cli(["run", config]) == code
    shown = capfd.readouterr().err
    assert shown.rstrip().endswith(line)
    assert ("Traceback" in shown) == isinstance(error, ZeroDivisionError)


def test_every_problem_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(TINY + "sed: 1\nnic: {EnableTransportStat: true}\n")
    assert run_cli(["run", str(path)]) == 2
    assert capfd.readouterr().err.splitlines() == [
        f"distsim: error: {path}:5: sed: unknown key 'sed'; nearest valid name: seed",
        f"distsim: error: {path}:6: nic.EnableTransportStat: unknown key 'EnableTransportStat'; nearest valid name: "
        "EnableTransportStats"]


@pytest.mark.parametrize(("arguments", "line"), [
    (["run", "/none.yaml"], "distsim: error: /none.yaml: no such file"),
    (["run"], "distsim: error: Missing argument 'CONFIG'."),
    (["run", "x.yaml", "--ranks", "0"], "distsim: error: Invalid value for '--ranks': 0 is not in the range x>=1."),
    (["validate"], "distsim: error: give a CONFIG to check, or --schema"),
    (["walk"], "distsim: error: No such command 'walk'."),
])
def test_wrong_use(arguments: list[str], line: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(arguments) == 2
    assert capfd.readouterr().err.splitlines()[0] == line


def test_validate(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["validate", config]) == 0
    assert capfd.readouterr().out.startswith(f"{config}: valid; 4 NICs, 4 switches, 4 flows, configuration ")


def test_validate_builds_the_workload_too(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    workload = "workload={kind: flows, flows: [{from: 0, to: 9, size: 1MB}]}"
    assert run_cli(["validate", config, "--set", workload]) == 2
    assert "unknown host 9" in capfd.readouterr().err


def test_validate_prints_the_schema(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["validate", "--schema"]) == 0
    schema = json.loads(capfd.readouterr().out)
    assert schema["title"] == "Configuration"
    assert "nic" in schema["properties"]


def test_topology_shows_tiers_lookahead_and_the_split(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Shortest frame 62 B at 400 Gb/s: 1.24 ns on top of 100 ns (NIC links) and of 500 ns (between switches)."""
    assert run_cli(["topology", config, "--ranks", "2"]) == 0
    rows = dict(line.split("  ", 1) for line in capfd.readouterr().out.splitlines())
    rows = {label: value.strip() for label, value in rows.items()}
    assert (rows["NIC"], rows["RackSwitch"], rows["SpineSwitch"]) == ("4", "2", "2")
    assert "trigger delay" not in rows, "no host triggers another"
    assert rows["lookahead"] == "101.24 ns"
    assert rows["ranks"] == "2"
    assert rows["rank 0"].startswith("2 NICs, ")
    assert "cut links" in rows and "exchange window" in rows


def test_topology_counts_triggers_into_the_lookahead(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Three hosts in a ring trigger each other after 50 ns, less than any link takes."""
    ring = ["--set", "workload={kind: ring, hosts: [0, 1, 2], size: 1KB}",
            "--set", "SimulationParameters.TriggerDelay=50ns"]
    assert run_cli(["topology", config, "--ranks", "4", *ring]) == 0
    rows = dict(line.split("  ", 1) for line in capfd.readouterr().out.splitlines())
    assert rows["trigger delay"].strip() == "50 ns between 3 pairs of hosts"
    assert rows["lookahead"].strip() == rows["exchange window"].strip() == "50 ns"


def test_topology_on_one_rank_cuts_nothing(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["topology", config]) == 0
    shown = capfd.readouterr().out
    assert "rank 0                    4 NICs, 4 switches" in shown
    assert "exchange window" not in shown


def test_more_ranks_than_nodes(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["topology", config, "--ranks", "9"]) == 2
    assert "9 ranks are more than the 8 nodes" in capfd.readouterr().err


def test_an_empty_output_directory_is_refused(config: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["run", config, "-o", ""]) == 2
    assert "the output directory is empty" in capfd.readouterr().err


def test_configs_lists_first_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                      capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(TINY)
    (tmp_path / "long.yaml").write_text("simulation: x\n")
    monkeypatch.setenv("DISTSIM_CONFIGS", str(tmp_path))
    assert run_cli(["configs"]) == 0
    assert capfd.readouterr().out == f"{tmp_path}:\n  a.yaml     A tiny network.\n  long.yaml\n"
    monkeypatch.setenv("DISTSIM_CONFIGS", str(tmp_path / "none"))
    assert run_cli(["configs"]) == 2
