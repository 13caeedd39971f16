"""distsim.run and distsim.open: what they hand to the engine or to the child, and what a Run gives back."""

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from records_cases import MS, ONE, counters, messages, pauses, ports, shard

import distsim
from distsim import api
from distsim.errors import InputError, RunError
from distsim.limits import Limits
from distsim.records import Tick, open_records, write_run_json
from distsim.state.tables import QUEUES


def write_run(directory, status="finished"):
    """A run's files, as the engine leaves them."""
    with open_records(shard(directory)) as records:
        waiting = np.zeros((2, QUEUES), "i8")
        records.on_tick(Tick(3 * MS, "nd", counters(write_pkts_sent=9), ports(), pauses(), waiting))
        records.on_rows("perf", messages(ONE, {**ONE, "start_ps": ONE["start_ps"] - 1_000_000}))
    write_run_json(directory, "sim", {"status": status, "seed": 1})


@pytest.fixture
def engine(monkeypatch):
    """Stands in for configuration and engine; `calls` keeps what they were given."""
    calls = {}

    def load(path, assignments):
        calls.update(path=path, set=assignments)
        return "loaded"

    def from_dict(data, assignments):
        calls.update(data=data, set=assignments)
        return "made"

    def run_config(config, output, **options):
        calls.update(config=config, options=options)
        output.mkdir(exist_ok=True)
        write_run(output, "unfinished")
        return types.SimpleNamespace(exit_code=3, lines=["a", "b"], info={"status": "unfinished"})

    monkeypatch.setitem(sys.modules, "distsim.config", types.SimpleNamespace(load=load, from_dict=from_dict))
    monkeypatch.setitem(sys.modules, "distsim.engine", types.SimpleNamespace(run_config=run_config))
    return calls


# ---- a run that stands on disk ---------------------------------------------------------------------------------------

def test_open_reads_records_when_asked(tmp_path):
    write_run(tmp_path)
    run = distsim.open(tmp_path)
    assert (run.path, run.exit_code, run.info["seed"]) == (tmp_path, 0, 1)
    assert run.records() == ["ecn-pfc-stats", "nd-stats", "perf", "uet-transport-stats"]
    assert run.frame("ecn-pfc-stats").collect().height == 0           # neither pauses nor marks
    assert run.frame("uet-transport-stats").collect()["write_pkts_sent"].to_list() == [9]
    assert run.frame("nd-stats").collect().height == 2
    # in the order of the schema: of the two that end together, the one that began first
    assert run.frame("perf").select("perf_metric_usec").collect().to_series().to_list() == [65.24, 64.24]
    assert repr(run).startswith(f"Run('{tmp_path}', sim, finished, records: ")
    with pytest.raises(InputError, match="no record 'pcie-stats'; this run has ecn-pfc-stats, nd-stats"):
        run.frame("pcie-stats")


def test_a_run_that_was_made_has_its_frames_and_what_open_gives(engine, tmp_path):
    run = distsim.run("c.yaml", tmp_path)
    assert sorted(run.records) == ["ecn-pfc-stats", "nd-stats", "perf", "uet-transport-stats"] and len(run.records) == 4
    assert run.records["nd-stats"].height == 2 and run.records["nd-stats"] is run.frame("nd-stats")
    assert run.lazy("perf").select("perf_metric_usec").collect().to_series().to_list() == [64.24, 65.24]
    assert run.results.frame("perf").collect().height == 2 and run.results.status == "unfinished"
    assert run.summary("perf").row(0, named=True)["max"] == 65.24
    with pytest.raises(KeyError, match="no 'pcie-stats' record; this run has"):
        run.frame("pcie-stats")


def test_summary(tmp_path):
    write_run(tmp_path)
    got = distsim.open(tmp_path).summary()
    assert (got["status"], got["flows"]) == ("finished", 2)
    assert (got["mean_us"], got["p50_us"], got["max_us"], got["last_us"]) == (64.74, 64.24, 65.24, 2064.24)
    # both flows go to one receiver: 4 MB in 65.24 us
    assert got["receiver_goodput_gbps"] == pytest.approx(32_000_000 / 65_240)
    assert "retransmitted" not in got


@pytest.mark.parametrize(("status", "code"), [("finished", 0), ("unfinished", 3), ("interrupted", 130), ("failed", 1)])
def test_exit_code_of_a_run_on_disk(tmp_path, status, code):
    write_run(tmp_path, status)
    assert distsim.open(tmp_path).exit_code == code


def test_open_of_no_run(tmp_path):
    with pytest.raises(InputError, match=r"holds no run\.json"):
        distsim.open(tmp_path)


# ---- running in this process -----------------------------------------------------------------------------------------

