"""SQL over records, and records as files for other programs, against the CSV files."""

from __future__ import annotations

import csv
import json
from collections import defaultdict

import polars as pl
import pytest
from results_cases import copied, results, results_json, rows_of, run_on_two_ranks, small_run  # noqa: F401

from distsim.errors import InputError
from distsim.records.registry import SCHEMAS
from distsim.results import open_run
from distsim.results.export import export
from distsim.results.query import query

# ---- SQL -------------------------------------------------------------------------------------------------------------

def test_a_table_a_record(small):
    greatest = defaultdict(float)
    for row in rows_of(small, "nd-stats"):
        greatest[int(row["tier"])] = max(greatest[int(row["tier"])], float(row["tx_rate_Gbps"]))
    found = query(open_run(small), "select tier, max(tx_rate_Gbps) as gbps from nd_stats group by tier order by tier")
    assert found.rows() == sorted(greatest.items()) and len(greatest) == 3
    joined = query(open_run(small), """
        -- messages beside what their sender retransmitted
        select p.node_id, p.transfer_size_b, max(u.num_rtx) as again
        from perf p join uet_transport_stats u on p.node_id = u.fep_id
        group by p.node_id, p.transfer_size_b""")
    assert set(joined["node_id"]) == {int(row["node_id"]) for row in rows_of(small, "perf")}


def test_statements_that_are_possible(small):
    run = open_run(small)
    for statement in ("with a as (select * from perf) select count(*) from a", "(select count(*) from perf)",
                      "from perf", "explain select * from perf", "show tables", "values (1, 2)",
                      "select read_requests from pcie_stats", "/* a */ select 1 as one"):
        assert len(query(run, statement))


@pytest.mark.parametrize(("statement", "said"), [
    ("drop table perf", "only queries are possible: a statement begins with SELECT, WITH"),
    ("create table x as select * from perf", "only queries"), ("delete from perf", "only queries"),
    ("", "only queries"),
    ("select * from read_csv('/etc/passwd')", "read_csv is not possible here"),
    ("select * from READ_CSV('/etc/passwd')", "READ_CSV is not possible"),
    ('select * from "read_csv"(\'/etc/passwd\')', "read_csv is not possible"),
    ("select * from read_csv/* */('/etc/passwd')", "read_csv is not possible"),
    ("with a as (from read_parquet('x')) select * from a", "read_parquet is not possible"),
    ("select * from perf where node_id in (select 1 from scan_ipc('x'))", "scan_ipc is not possible"),
    ("select * from U&\"read\\005fcsv\"('x')", "U& is not possible"),
    ("select nothing from perf", "tables: .*perf"),
    ("select * from nothing", "relation 'nothing' was not found; tables: "),
    ("select 1; select 2", "tables: "), ("select from where", "tables: "), ("select * from '/etc/passwd'", "tables: "),
])
def test_statements_that_are_refused(small, statement, said):
    with pytest.raises(InputError, match=rf"sql: .*{said}"):
        query(open_run(small), statement)


def test_sql_on_the_command_line(small, capsys):
    rows = results_json(capsys, "sql", small, "select transaction_number as n from perf where transfer_size_b = 100000")
    assert sorted(row["n"] for row in rows) == sorted(
        int(row["transaction_number"]) for row in rows_of(small, "perf") if row["transfer_size_b"] == "100000")
    code, out, _ = results(capsys, "sql", small, "select * from perf", "--limit", "2")
    assert code == 0 and "11 more rows" in out
    code, _, err = results(capsys, "sql", small, "drop table perf")
    assert code == 2 and err.count("\n") == 1


# ---- export ----------------------------------------------------------------------------------------------------------

def plain(record, rows):
    """Rows of a CSV file as values, in the order of the schema."""
    types = {"int": int, "float": float, "text": str}
    schema = SCHEMAS[record]
    found = [{c.name: types[c.dtype](row[c.name]) if row[c.name] or c.dtype == "text" else None for c in schema.columns}
             for row in rows]
    return sorted(found, key=lambda row: [row[name] for name in schema.order])


def read(path):
    if path.suffix == ".parquet":
        return pl.read_parquet(path).to_dicts()
    if path.suffix == ".json":
        return json.loads(path.read_text())
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_all_records_in_one_file_each(small, tmp_path, form):
    run = open_run(small)
    paths = export(run, form, tmp_path / "out")
    assert [path.name for path in paths] == [f"small-{record}.{form}" for record in run.records()]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in paths)
    for record, path in zip(run.records(), paths):
        found = read(path)
        if form == "csv":
            found = plain(record, found)
        else:
            found = [{name: "" if value is None and SCHEMAS[record].columns[at].dtype == "text" else value
                      for at, (name, value) in enumerate(row.items())} for row in found]
        assert found == plain(record, rows_of(small, record)), record


@pytest.mark.ranks
def test_shards_are_merged(small, shards, tmp_path):
    paths = [export(open_run(run), "csv", tmp_path / f"{run.name}.csv", ["tier-hop"])[0] for run in (small, shards)]
    found = [[{**row, "time_utc": ""} for row in read(path)] for path in paths]
    assert found[0] == found[1] and len(found[0]) > 8


def test_parquet_says_what_its_columns_are(small, tmp_path):
    path, = export(open_run(small), "parquet", tmp_path / "p.parquet", ["perf"])
    said = json.loads(pl.read_parquet_metadata(path)["distsim"])
    assert said["record"] == "perf" and said["columns"]["perf_metric_usec"]["unit"] == "us"


def test_what_is_refused(small, tmp_path):
    run = open_run(small)
    export(run, "csv", tmp_path, ["perf"])
    with pytest.raises(InputError, match=r"small-perf\.csv: exists; give --overwrite"):
        export(run, "csv", tmp_path, ["perf"])
    export(run, "csv", tmp_path, ["perf"], overwrite=True)
    with pytest.raises(InputError, match="is one file, but there are 2 records"):
        export(run, "json", tmp_path / "x.json", ["perf", "nd-stats"])
    with pytest.raises(InputError, match="no format 'xlsx'; there are parquet, csv, json"):
        export(run, "xlsx", tmp_path)
    with pytest.raises(InputError, match="no record 'x'; this run has"):
        export(run, "csv", tmp_path, ["x"])


def test_export_on_the_command_line(small, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = results(capsys, "export", small, "--format", "csv", "--metric", "perf", "--json")
    assert code == 0 and json.loads(out)[0]["file"] == "small-csv/small-perf.csv"
    assert len(read(tmp_path / "small-csv" / "small-perf.csv")) == 13
    code, out, _ = results(capsys, "export", small, "-o", "all")
    assert code == 0 and out.count("\n") == len(open_run(small).records())
    code, _, err = results(capsys, "export", small, "-o", "all")
    assert code == 2 and "exists; give --overwrite" in err
