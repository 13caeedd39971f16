"""Configurations over the API: kept in versions, changed with If-Match, checked with lines, confined to their files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import server_cases as cases
import yaml
from fastapi.testclient import TestClient

from distsim.config.yaml_reader import parse
from distsim.server.app import create_app
from distsim.server.settings import Settings
from distsim.server.store import text_of

CONFIGS = Path(__file__).parent.parent / "configs"
INTERVAL = {"SimulationParameters": {"NDStatsReportInterval": {"value": 0.0005, "type": "double"}}}


@pytest.fixture
def runs(tmp_path):
    (tmp_path / "runs" / "inputs").mkdir(parents=True)
    return (tmp_path / "runs").resolve()


@pytest.fixture
def client(runs):
    with TestClient(create_app(Settings(runs, folders=(CONFIGS.resolve(),))), base_url="http://127.0.0.1") as found:
        yield found


def made(client, text=cases.SMALL, name="mine", **more):
    answer = client.post("/api/v1/configurations", json={"name": name, "text": text, **more})
    assert answer.status_code == 201, answer.text
    assert answer.headers["etag"] == '"1"'
    return answer.json()


def test_what_is_created_is_what_is_kept(client):
    found = made(client)
    assert found["status"] == "draft" and found["version"] == 1 and found["text"] == cases.SMALL
    assert found["document"] == yaml.safe_load(cases.SMALL)
    assert found["globalParameters"]["SimulationParameters"]["NDStatsReportInterval"] == {
        "value": 5e-06, "type": "double"}
    nic, switch = found["components"]
    assert (nic["name"], nic["type"], nic["model"]) == ("nic", "nic", "ScalaUETNIC")
    assert nic["typedParameters"]["NetworkInterface"]["UplinkNetworkInterface"]["DataRate"] == {
        "value": 400, "unit": "Gbps", "type": "datarate"}
    assert switch["model"] == "ScalaSwitch" and found["topology"]["topologyTiers"] == 2
    again = client.get(f"/api/v1/configurations/{found['id']}")
    assert again.json() == found and again.headers["etag"] == '"1"'
    assert client.get("/api/v1/configurations").json()["configurations"][0]["id"] == found["id"]


def test_they_survive_a_restart(runs):
    with TestClient(create_app(Settings(runs)), base_url="http://127.0.0.1") as client:
        found = made(client)
    with TestClient(create_app(Settings(runs)), base_url="http://127.0.0.1") as client:
        assert client.get(f"/api/v1/configurations/{found['id']}").json() == found


def test_a_change_needs_the_version_that_it_changes(client):
    found = made(client)
    path = f"/api/v1/configurations/{found['id']}"
    assert client.patch(path, json={"name": "other"}).status_code == 400  # If-Match is required
    assert client.patch(path, json={"name": "other"}, headers={"If-Match": '"2"'}).status_code == 412
    assert client.patch(path, json={"name": "other"}, headers={"If-Match": "2"}).status_code == 400
    after = client.patch(path, json={"name": "other"}, headers={"If-Match": '"1"'})
    assert after.status_code == 200 and after.headers["etag"] == '"2"' and after.json()["name"] == "other"
    assert client.patch(path, json={}, headers={"If-Match": '"2"'}).status_code == 400
    third = client.patch(path, json={"document": {"a": 1}}, headers={"If-Match": '"7", "v2"'})
    assert third.json()["document"] == {"a": 1} and third.json()["version"] == 3
    assert client.patch(f"{path}/parameters", json=INTERVAL, headers={"If-Match": '"2"'}).status_code == 412
    assert client.patch(f"{path}/parameters", json=INTERVAL, headers={"If-Match": "*"}).status_code == 200
    assert client.patch(f"{path}/parameters", json=INTERVAL).headers["etag"] == '"5"'
    versions = client.get(f"{path}/versions").json()["versions"]
    assert [one["version"] for one in versions] == [1, 2, 3, 4, 5]
    assert client.get(f"{path}/versions/1").json()["text"] == cases.SMALL
    assert client.get(f"{path}/versions/6").status_code == 404
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == client.delete(path).status_code == 404


@pytest.mark.parametrize(("patch", "said"), [
    ({}, "empty"),
    ({"Nothing": {}}, "no section"),
    ({"SoftwareVersion": {"Version": {"value": "1", "type": "string"}}}, "cannot be changed"),
    ({"ComputeConfiguration": {"x": {"value": 1, "type": "uint"}}}, "cannot be changed"),
    ({"SimulationParameters": {}}, "empty"),
    ({"SimulationParameters": {"Nothing": {"value": 1, "type": "double"}}}, "no such parameter"),
    ({"SimulationParameters": {"RunTime": 1}}, "an object is expected"),
    ({"SimulationParameters": {"RunTime": {"value": 1, "type": "uint"}}}, "differs from 'double'"),
    ({"SimulationParameters": {"RunTime": {"value": 1}}}, "differs from 'double'"),
    ({"SimulationParameters": {"RunTime": {"value": "1", "type": "double"}}}, "not a double"),
    ({"SimulationParameters": {"RunTime": {"value": -1, "type": "double"}}}, "greater than or equal"),
    ({"SimulationParameters": {"RunTime": {"value": 1, "type": "double", "unit": "s"}}}, "no unit"),
    ({"SimulationParameters": {"RunTime": {"deeper": {"value": 1, "type": "double"}}}}, "attribute is expected"),
    ({"SimulationParameters": {"TriggerDelay": {"value": 5, "type": "timeval"}}}, "needs a unit"),
    ({"SimulationParameters": {"TriggerDelay": {"value": 5, "type": "timeval", "unit": "KB"}}}, "unknown unit"),
    ({"SimulationParameters": {"EnableMPIStats": {"value": "yes", "type": "bool"}}}, "not a bool"),
    ({"SimulationParameters": {"MonitorScope": {"value": "other", "type": "string"}}}, "global"),
    ({"SimulationParameters": {"MaxRecordRows": {"value": 1.5, "type": "uint"}}}, "not a uint"),
])
def test_a_patch_of_parameters_is_checked(client, patch, said):
    path = f"/api/v1/configurations/{made(client)['id']}/parameters"
    answer = client.patch(path, json=patch)
    assert answer.status_code == 400 and said in answer.json()["error"]["message"], answer.text
    assert client.get(path.removesuffix("/parameters")).json()["version"] == 1


def test_attributes_of_the_nic_as_documented(client):
    found = made(client)
    path = f"/api/v1/configurations/{found['id']}/components/nic/parameters"
    patch = {"TransportProcessingLayers": {
        "ScalaUETPdsManager": {"PacketSprayingType": {"value": "Recycled Entropy Packet Spraying", "type": "string"}},
        "PacketSpraying": {"RecycledEntropyPacketSpraying": {
            "FreezingTimeout": {"value": 200, "unit": "us", "type": "timeval"}}}},
        "NetworkInterface": {"IngressBufferManager": {
            "PoolAllocationVector": {"value": "[0.8, 0.2, 0, 0, 0, 0, 0, 0]", "type": "string"}}}}
    after = client.patch(path, json=patch)
    assert after.status_code == 200, after.text
    layers = after.json()["TransportProcessingLayers"]
    assert layers["PacketSpraying"]["RecycledEntropyPacketSpraying"]["FreezingTimeout"]["value"] == 200
    document = client.get(f"/api/v1/configurations/{found['id']}").json()["document"]
    assert document["nic"]["TransportProcessingLayers"]["PacketSpraying"] == {
        "RecycledEntropyPacketSpraying": {"FreezingTimeout": "200us"}}
    assert client.post(f"/api/v1/configurations/{found['id']}/validate").json()["valid"]
    for name, body, status in (("nic", {"NumDownLinks": {"value": 2, "type": "uint"}}, 400),
                               ("host", {"x": {"value": 2, "type": "uint"}}, 404)):
        assert client.patch(path.replace("/nic/", f"/{name}/"), json=body).status_code == status
    listed = client.get(f"/api/v1/configurations/{found['id']}/components?type=nic").json()["components"]
    assert [one["name"] for one in listed] == ["nic"] and "typedParameters" not in listed[0]


def test_the_check_names_lines(client):
    text = cases.SMALL.replace("racks: 2", "racks: two").replace("size: 300KB", "sise: 300KB")
    found = made(client, text)
    answer = client.post(f"/api/v1/configurations/{found['id']}/validate").json()
    assert not answer["valid"] and answer["status"] == "error"
    assert {(one["line"], one["path"]) for one in answer["errors"]} == {(3, "$.fabric.racks"), (4, "$.workload.sise")}
    assert client.get(f"/api/v1/configurations/{found['id']}").json()["status"] == "invalid"
    start = client.post("/api/v1/simulations", json={"configurationId": found["id"], "name": "x"})
    assert start.status_code == 422 and start.json()["error"]["code"] == "UNPROCESSABLE_ENTITY"
    same = client.post("/api/v1/configurations/validate", json={"text": text}).json()
    assert same == answer
    broken = client.post("/api/v1/configurations/validate", json={"text": "a: [1\nb: 2\n"}).json()
    assert not broken["valid"] and broken["errors"][0]["line"] == 2
    refused = client.post("/api/v1/configurations", json={"name": "x", "text": "a: [1\nb: 2\n"})
    assert refused.status_code == 400 and refused.json()["error"]["line"] == 2


FILES = ["/etc/passwd", "../../secret", "leak", "inside/../../secret", "/proc/self/environ", "nothing"]


@pytest.mark.parametrize("file", FILES)
def test_files_outside_the_inputs_are_refused(client, runs, file):
    (runs.parent / "secret").write_text("Nodes 4\nConnections 0\n")
    (runs / "inputs" / "leak").symlink_to(runs.parent / "secret")
    (runs / "inputs" / "inside").mkdir()
    text = cases.SMALL.replace("{kind: incast, receiver: 0, senders: 5, size: 300KB}",
                               f"{{kind: cm, file: {file}}}")
    found = client.post("/api/v1/configurations/validate", json={"text": text}).json()
    said = [one["message"] for one in found["errors"]]
    assert not found["valid"] and len(said) == 1
    assert ("no such file" if file == "nothing" else "outside the inputs folder") in said[0], said


def test_files_in_the_inputs_are_read(client, runs):
    (runs / "inputs" / "two.cm").write_text("Nodes 8\nConnections 1\n0->1 id 1 start 0 size 1000\n")
    text = cases.SMALL.replace("{kind: incast, receiver: 0, senders: 5, size: 300KB}",
                               "{kind: cm, file: two.cm}")
    found = client.post("/api/v1/configurations/validate", json={"text": text}).json()
    assert found["valid"] and "1 flows" in found["info"][0]["message"], found
    named = client.post("/api/v1/configurations/validate", json={
        "text": text.replace("two.cm", f"{runs}/inputs/two.cm")}).json()
    assert named["valid"]
    (runs / "inputs" / "two.cm").write_text("root:x:0:0\n")
    found = client.post("/api/v1/configurations/validate", json={"text": text}).json()
    assert not found["valid"] and str(runs) not in str(found), found


def test_plug_ins_run_as_code_and_only_shipped_ones_do(client, runs):
    (runs / "inputs" / "evil.py").write_text("import os; os.system('touch /tmp/evil')\n")
    text = cases.SMALL + "nic: {TransportProcessingLayers: {Plugin: {File: FILE, CongestionControl: true}}}\n"
    for file in ("evil.py", str(runs / "inputs" / "evil.py"), "../inputs/evil.py"):
        found = client.post("/api/v1/configurations/validate", json={"text": text.replace("FILE", file)}).json()
        assert not found["valid"] and "--plugins" in found["errors"][0]["message"]
        kept = made(client, text.replace("FILE", file))
        client.app.state.context.configurations.set_status(kept["id"], 1, "validated")
        start = client.post("/api/v1/simulations", json={"configurationId": kept["id"], "name": "x"})
        assert start.status_code == 400 and "--plugins" in start.json()["error"]["message"]
    assert client.post("/api/v1/configurations/validate", json={
        "text": text.replace("FILE", "my_spraying.py")}).json()["valid"]


def test_every_shipped_configuration_is_a_valid_template(client):
    found = client.get("/api/v1/templates").json()["templates"]
    names = {path.stem for path in CONFIGS.glob("*.yaml") if "\nworkload:" in path.read_text()
             and "\nsimulation:" in f"\n{path.read_text()}"}
    assert {one["id"] for one in found} == names and "quickstart" in names
    for one in ("quickstart", "chakra8", "plugin"):
        copy = client.post(f"/api/v1/templates/{one}/clone", json={"name": "mine"})
        assert copy.status_code == 201 and copy.json()["text"] == (CONFIGS / f"{one}.yaml").read_text()
        answer = client.post(f"/api/v1/configurations/{copy.json()['id']}/validate").json()
        assert answer["valid"], answer
    assert client.get("/api/v1/templates/nothing").status_code == 404
    assert client.get("/api/v1/templates?search=spraying").json()["templates"][0]["id"] == "plugin"


def test_documented_parts_on_top_of_a_document(client):
    found = made(client, globalParameters=INTERVAL, components=[{"name": "switch", "typedParameters": {
        "EcnHandler": {"EnableEcn": {"value": False, "type": "bool"}}}}])
    assert found["document"]["SimulationParameters"] == {"NDStatsReportInterval": 0.0005}
    assert found["document"]["switch"] == {"EcnHandler": {"EnableEcn": False}}
    for body in ({"topology": {"type": "clos"}}, {"links": [{}]}, {"text": None}, {"document": {}},
                 {"name": ""}, {"name": "a\nb"}, {"unknown": 1}, {"components": [{"name": "gpu"}]}):
        answer = client.post("/api/v1/configurations", json={"name": "x", "text": cases.SMALL, **body})
        assert answer.status_code in (400, 404), body


@pytest.mark.parametrize("value", ["1e-3", "0o17", "0x1f", "1:30", "yes", "null", "~", "", "1_000", ".5", "-1.e4", "=",
                                   "2026-01-01", "100ns", "a: b", "# c", "\u00fc\U0001f600", "tab\there", "1.5", "+3",
                                   "no", "a\nb", " x ", "'", '"', 7, 1.5, 1e-9, True, None, [1, "1"], {"k": "0x1"}])
def test_a_document_is_the_same_after_it_was_written(value):
    assert parse(text_of({"key": value, "list": [value]})).data == {"key": value, "list": [value]}


@pytest.mark.parametrize("value", [math.nan, "\ud800", object()])
def test_what_yaml_cannot_hold_is_refused(value):
    with pytest.raises(Exception, match="YAML"):
        text_of({"key": value})


@pytest.mark.parametrize("text", ["a: " + "[" * 51 + "]" * 51, "a: " + "9" * 5000, "[1]", "x", "a: 1\n---\nb: 1",
                                  "a: \0", "{" * 5000, "a: &a [*a]", "a: !!python/object:os.system x", 'a: "\\ud800"'])
def test_texts_that_are_no_documents(client, text):
    answer = client.post("/api/v1/configurations", json={"name": "x", "text": text})
    assert answer.status_code == 400 and answer.json()["error"]["message"], answer.text


@pytest.mark.parametrize("text", ["a: .nan", "a: " + "9" * 400, "nic: 5", "SimulationParameters: [1]", "fabric: []",
                                  "nic: {NetworkInterface: 5, EnableBufferStats: [1]}", "workload: {kind: [1]}",
                                  "SimulationParameters: {RunTime: .nan, StartTime: 1e300, FailedLinks: [1]}",
                                  "switch: {SharedBufferManager: {EnablePFC: [1]}}"])
def test_wrong_documents_are_drafts_that_can_be_looked_at(client, text):
    path = f"/api/v1/configurations/{made(client, text)['id']}"
    assert client.get(path).status_code == client.get(f"{path}/components?withDetails=true").status_code == 200
    assert not client.post(f"{path}/validate").json()["valid"]
    huge = '{"SimulationParameters": {"RunTime": {"type": "double", "value": 1' + "0" * 400 + "}}}"
    answer = client.patch(f"{path}/parameters", content=huge, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_components_are_described(client):
    found = client.get("/api/v1/components").json()
    assert {(one["model"], one["type"]) for one in found["components"]} == {("ScalaUETNIC", "nic"),
                                                                            ("ScalaSwitch", "switch")}
    nic = next(one for one in found["components"] if one["type"] == "nic")
    for name in (nic["id"], nic["model"]):
        details = client.get(f"/api/v1/components/{name}").json()
        leaf = details["typedParameters"]["TransportProcessingLayers"]["ScalaUETPdsManager"][
            "MaxExponentialRTOBackoffCount"]
        assert (leaf["value"], leaf["type"], leaf["default"]) == (5, "uint", "5")
        assert (leaf["min"], leaf["max"]) == ({"value": 0}, {"value": 15})
        rate = details["typedParameters"]["NetworkInterface"]["UplinkNetworkInterface"]["DataRate"]
        assert rate["unit"] == "Gbps" and rate["min"] == {"value": 1, "unit": "Gbps"}
        assert details["typedParameters"]["NumDownLinks"]["readonly"] is True
        assert details["jsonSchema"]["properties"]["EnableBufferStats"]["default"] is False
    assert client.get(f"/api/v1/components/{nic['id']}?version=0").status_code == 404
    assert "notes" in client.get(f"/api/v1/components/{nic['id']}?notes=true").json()
    assert [one["type"] for one in client.get("/api/v1/components?type=switch").json()["components"]] == ["switch"]


def test_lists_go_on_after_a_cursor(client):
    ids = [made(client, name=f"n{at}")["id"] for at in range(5)]
    found, cursor, pages = [], "", 0
    while True:
        page = client.get(f"/api/v1/configurations?limit=2{cursor}").json()
        found += [one["id"] for one in page["configurations"]]
        pages += 1
        if pages == 1:
            client.delete(f"/api/v1/configurations/{found[-1]}")  # the cursor's own item is gone
            made(client, name="newer")                            # and there is a new one before it
        if not page["pagination"]["hasMore"]:
            break
        cursor = "&next=" + page["pagination"]["nextCursor"]
    assert sorted(found) == sorted(ids) and pages == 3
    for wrong in ("x", "e30", cursor.removeprefix("&next=")[:-2], "=" * 10, "\u00fc"):
        assert client.get(f"/api/v1/configurations?next={wrong}").status_code == 400
    assert client.get(f"/api/v1/simulations?{cursor[1:]}").status_code == 400
    for query in ("limit=0", "limit=101", "workspaceId=ws", "createdAfter=yesterday", "status=nothing"):
        assert client.get(f"/api/v1/configurations?{query}").status_code == 400, query
    assert client.get("/api/v1/configurations?workspaceId=workspace_other").json()["configurations"] == []
    assert len(client.get("/api/v1/configurations?search=N1&createdAfter=2020-01-01").json()["configurations"]) == 1
