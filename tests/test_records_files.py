"""Record files: whole rows, exact text, merging, refusing a directory that is taken, run.json."""

import csv
import dataclasses
import errno
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from records_cases import MS, ONE, counters, messages, ports, shard

from distsim.errors import InputError, RunError
from distsim.records import (
    PORT_COUNTERS,
    RECORDS,
    Tick,
    claim_directory,
    merge,
    open_records,
    read_record,
    read_run_json,
    write_run_json,
)
from distsim.records.files import record_files
from distsim.records.perf import SCHEMA as PERF_SCHEMA
from distsim.records.perf import Perf
from distsim.records.writer import ShardWriter, format_rows, utc_text

AT = 1768331979.9  # 2026-01-13T19:19:39Z


def write_perf(directory, rows, **changes):
    with open_records(shard(directory, **changes), clock=lambda: AT) as records:
        records.on_rows("perf", rows)
    return records


# ---- writing ---------------------------------------------------------------------------------------------------------

def test_text_of_a_row(tmp_path):
    write_perf(tmp_path, messages(ONE))
    header, line = (tmp_path / "sim-perf-0.csv").read_text().splitlines()
    assert header == ",".join(PERF_SCHEMA.header)
    assert line == ("sim,2026-01-13T19:19:39Z,0.00206424,FCT,64.24,NIC-3>NIC-7,part-0,3,41,0.002,2000000,flow")


def test_numbers_read_back_as_the_same_number():
    values = [0.1 + 0.2, 7.3062e-05, 1e-12, 1999.999999999999, 0.0, 1e22]
    text = format_rows(PERF_SCHEMA, {**Perf(shard()).on_rows(messages(*[ONE] * 6)), "time_utc": "t",
                                     "start_time_sec": np.array(values)}, 6).tobytes().decode()
    assert [float(line.split(",")[9]) for line in text.splitlines()] == values


def test_wall_clock_is_whole_seconds_of_utc():
    assert utc_text(0.999) == "1970-01-01T00:00:00Z"


def test_columns_must_match_the_schema():
    columns = dict(Perf(shard()).on_rows(messages(ONE)), time_utc="t")
    del columns["node_id"]
    with pytest.raises(ValueError, match="node_id"):
        format_rows(PERF_SCHEMA, columns, 1)
    with pytest.raises(ValueError, match="surplus"):
        format_rows(PERF_SCHEMA, {**columns, "node_id": 1, "surplus": 1}, 1)


def test_rows_are_complete_before_close_and_files_are_described(tmp_path):
    records = open_records(shard(tmp_path))
    records.on_tick(Tick(3 * MS, "nd", counters(), ports()))
    records.on_rows("perf", messages(ONE))
    records.on_rows("perf", messages())
    for file in records.files():  # not closed: what a killed run leaves
        data = (tmp_path / file["file"]).read_bytes()
        assert data.endswith(b"\n") and len(set(line.count(b",") for line in data.splitlines())) == 1
        assert data.count(b"\n") == file["rows"] + 1
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert {file["record"]: file["rows"] for file in records.files()} == {
        "uet-transport-stats": 1, "nd-stats": 2, "ecn-pfc-stats": 0, "perf": 1}
    records.close()
    records.close()


def test_a_switched_off_record_writes_no_file(tmp_path):
    open_records(shard(tmp_path), {"EnableNetDeviceStatLogging": False}).close()
    assert sorted(os.listdir(tmp_path)) == [
        "sim-ecn-pfc-stats-0.csv", "sim-perf-0.csv", "sim-uet-transport-stats-0.csv"]


def test_every_record_can_be_switched_on_and_off(tmp_path):
    off = {record.schema.switch: False for record in RECORDS.values()}
    open_records(shard(tmp_path), off).close()
    assert os.listdir(tmp_path) == ["sim-perf-0.csv"]  # the one without a switch
    open_records(shard(tmp_path), dict.fromkeys(off, True)).close()
    assert sorted(os.listdir(tmp_path)) == sorted(f"sim-{record}-0.csv" for record in RECORDS)
    for file in record_files(tmp_path):  # a header each, and found under the right name
        with open(file.path, newline="") as lines:
            assert list(csv.reader(lines)) == [RECORDS[file.record].schema.header]


