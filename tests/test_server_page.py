"""What the page's routes answer, against figures worked out from the CSV files. (The page itself: tests/browser.)"""

from __future__ import annotations

import csv
import json
import shutil

import polars as pl
import pytest
import server_cases as cases

from distsim.errors import InputError
from distsim.results.run import open_run
from distsim.server.errors import ApiError
from distsim.server.page_fabric import Cable, Network, drawing_of, network_of
from distsim.server.page_load import load_of
from distsim.server.page_plots import plot_data, plots
from distsim.server.page_rows import MOST_SORTED, Wanted, count_of, page_of, records_of
from distsim.server.page_runs import status_of
from distsim.server.simulations import Simulation

ND = "nd-stats"
REPORTED = cases.SMALL.replace("spines: 2", "spines: 2, links_per_pair: 2").replace(
    "SimulationParameters: {", "SimulationParameters: {EnableTopologyReport: true, ")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return cases.make_run(tmp_path_factory.mktemp("page") / "runs" / "small", REPORTED)


@pytest.fixture(scope="module")
def server(directory):
    with cases.Server(directory.parent) as found:
        yield found


def rows_of(directory, record):
    [path] = directory.glob(f"*-{record}-0.csv")
    return cases.rows_of(path)


def copied(directory, target, *left_out):
    """The run again, without the records and run.json (`run`) that are left out."""
    shutil.copytree(directory, target, ignore=lambda _, names: [
        name for name in names if any(f"-{one}-" in name or name.endswith(f"-{one}.json") for one in left_out)])
    return open_run(target)


def ends(drawing):
    return sorted((drawing.groups[edge["lower"]]["name"], drawing.groups[edge["upper"]]["name"], edge["cables"],
                   edge["gbps"]) for edge in drawing.edges)


def test_a_small_fabric_is_drawn_node_by_node(directory, tmp_path):
    wanted = sorted([(f"NIC-{nic}", f"RackSwitch-{nic // 4}", 1, 400.0) for nic in range(8)]
                    + [(f"RackSwitch-{rack}", f"SpineSwitch-{spine}", 2, 800.0) for rack in (0, 1) for spine in (0, 1)])
    reported = drawing_of(network_of(open_run(directory)))
    built = drawing_of(network_of(copied(directory, tmp_path / "built", "topology-report")))
    for drawing in (reported, built):
        assert ends(drawing) == wanted
        assert drawing.note == ""
        assert [(tier["name"], tier["nodes"]) for tier in drawing.as_json()["tiers"]] == [
            ("NIC", 8), ("rack", 2), ("spine", 2)]


def test_without_a_configuration_only_nodes_are_known(directory, tmp_path):
    run = copied(directory, tmp_path / "bare", "topology-report", "run")
    network = network_of(run)
    drawing = drawing_of(network)
    assert len(drawing.groups) == 12 and drawing.edges == []
    assert "EnableTopologyReport" in drawing.note
    assert load_of(run, network, drawing)["begin_s"] == []
    configuration = json.loads((directory / "small-run.json").read_text())["configuration"]
    assert len(drawing_of(network_of(run, configuration)).edges) == 12
    with pytest.raises(InputError, match="the fabric is not known: links of a fabric of kind topo"):
        network_of(copied(directory, tmp_path / "none", "topology-report", "run", ND), {"fabric": {"kind": "topo"}})


def test_loads_are_those_of_the_ports(directory):
    """Edges and ports are brought together by the names in topology-report, times by their order."""
    run = open_run(directory)
    network = network_of(run)
    drawing = drawing_of(network)
    found = load_of(run, network, drawing)
    times = sorted({float(row["sim_time_sec"]) for row in rows_of(directory, ND)})
    assert found["end_s"] == times
    assert found["begin_s"][1:] == times[:-1]
    links = {(row["node_id"], row["dev_id"]): (row["component_name"], row["peer_component_name"])
             for row in rows_of(directory, "topology-report")}
    loads: dict[tuple[str, str, int], list[float]] = {}
    for row in rows_of(directory, ND):
        key = (*links[row["node_id"], row["ifid"]], times.index(float(row["sim_time_sec"])))
        loads.setdefault(key, []).append(float(row["tx_link_percent_util"]))
    for place, edge in enumerate(drawing.edges):
        low, high = (drawing.groups[edge[end]]["name"] for end in ("lower", "upper"))
        for slot in range(len(times)):
            for way, link in (("up", (low, high)), ("down", (high, low))):
                values = loads[(*link, slot)]
                assert found["mean"][way][place][slot] == pytest.approx(sum(values) / len(values), abs=0.006)
                assert found["max"][way][place][slot] == pytest.approx(max(values), abs=0.006)


