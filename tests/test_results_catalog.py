"""distsim.results.catalog: runs are found wherever they are, and the index can go at any time."""

from __future__ import annotations

import os
import sqlite3
import stat

import pytest
from results_cases import change_info, copied, info_of, results, results_json, small_run  # noqa: F401

from distsim.errors import InputError
from distsim.records import hold, release
from distsim.results.catalog import Catalog, id_of
from distsim.results.index import NAME

PLACES = ("one", "two", "job/records/wave-1", "schedule/records/step-3", "job/records/wave-2")


@pytest.fixture(name="runs")
def directory_of_runs(small, tmp_path):
    """Runs as distsim run, workloadrun and schedule run leave them, beside what is none."""
    top = tmp_path / "runs"
    for place in PLACES:
        copied(small, top / place)
    (top / "empty").mkdir()
    (top / "job" / "report.json").write_text("{}")
    copied(small, top / ".trash" / "old")
    return top


def test_every_run_is_found_with_what_its_run_json_says(runs):
    entries = Catalog(runs).runs()
    assert {entry.path for entry in entries} == set(PLACES)
    info = info_of(runs / "one")
    for entry in entries:
        assert (entry.name, entry.status, entry.seed, entry.ranks) == ("small", "finished", 7, 1)
        assert entry.configuration_sha256 == info["configuration_sha256"]
        assert entry.parameters["fabric"]["racks"] == 2 and entry.flows["finished"] == 13
        assert entry.ended == os.stat(runs / entry.path / "small-run.json").st_mtime
        assert entry.ended - entry.started == pytest.approx(info["wall"]["total_s"], abs=1e-5)
        assert entry.open().frame("perf").collect().height == 13


def test_ids_come_from_the_path_alone(runs):
    entries = {entry.path: entry.id for entry in Catalog(runs).runs()}
    assert len(set(entries.values())) == len(PLACES)
    assert all(id_of(path) == found and len(found) == 30 for path, found in entries.items())
    change_info(runs / "one", lambda info: info.update(seed=99))
    again = Catalog(runs)
    assert {entry.path: entry.id for entry in again.rebuild()} == entries
    assert again.get("one").seed == 99


def test_a_run_by_id_path_or_name(runs):
    catalog = Catalog(runs)
    one = catalog.get("one")
    assert catalog.get(one.id) == catalog.get(one.id[:10]) == one
    assert catalog.get("wave-1").path == "job/records/wave-1"            # the end of a path
    with pytest.raises(InputError, match="5 runs are called 'small'; give one's path or id: "):
        catalog.get("small")
    with pytest.raises(InputError, match="no run 'three'; there are "):
        catalog.get("three")
    with pytest.raises(InputError, match="no run 'sim_'"):
        catalog.get("sim_")


def test_the_index_follows_the_files(runs, small):
    catalog = Catalog(runs)
    before = catalog.runs()
    assert (runs / NAME).exists() and catalog.runs() == before == Catalog(runs).runs()
    copied(small, runs / "three")
    change_info(runs / "two", lambda info: info.update(status="unfinished"))
    (runs / "one" / "small-run.json").unlink()
    found = {entry.path: entry.status for entry in catalog.runs()}
    assert found == {**dict.fromkeys(PLACES, "finished"), "three": "finished", "two": "unfinished",
                     "one": "interrupted"}
    for path in (runs / "one").iterdir():
        path.unlink()
    assert "one" not in {entry.path for entry in catalog.runs()}
    with sqlite3.connect(runs / NAME) as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (len(PLACES),)


@pytest.mark.parametrize("damage", ["gone", "text", "other version", "empty"])
def test_a_damaged_index_is_made_anew(runs, damage):
    catalog = Catalog(runs)
    before = catalog.runs()
    if damage == "gone":
        (runs / NAME).unlink()
    elif damage == "other version":
        with sqlite3.connect(runs / NAME) as db:
            db.execute("DROP TABLE runs")
            db.execute("PRAGMA user_version = 99")
    else:
        (runs / NAME).write_text("no database" * 100 * (damage == "text"))
    assert catalog.runs() == before == Catalog(runs).runs()


def test_a_directory_that_cannot_be_written(runs, monkeypatch):
    if os.geteuid() == 0:
        def refuse(*arguments, **options):
            if arguments[0] != ":memory:":
                raise sqlite3.OperationalError("unable to open database file")
            return connect(*arguments, **options)

        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", refuse)
    else:
        runs.chmod(stat.S_IRUSR | stat.S_IXUSR)
    catalog = Catalog(runs)
    assert len(catalog.runs()) == len(catalog.runs()) == len(PLACES) and not (runs / NAME).exists()
    runs.chmod(stat.S_IRWXU)


def test_links_to_elsewhere_are_left_alone(runs, small, tmp_path):
    (runs / "linked").symlink_to(small)
    outside = copied(small, tmp_path / "outside")
    (runs / "file").mkdir()
    (runs / "file" / "small-run.json").symlink_to(outside / "small-run.json")
    assert {entry.path for entry in Catalog(runs).runs()} == set(PLACES)


def test_runs_that_have_no_run_json(runs):
    for path in (runs / "one").glob("small-*"):
        path.unlink()
    hold(runs / "one", {"simulation": "fresh", "seed": 3, "configuration": {"seed": 3}, "ranks": 2})
    try:
        entry = Catalog(runs).get("one")
        assert (entry.name, entry.status, entry.seed, entry.parameters, entry.ranks, entry.ended) == \
            ("fresh", "running", 3, {"seed": 3}, 2, 0.0) and entry.started > 0
        assert entry.open().records() == []
    finally:
        release(runs / "one")
    (runs / "two" / "small-run.json").write_text("{")
    broken = Catalog(runs).get("two")
    assert broken.status == "failed" and "is not a run.json" in broken.error


def test_what_is_no_directory(tmp_path):
    with pytest.raises(InputError, match="nowhere: is no directory of runs"):
        Catalog(tmp_path / "nowhere")


def test_the_command(runs, capsys):
    assert [one["path"] for one in results_json(capsys, "list", runs, "--name", "wave")] == [
        entry.path for entry in Catalog(runs).runs() if "wave" in entry.path]
    one = results_json(capsys, "list", runs, "--rebuild")[0]
    assert one["parameters"]["simulation"] == "small" and one["started"].endswith("Z") and one["status"] == "finished"
    code, out, _ = results(capsys, "list", runs, "--status", "failed")
    assert code == 0 and "no runs below" in out
    code, out, _ = results(capsys, "list", runs)
    assert code == 0 and "13 of 13" in out and one["id"][:12] in out
    shown = results_json(capsys, "show", one["id"], "--runs", runs)
    assert shown["status"] == "finished"
    assert {record["record"]: record["rows"] for record in shown["records"]}["perf"] == 13
    code, out, _ = results(capsys, "show", "two", "--runs", runs)
    assert code == 0 and "13 of 13 finished" in out and "300KB" in out
    code, _, err = results(capsys, "show", "nothing", "--runs", runs)
    assert (code, err.count("\n")) == (2, 1) and "no run 'nothing'; there are" in err
    code, _, err = results(capsys, "show", "nothing", "--runs", runs / "no")
    assert code == 2 and "give a run's directory, or --runs DIR" in err