def test_full_disk_takes_the_incomplete_row_back(tmp_path, monkeypatch):
    writer = ShardWriter(PERF_SCHEMA, str(tmp_path), "sim", 0)
    writer.append(Perf(shard()).on_rows(messages(ONE)))
    good = (tmp_path / "sim-perf-0.csv").read_bytes()
    real, calls = os.write, []

    def short_write(fd, data):
        calls.append(fd)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[:20])

    monkeypatch.setattr(os, "write", short_write)
    with pytest.raises(RunError, match=r"sim-perf-0\.csv.*No space left"):
        writer.append(Perf(shard()).on_rows(messages(ONE)))
    monkeypatch.undo()
    assert (tmp_path / "sim-perf-0.csv").read_bytes() == good
    assert writer.rows == 1
    writer.close()


def test_unwritable_output_names_the_path(tmp_path):
    with pytest.raises(InputError, match=r"nowhere/sim-uet-transport-stats-0\.csv: cannot write"):
        open_records(shard(tmp_path / "nowhere"))


def test_polars_is_imported_with_the_first_rows_only(tmp_path):
    code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "from records_cases import *; from distsim.records import open_records\n"
            f"r = open_records(shard({str(tmp_path)!r})); assert 'polars' not in sys.modules\n"
            "r.on_rows('perf', messages(ONE)); assert 'polars' in sys.modules\n"
            "assert not {'numba', 'mpi4py', 'pydantic'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- merging ---------------------------------------------------------------------------------------------------------

def half(whole, nics, ports_, index, directory):
    """The part of a shard that holds some of its NICs and ports."""
    fields = {name: getattr(whole, name)[nics] for name in ("nic_node_id", "nic_stats")}
    fields |= {name: getattr(whole, name)[ports_] for name in (
        "port_node_id", "port_ifid", "port_tier", "port_uplink", "port_is_nic", "port_rate_bps")}
    names = {"nic_name": [whole.nic_name[i] for i in nics], "port_name": [whole.port_name[i] for i in ports_]}
    return dataclasses.replace(whole, index=index, count=2, directory=str(directory), **fields, **names)