def test_a_large_fabric_is_drawn_in_groups():
    racks, nics, spines = 40, 8, 36
    names, tiers, cables = {}, {}, []
    for nic in range(racks * nics):
        names[nic], tiers[nic] = f"NIC-{nic}", 3
    for rack in range(racks):
        node = racks * nics + rack
        names[node], tiers[node] = f"RackSwitch-{rack}", 2
        cables += [Cable(rack * nics + port, 0, node, port, 100.0) for port in range(nics)]
        cables += [Cable(node, nics + spine, racks * (nics + 1) + spine, rack, 400.0) for spine in range(spines)]
    for spine in range(spines):
        names[racks * (nics + 1) + spine], tiers[racks * (nics + 1) + spine] = f"SpineSwitch-{spine}", 0
    drawing = drawing_of(Network(names, tiers, cables))
    groups = {tier: [group for group in drawing.groups if group["tier"] == tier] for tier in (0, 2, 3)}
    # ceil(40 / 16) = 3 racks a group, ceil(36 / 16) = 3 spines a group; NICs by the group of their switch.
    assert [group["count"] for group in groups[2]] == [3] * 13 + [1]
    assert [group["count"] for group in groups[0]] == [3] * 12
    assert [group["count"] for group in groups[3]] == [24] * 13 + [8]
    assert groups[3][0]["name"] == "NIC-0 to NIC-23"
    assert len(drawing.edges) == 14 + 14 * 12
    assert sum(edge["cables"] for edge in drawing.edges) == len(cables)
    between = next(edge for edge in drawing.edges if drawing.groups[edge["lower"]]["tier"] == 2)
    assert (between["cables"], between["gbps"]) == (9, 3600.0)


def test_rows_are_filtered_sorted_and_paged(directory):
    run, rows = open_run(directory), rows_of(directory, ND)
    racks = [row for row in rows if "rack" in row["component_name"].lower() and float(row["tx_rate_Gbps"]) > 10]
    where = ["component_name contains RACK", "tx_rate_Gbps > 10"]
    assert 3 < len(racks) < len(rows)
    assert count_of(run, ND, where) == len(racks) and count_of(run, ND, []) == len(rows)
    columns = ["component_name", "ifid", "tx_rate_Gbps"]
    page = page_of(run, ND, Wanted(columns, where, offset=2, limit=3))
    assert [column["name"] for column in page["columns"]] == columns
    assert page["columns"][2]["unit"] == "Gb/s" and page["columns"][2]["kind"] == "float"
    assert page["rows"] == [[row["component_name"], int(row["ifid"]), float(row["tx_rate_Gbps"])] for row in racks[2:5]]
    most = page_of(run, ND, Wanted(["tx_rate_Gbps"], where, "tx_rate_Gbps", True, limit=4))
    assert [value for [value] in most["rows"]] == sorted((float(row["tx_rate_Gbps"]) for row in racks),
                                                         reverse=True)[:4]