def test_run_in_process(engine, tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("seed: 1\n")
    run = distsim.run(config, tmp_path / "out", seed=5, set={"workload.size": "1MB", "nic.on": True}, overwrite=True)
    assert (engine["path"], engine["set"]) == (str(config), ["workload.size=1MB", "nic.on=true", "seed=5"])
    assert engine["config"] == "loaded"
    assert engine["options"] == {"ranks_expected": 1, "quiet": True, "overwrite": True, "limits": Limits()}
    assert (run.exit_code, run.lines, run.info) == (3, ["a", "b"], {"status": "unfinished"})
    assert run.frame("perf").height == 2


def test_run_of_a_mapping(engine):
    config = {"seed": 3, "workload": {"kind": "flows", "file": "a.cm"}}
    run = distsim.run(config)
    assert (engine["data"], engine["config"], engine["set"]) == (config, "made", [])
    assert run.path.name.startswith("distsim-")


def test_spelling_of_assignments():
    assert api._assignments(["a=1", "b=2"]) == ["a=1", "b=2"]
    assert api._assignments("a=1") == ["a=1"]
    assert api._assignments({"a.b": 3, "c": [0.5, 1], "d": None, "e": "10us", "f": {"x": 1}}) == [
        "a.b=3", "c=[0.5, 1]", "d=null", "e=10us", "f={x: 1}"]


def test_ranks_must_be_positive(tmp_path):
    with pytest.raises(InputError, match="ranks=0"):
        distsim.run("c.yaml", tmp_path, ranks=0)


# ---- running on several ranks ----------------------------------------------------------------------------------------

def child(monkeypatch, program):
    """Replaces the command line by a small Python program; returns the commands asked for."""
    asked = []
    real = api.child_command

    def command(*arguments):
        asked.append(real(*arguments))
        return [sys.executable, "-c", program]

    monkeypatch.setattr(api, "child_command", command)
    return asked


def test_run_on_ranks_reads_what_the_child_wrote(engine, tmp_path, monkeypatch):
    write_run(tmp_path, "unfinished")
    asked = child(monkeypatch, "print('flows\\nunfinished'); raise SystemExit(3)")
    run = distsim.run("c.yaml", tmp_path, ranks=2, seed=7, set=["a=1"], overwrite=True)
    assert asked == [[sys.executable, "-m", "distsim", "run", "c.yaml", "-o", str(tmp_path), "--ranks", "2", "--quiet",
                      "--set", "a=1", "--set", "seed=7", "--overwrite"]]
    assert (run.exit_code, run.lines, run.info["status"]) == (3, ["flows", "unfinished"], "unfinished")
    assert engine["path"] == "c.yaml"  # checked here first


def test_a_mapping_goes_to_the_ranks_through_a_file_that_is_removed(engine, tmp_path, monkeypatch):
    config = {"seed": 3, "workload": {"kind": "flows", "file": "a.cm"}}
    out = tmp_path / "out"
    out.mkdir()
    write_run(out)
    monkeypatch.chdir(tmp_path)
    seen = {}
    monkeypatch.setattr(api, "child_command", lambda path, *rest: [
        sys.executable, "-c", "import sys; sys.stdout.write(open(sys.argv[1]).read())", seen.setdefault("path", path)])
    run = distsim.run(config, out, ranks=2)
    assert yaml.safe_load("\n".join(run.lines)) == config
    assert Path(seen["path"]).resolve().parent == tmp_path  # relative paths in it count from here
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(("code", "kind", "message"), [
    (2, InputError, "c.yaml:3: nic: unknown key"), (1, RunError, "2 ranks ended with exit code 1: c.yaml:3"),
    (137, RunError, "exit code 137")])
def test_a_child_that_fails(engine, tmp_path, monkeypatch, code, kind, message):
    child(monkeypatch, f"import sys; print('c.yaml:3: nic: unknown key', file=sys.stderr); sys.exit({code})")
    with pytest.raises(kind, match=message):
        distsim.run("c.yaml", tmp_path, ranks=2)


def test_an_interrupted_child_may_close_its_files(engine, tmp_path, monkeypatch):
    done = tmp_path / "closed"
    program = ("import pathlib, time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
               f"    pathlib.Path({str(done)!r}).write_text('yes')")

    class Interrupted(subprocess.Popen):
        def communicate(self, *arguments, **options):
            with pytest.raises(subprocess.TimeoutExpired):
                self.wait(0.3)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    child(monkeypatch, program)
    with pytest.raises(KeyboardInterrupt):
        distsim.run("c.yaml", tmp_path, ranks=2)
    assert done.read_text() == "yes"


# ---- the package itself ----------------------------------------------------------------------------------------------

def test_importing_the_package_imports_nothing_else():
    code = ("import sys; before = set(sys.modules); import distsim; assert distsim.__version__\n"
            "new = set(sys.modules) - before; assert not {m for m in new if m.split('.')[0] in "
            "('numpy', 'numba', 'polars', 'mpi4py', 'pydantic')}, new\n"
            "distsim.run; distsim.Run; assert 'numpy' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = distsim.nothing
