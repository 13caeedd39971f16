"""distsim.results.run: opening runs, also those that go on or were killed; frames typed and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import polars as pl
import pytest
import yaml
from results_cases import SMALL, copy_of_small, file_of, rows_of, run_on_two_ranks, small_run  # noqa: F401

import distsim
from distsim.errors import InputError
from distsim.records import COMPARED, hold, release
from distsim.records.registry import SCHEMAS
from distsim.results import open_run

TYPES = {"int": pl.Int64, "float": pl.Float64, "text": pl.String}
INTERRUPTED, RUNNING = "interrupted", "running"


def test_a_run_by_its_directory_or_its_run_json(small):
    for path in (small, str(small), small / "small-run.json"):
        run = open_run(path)
        assert (run.directory, run.name, run.status, run.exit_code) == (small, "small", "finished", 0)
        assert run.info["flows"] == {"total": 13, "finished": 13, "unfinished": 0}
    assert distsim.open(small).records() == run.records()
    assert {"perf", "nd-stats", "uet-monitor", "topology-report"} <= set(run.records())


def test_frames_are_the_files_typed_by_the_schema(small):
    run = open_run(small)
    for record in run.records():
        frame, plain = run.frame(record).collect(), rows_of(small, record)
        schema = SCHEMAS[record]
        assert dict(frame.schema) == {column.name: TYPES[column.dtype] for column in schema.columns}, record
        assert frame.height == len(plain) and (plain or record == "ecn-pfc-stats")
        found = [{name: "" if value is None else value for name, value in row.items()} for row in frame.to_dicts()]
        wanted = [{column.name: _typed(row[column.name], column.dtype) for column in schema.columns} for row in plain]
        order = schema.order
        assert found == sorted(wanted, key=lambda row: [(row[name] == "", row[name]) for name in order]), record


def _typed(text, dtype):
    return text if text == "" else {"int": int, "float": float, "text": str}[dtype](text)


@pytest.mark.ranks
def test_frames_do_not_depend_on_the_shards(small, shards):
    one, two = open_run(small), open_run(shards)
    assert len(two.files("nd-stats")) == 2 and len(one.files("nd-stats")) == 1
    for record in set(one.records()) & set(COMPARED):
        frames = [run.frame(record).drop("time_utc", strict=False).collect() for run in (one, two)]
        assert frames[0].equals(frames[1]), record
        assert frames[0].height == two.scan(record).collect().height


def test_a_whole_run_of_flows_in_figures(small):
    took = sorted(float(row["perf_metric_usec"]) for row in rows_of(small, "perf"))
    got = open_run(small).summary()
    assert (got["flows"], got["status"]) == (13, "finished")
    assert got["mean_us"] == pytest.approx(sum(took) / 13) and got["max_us"] == took[-1] and got["p50_us"] == took[6]


# ---- runs that have not ended ----------------------------------------------------------------------------------------

def test_a_run_in_progress_counts_complete_rows(copy):
    whole = len(rows_of(copy, "nd-stats"))
    (copy / "small-run.json").unlink()
    text = file_of(copy, "nd-stats").read_bytes()
    file_of(copy, "nd-stats").write_bytes(text[:-5])         # a row that is being written
    file_of(copy, "perf").write_bytes(b"")                   # not even its header
    run = open_run(copy)
    assert (run.name, run.info, run.status) == ("small", {}, INTERRUPTED)
    assert run.frame("nd-stats").collect().height == whole - 1
    assert run.frame("perf").collect().shape == (0, 12)
    with open(file_of(copy, "nd-stats"), "ab") as file:
        file.write(text[-5:] + text[-40:-10])
    assert run.frame("nd-stats").collect().height == whole


def test_the_mark_tells_a_run_in_progress(copy):
    (copy / "small-run.json").unlink()
    hold(copy, {"simulation": "small", "seed": 7})
    try:
        # the lock is this process's, and another open file sees it as any other process would
        assert open_run(copy).status == RUNNING and open_run(copy).exit_code is None
    finally:
        release(copy)
    assert open_run(copy).status == INTERRUPTED and not (copy / ".distsim-running").exists()


def test_a_run_that_was_killed_keeps_its_rows(tmp_path):
    config = tmp_path / "long.yaml"
    config.write_text(yaml.safe_dump({**SMALL, "workload": {"kind": "permutation", "size": "4GB"}}))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "distsim", "run", str(config), "-o", str(out), "--quiet", "--yes"]
    with subprocess.Popen(command, start_new_session=True) as child:
        try:
            rows = _wait_for_rows(child, out)
            again = subprocess.run([*command, "--overwrite"], capture_output=True, text=True)
            assert again.returncode == 2 and "another run is writing into it" in again.stderr
        finally:
            child.send_signal(signal.SIGKILL)
    run = open_run(out)
    assert (run.status, run.name) == (INTERRUPTED, "small") and run.frame("nd-stats").collect().height >= rows


def _wait_for_rows(child, out):
    until = time.monotonic() + 240                           # the kernels may have to be compiled
    while time.monotonic() < until and child.poll() is None:
        if out.is_dir() and (out / "small-nd-stats-0.csv").exists():
            run = open_run(out)
            rows = run.frame("nd-stats").collect().height
            if rows:
                assert run.status == RUNNING
                return rows
        time.sleep(0.05)
    raise AssertionError("no rows came")


# ---- what is no run --------------------------------------------------------------------------------------------------

def test_what_cannot_be_opened(tmp_path, small):
    with pytest.raises(InputError, match=r"holds no run\.json and no record files"):
        open_run(tmp_path)
    with pytest.raises(InputError, match="cannot read the run's directory: No such file"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is no run: give a run's directory"):
        open_run(file_of(small, "perf"))
    with pytest.raises(InputError, match="holds no run itself; there are runs in small"):
        open_run(small.parent)
    (tmp_path / "a-run.json").write_text("[]")
    with pytest.raises(InputError, match=r"a-run\.json: is not a run\.json: no object"):
        open_run(tmp_path)
    (tmp_path / "b-run.json").write_text("{}")
    with pytest.raises(InputError, match=r"holds 2 run\.json files, not one: a-run\.json, b-run\.json"):
        open_run(tmp_path)


def test_a_record_that_is_not_there(small):
    for name in ("nothing", "chakra-perf"):
        with pytest.raises(InputError, match=f"no record '{name}'; this run has cpu-mem-stats, ecn-pfc-stats"):
            open_run(small).frame(name)


def test_a_notebook_shows_the_run(small):
    shown = open_run(small)._repr_html_()
    assert "finished" in shown and "run.frame(&#x27;perf&#x27;)" not in shown and "run.frame('perf')" in shown
    assert f"<td>{len(rows_of(small, 'uet-events')):,}</td>" in shown
    assert os.fspath(small) in repr(open_run(small))