def test_shards_are_one_table(directory, tmp_path):
    """The rows of even nodes in one shard, those of odd nodes in another."""
    run = copied(directory, tmp_path / "two")
    path = next(run.directory.glob(f"*-{ND}-0.csv"))
    rows = cases.rows_of(path)
    for shard in (0, 1):
        with open(path.with_name(path.name.replace("-0.csv", f"-{shard}.csv")), "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(row for row in rows if int(row["node_id"]) % 2 == shard)
    [record] = [record for record in records_of(run) if record["name"] == ND]
    assert len(record["files"]) == 2 and len(record["columns"]) == len(rows[0])
    for offset in (0, 90):
        found = page_of(run, ND, Wanted(["sim_time_sec", "node_id", "ifid"], offset=offset, limit=50))["rows"]
        assert found == [[float(row["sim_time_sec"]), int(row["node_id"]), int(row["ifid"])]
                         for row in rows[offset:offset + 50]]


@pytest.mark.parametrize(("wanted", "said"), [
    (Wanted(where=["tier"]), "'tier' is no filter; write COLUMN OPERATOR VALUE"),
    (Wanted(where=["tier ~ 2"]), "operator|OPERATOR"),
    (Wanted(where=["tear = 2"]), "no column 'tear' in nd-stats; it has time_utc"),
    (Wanted(where=["tier = two"]), "tier holds numbers, and 'two' is none"),
    (Wanted(where=["tier = 1e999"]), "holds numbers"),
    (Wanted(where=["tier = 2"] * 21), "21 filters are too many"),
    (Wanted(columns=["tear"]), "no column 'tear'"),
    (Wanted(order="tear"), "no column 'tear'"),
    (Wanted(order="tier", offset=MOST_SORTED + 1), "only the first 1,000,000 rows"),
])
def test_wishes_that_cannot_be_followed_are_said_in_one_line(directory, wanted, said):
    with pytest.raises(InputError, match=said) as error:
        page_of(open_run(directory), ND, wanted)
    assert "\n" not in str(error.value)


def test_plots_are_the_frames_of_the_package(directory):
    from distsim.results.plots import PLOTS

    run = open_run(directory)
    assert [plot["name"] for plot in plots()] == [plot.name for plot in PLOTS]
    for plot in PLOTS:
        found = plot_data(run, plot.name, (), (), None)
        if "missing" in found:
            assert plot.name in ("bandwidth", "losses") and "\n" not in found["missing"]
        else:
            assert pl.DataFrame(found["columns"], schema=plot.data_of(run).schema).equals(plot.data_of(run))
    with pytest.raises(ApiError) as error:
        plot_data(run, "cake", (), (), None)
    assert error.value.status == 404


def test_words_for_the_status(directory):
    def word(status, run_status="", job=None):
        return status_of(Simulation("", "", "", directory, status, run_status, job=job))

    class Ended:
        terminated = 1.0

    assert word("completed", "finished") == "finished" and word("completed", "unfinished") == "unfinished"
    assert word("terminated", "interrupted") == "interrupted" and word("terminated", job=Ended()) == "terminated"
    assert word("validating") == "validating" and word("failed", "failed") == "failed"


def test_the_routes(server, directory, tmp_path):
    [run] = server.client.get("/api/v1/page/runs").json()["runs"]
    assert (run["name"], run["status"], run["can_delete"], run["can_terminate"]) == ("small", "finished", True, False)
    base = f"/api/v1/page/runs/{run['id']}"
    detail = server.client.get(base).json()
    info = json.loads((directory / "small-run.json").read_text())
    assert detail["info"]["counts"] == info["counts"] and detail["info"]["fct_us"] == info["fct_us"]
    taken = [float(row["perf_metric_usec"]) for row in rows_of(directory, "perf")]
    assert detail["flows_summary"]["mean_us"] == pytest.approx(sum(taken) / len(taken))
    assert "leaf-spine" in detail["configuration_text"]
    assert len(server.client.get(f"{base}/fabric").json()["edges"]) == 12
    assert len(server.client.get(f"{base}/fabric/load").json()["mean"]["up"]) == 12
    assert server.client.get(f"{base}/records/{ND}/count?where=tier = 3").json() == {
        "rows": sum(row["tier"] == "3" for row in rows_of(directory, ND))}
    assert server.client.get(f"{base}/plots/windows?node=NIC-1&top=2").json()["columns"]["flow"]


def test_an_export_is_the_record_and_new_when_the_record_is(server, directory):
    [run] = server.client.get("/api/v1/page/runs").json()["runs"]
    address = f"/api/v1/page/runs/{run['id']}/records/{ND}/export"
    rows = rows_of(directory, ND)
    for form, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv), ("json", pl.read_json)):
        made = server.client.post(f"{address}?format={form}").json()
        assert made["fileName"].startswith(f"small-{ND}-") and made["fileName"].endswith(form)
        content = server.client.get(made["downloadUrl"]).content
        assert len(content) == made["sizeBytes"]
        frame = read(content)
        assert frame.height == len(rows) and frame["total_packets_tx"].to_list() == [int(row["total_packets_tx"])
                                                                                     for row in rows]
        assert server.client.post(f"{address}?format={form}").json()["fileName"] == made["fileName"]


@pytest.mark.parametrize(("path", "status"), [
    ("/runs/sim_aaaaaaaaaaaaaaaaaaaaaaaaaa", 404), ("/runs/nothing", 400), ("/runs/sim_..%2f..", 404),
    ("/runs/{id}/records/none/rows", 400), ("/runs/{id}/records/..%2F..%2Fetc/rows", 404),
    ("/runs/{id}/records/nd-stats/rows?limit=501", 400), ("/runs/{id}/records/nd-stats/rows?offset=-1", 400),
    ("/runs/{id}/plots/cake", 404), ("/runs/{id}/plots/losses?node=NIC-0", 400)])
def test_wrong_addresses(server, path, status):
    [run] = server.client.get("/api/v1/page/runs").json()["runs"]
    answer = server.client.get(f"/api/v1/page{path.replace('{id}', run['id'])}")
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_a_token_is_needed_when_one_is_set(directory, tmp_path):
    shutil.copytree(directory, tmp_path / "runs" / "small")
    with cases.Server(tmp_path / "runs", token=cases.TOKEN) as found:
        assert found.client.get("/api/v1/page/runs").status_code == 200
        assert found.client.get("/api/v1/page/runs", headers={"Authorization": "Bearer no"}).status_code == 401
        assert found.client.get("/", headers={"Authorization": ""}).status_code == 200  # the page itself asks for it