def test_merged_shards_do_not_depend_on_the_partition(tmp_path):
    whole = shard(tmp_path / "one", nics=4)
    rng = np.random.default_rng(1)
    ticks = []
    for k in (1, 2, 3):
        counted, moved = counters(4), np.zeros(8, PORT_COUNTERS)
        counted["write_pkts_sent"] = rng.integers(100, 200, 4) * k
        for name in moved.dtype.names:
            moved[name] = rng.integers(100, 200, 8) * k
        ticks.append((counted, moved))
    done = messages(*[{**ONE, "time_ps": ONE["time_ps"] + MS * (i % 3), "node": i % 4, "op": i, "user_id": i}
                      for i in range(12)])
    done.sort(order=["time_ps", "node", "op"])
    splits = {"one": [(range(4), range(8))], "two": [([1, 3], [1, 3, 4, 5, 6, 7]), ([0, 2], [0, 2])]}
    for name, parts in splits.items():
        os.mkdir(tmp_path / name)
        for index, (nics, ports_) in enumerate(parts):
            nics, ports_ = list(nics), list(ports_)
            part = half(whole, nics, ports_, index, tmp_path / name)
            with open_records(part, clock=lambda i=index: AT + i) as records:
                for k, (counted, moved) in enumerate(ticks, 1):
                    records.on_tick(Tick((2 + k) * MS, "nd", counted[nics], moved[ports_]))
                    records.on_rows("perf", done[np.isin(done["node"], nics) & (done["time_ps"] // MS == 1 + k)])
    for record, rows in (("uet-transport-stats", 12), ("nd-stats", 24), ("perf", 12)):
        one, two = merge(tmp_path / "one", record), merge(tmp_path / "two", record)
        assert one.shape == two.shape and one.height == rows and one.equals(two)
        assert "time_utc" not in one.columns and "time_utc" in read_record(tmp_path / "one", record).columns
        # one shard alone is already in the merged order
        assert read_record(tmp_path / "one", record).drop("time_utc").equals(one)


def test_merge_order_is_time_then_node_then_port(tmp_path):
    rows = [{**ONE, "time_ps": time, "node": node, "user_id": user} for time, node, user in
            ((5 * MS, 0, 1), (3 * MS, 10, 2), (3 * MS, 9, 3), (3 * MS, 9, 1))]
    write_perf(tmp_path, messages(*rows))
    got = merge(tmp_path, "perf")
    assert list(zip(got["node_id"], got["transaction_number"], strict=True)) == [(9, 1), (9, 3), (10, 2), (0, 1)]


def test_shards_are_read_in_order_of_their_number(tmp_path):
    for index in (10, 9, 0):
        write_perf(tmp_path, messages({**ONE, "node": index}), index=index)
    assert read_record(tmp_path, "perf")["node_id"].to_list() == [0, 9, 10]


def test_reading_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match="unknown record 'nd'; there are uet-transport-stats, nd-stats, ecn-pfc"):
        read_record(tmp_path, "nd")
    with pytest.raises(InputError, match="no nd-stats record"):
        read_record(tmp_path, "nd-stats")


# ---- the output directory --------------------------------------------------------------------------------------------

def test_claim_creates_and_accepts_foreign_files(tmp_path):
    made = claim_directory(tmp_path / "a" / "b")
    assert made.is_dir()
    (made / "notes.csv").write_text("mine")
    (made / "config.yaml").write_text("mine")
    assert claim_directory(made) == made
    assert sorted(os.listdir(made)) == ["config.yaml", "notes.csv"]


@pytest.mark.parametrize("name", ["sim-run.json", "a_b-1-nd-stats-12.csv"])
def test_claim_refuses_another_run(tmp_path, name):
    (tmp_path / name).write_text("old")
    with pytest.raises(InputError, match=f"{tmp_path.name}: holds another run .{name}.*--overwrite"):
        claim_directory(tmp_path)
    assert (tmp_path / name).read_text() == "old"


def test_overwrite_removes_the_old_run_only(tmp_path):
    mine = ["notes-nd-stats.csv", "run.json", "-perf-0.csv", "sim-perf-x.csv", "sim-other-0.csv"]
    for name in [*mine, "old-run.json", "old-perf-0.csv", "old-perf-1.csv", "old-uet-transport-stats-0.csv"]:
        (tmp_path / name).write_text("x")
    claim_directory(tmp_path, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == sorted(mine)


def test_claim_of_a_path_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=r"file.*cannot write into the output directory"):
            claim_directory(path)


# ---- run.json --------------------------------------------------------------------------------------------------------

def test_run_json_round_trip(tmp_path):
    info = {"status": "finished", "seed": np.int64(7), "per_rank": np.array([1, 2]), "out": tmp_path,
            "share": np.float64(0.5)}
    path = write_run_json(tmp_path, "sim", info)
    assert path == tmp_path / "sim-run.json" and os.listdir(tmp_path) == ["sim-run.json"]
    assert read_run_json(tmp_path) == {"status": "finished", "seed": 7, "per_rank": [1, 2], "out": str(tmp_path),
                                       "share": 0.5}
    write_run_json(tmp_path, "sim", {"status": "interrupted"})
    assert json.loads(path.read_text()) == {"status": "interrupted"}


def test_run_json_failures(tmp_path):
    with pytest.raises(ValueError, match="'done' is not one of finished, unfinished, interrupted, failed"):
        write_run_json(tmp_path, "sim", {"status": "done"})
    write_run_json(tmp_path, "sim", {"status": "finished"})
    with pytest.raises(TypeError, match="cannot hold a set"):
        write_run_json(tmp_path, "sim", {"status": "failed", "x": set()})
    assert read_run_json(tmp_path) == {"status": "finished"}  # the old file is whole
    with pytest.raises(RunError, match=r"sim-run\.json: cannot write"):
        write_run_json(tmp_path / "nowhere", "sim", {"status": "finished"})


def test_reading_run_json_that_is_not_one(tmp_path):
    with pytest.raises(InputError, match=r"holds no run\.json"):
        read_run_json(tmp_path)
    with pytest.raises(InputError, match="cannot read the directory"):
        read_run_json(tmp_path / "nowhere")
    (tmp_path / "a-run.json").write_text("{")
    with pytest.raises(InputError, match=r"a-run\.json: is not a run\.json"):
        read_run_json(tmp_path)
    (tmp_path / "b-run.json").write_text("{}")
    with pytest.raises(InputError, match="holds 2 run"):
        read_run_json(tmp_path)
