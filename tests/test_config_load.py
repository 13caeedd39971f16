"""Defaults, `--set`, overrides by rack and name, paths, canonical form, digest and JSON Schema."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from distsim.config import Config, Nic, Switch, from_dict, json_schema, load, queue_limit_bytes
from distsim.config.fields import FIXED
from distsim.config.names import fields_of, models_in
from distsim.errors import InputError

BASE: dict[str, Any] = {"simulation": "t1", "fabric": {"kind": "leaf-spine"}, "workload": {"kind": "permutation"}}
RATE = {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "200Gbps"}}}
LOSSY = ("switch.SharedBufferManager.UETPolicyEnabled=true",
         "switch.SharedBufferManager.EnablePFC=[0, 0, 0, 0, 0, 0, 0, 0]")
MSS = {"TransportProcessingLayers": {"SemanticLayer": {"RdmaDataMSS": 8192}}}


def make(*sets: str, **more: Any) -> Config:
    return from_dict({**BASE, **more}, sets)


def test_documented_defaults() -> None:
    config = make()
    control = config.nic.TransportProcessingLayers.ScalaUETCongestionControl
    assert config.seed == 1
    assert config.nic.NetworkInterface.UplinkNetworkInterface.DataRate == 400 * 10**9
    assert config.nic.NetworkInterface.TransmissionMedium.Delay == 100_000
    assert config.switch.NetworkInterface.TransmissionMedium.Delay == 500_000
    assert (control.InitialBaseRTT, control.TargetQueueDelay) == (6_000_000, 4_500_000)
    assert control.QuickAdaptThreshold == 24_000_000
    assert config.nic.NetworkInterface.EgressBufferManager.PoolAllocationVector == (0.9, 0.1, 0, 0, 0, 0, 0, 0)
    assert config.switch.SharedBufferManager.PlaneBDP == 300_000
    assert config.switch.SharedBufferManager.UETPolicyEnabled is False
    assert config.switch.SharedBufferManager.EnablePFC == (1, 1, 0, 0, 0, 0, 0, 0)
    assert config.parameters.EnablePFCECNStatsLogging is True
    assert (config.parameters.MonitorScope, config.parameters.MaxRecordRows) == ("global", 0)
    assert config.buffers_interval_ps == config.switch_buffers_interval_ps == 10**9


def test_times_of_a_run() -> None:
    config = make(SimulationParameters={"StartTime": 0.002, "ClientStartOffset": 0.5, "WarmUp": 0.1, "RunTime": 1.5,
                                        "CoolDown": 0.25, "NDStatsReportInterval": 1e-6, "TriggerDelay": "250ns"})
    assert config.start_ps == 2 * 10**9
    assert config.workload_start_ps == 502 * 10**9
    assert config.stop_ps == 1_852 * 10**9
    assert config.interval_ps == 10**6
    assert config.trigger_delay_ps == 250_000
    assert make(SimulationParameters={"StartTime": 0.3}).start_ps == 3 * 10**11  # as written, not the binary fraction


def test_queue_limits_under_the_uet_policy() -> None:
    assert queue_limit_bytes(make().switch) == 1_500_000
    assert queue_limit_bytes(make("switch.PacketTrimmer.TrimmingEnabled=true", *LOSSY).switch) == 300_000


def test_set_reaches_every_kind_of_place() -> None:
    config = make("seed=7", "fabric.racks=3", "switch.SharedBufferManager.PlaneBDP=626650B", "workload.size=3MB",
                  "nic_overrides.0.racks=[2]", "nic.NetworkInterface={TransmissionMedium: {Delay: 1us}}",
                  nic_overrides=[{"racks": [1], "set": RATE}])
    assert (config.seed, config.fabric.racks, config.workload.size) == (7, 3, 3_000_000)
    assert config.switch.SharedBufferManager.PlaneBDP == 626_650
    assert config.nic_overrides[0].racks == [2]
    assert config.nic.NetworkInterface.TransmissionMedium.Delay == 1_000_000


def test_the_last_set_wins() -> None:
    assert make("seed=7", "seed=9").seed == 9


@pytest.mark.parametrize(("option", "message"), [
    ("nic.TrimmingEnabled=true", "--set nic.TrimmingEnabled=true: unknown path 'nic.TrimmingEnabled'; did you mean nic."
     "TransportProcessingLayers.ScalaUETPdsManager.TrimmingEnabled or switch.PacketTrimmer.TrimmingEnabled?"),
    ("sed=1", "--set sed=1: unknown path 'sed'; nearest valid path: seed"),
    ("fabric.rack=3", "--set fabric.rack=3: unknown path 'fabric.rack'; nearest valid path: fabric.racks"),
    ("seed", "--set seed: write it as path=value, e.g. seed=7"),
    ("=1", "--set =1: write it as path=value, e.g. seed=7"),
    ("seed=[1", "--set seed=[1: the value cannot be read: broken YAML: "),
    ("fabric.racks=0", "--set: fabric.racks: 0 is out of range"),
    ("nic_overrides.3.racks=[1]", "--set nic_overrides.3.racks=[1]: unknown path"),
    ("workload.file=none.cm", "--set: workload.file: "),
])
def test_wrong_sets(option: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        make(option)
    assert str(caught.value).startswith(message)


def test_relative_paths_of_the_file_and_of_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in ("a", "b"):
        (tmp_path / folder / "x.cm").write_text("Nodes 2\nConnections 1\n0->1 id 1 start 0 size 10\n")
    config = tmp_path / "a" / "c.yaml"
    config.write_text(yaml.safe_dump({**BASE, "workload": {"kind": "cm", "file": "x.cm"}}))
    monkeypatch.chdir(tmp_path / "b")
    assert load(config).workload.file == str(tmp_path / "a" / "x.cm")
    assert load(config, ["workload.file=x.cm"]).workload.file == str(tmp_path / "b" / "x.cm")
    assert load(config, ["workload={kind: cm, file: x.cm}"]).workload.file == str(tmp_path / "b" / "x.cm")


def test_overrides_by_rack_and_name() -> None:
    config = make(nic_overrides=[{"racks": [1], "set": RATE}, {"names": ["NIC-1*"], "set": MSS},
                                 {"racks": [7], "names": ["NIC-1*"], "set": RATE}])
    plain, rack, both = config.nic_for(0, 0, "NIC-0"), config.nic_for(8, 1, "NIC-8"), config.nic_for(12, 1, "NIC-12")
    assert plain is config.nic
    assert rack.NetworkInterface.UplinkNetworkInterface.DataRate == 200 * 10**9
    assert rack.TransportProcessingLayers.SemanticLayer.RdmaDataMSS == 4096
    assert both.NetworkInterface.UplinkNetworkInterface.DataRate == 200 * 10**9
    assert both.TransportProcessingLayers.SemanticLayer.RdmaDataMSS == 8192
    assert config.nic_for(9, 1, "NIC-9") is rack
    assert config.nic_for(56, 7, "NIC-56") is plain  # in rack 7, but not of that name
    assert config.nic_for(10, 7, "NIC-10") is both  # other overrides, equal attributes
    assert config.largest_mss_bytes == 8192


def test_a_later_override_wins() -> None:
    slow = {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "100Gbps"}}}
    config = make(nic_overrides=[{"racks": [0], "set": slow}, {"names": ["*"], "set": RATE}])
    assert config.nic_for(0, 0, "NIC-0").NetworkInterface.UplinkNetworkInterface.DataRate == 200 * 10**9


def test_switch_overrides_by_tier() -> None:
    twice = {"SharedBufferManager": {"PlaneBDP": "600KB"}}
    config = make(switch_overrides=[{"tiers": ["spine"], "set": twice}])
    assert config.switch_for("SpineSwitch-0", 0).SharedBufferManager.PlaneBDP == 600_000
    assert config.switch_for("RackSwitch-0", 2) is config.switch


def test_overrides_that_only_clash_together() -> None:
    """300 ns at 400 Gb/s is a window of 22,500 B, and 40 Gb/s at 6 us one of 45,000 B; both together 2,250 B."""
    short = {"TransportProcessingLayers": {"ScalaUETCongestionControl": {"InitialBaseRTT": "300ns"}}}
    slow = {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "40Gbps"}}}
    config = make(nic_overrides=[{"racks": [1], "set": short}, {"names": ["NIC-9"], "set": slow}])
    config.nic_for(8, 1, "NIC-8")
    with pytest.raises(InputError, match=r"nic_overrides\.1: NIC-9 .*maximum window 1.5 x 40Gbps x 300ns is 2250 B"):
        config.nic_for(9, 1, "NIC-9")


def test_an_override_that_selects_nothing_is_refused() -> None:
    config = make(nic_overrides=[{"racks": [1], "set": RATE}, {"names": ["NIC-9*"], "set": RATE}],
                  switch_overrides=[{"tiers": ["fabric"], "set": {}}])
    with pytest.raises(InputError, match=r"nic_overrides\.1: this override selects nothing") as caught:
        config.check_overrides([("NIC-0", 0), ("NIC-1", 1)], [("RackSwitch-0", 2)])
    assert [entry.where for entry in getattr(caught.value, "problems", [])] == ["nic_overrides.1", "switch_overrides.0"]


def test_a_link_slower_than_the_nic_is_checked() -> None:
    config = make("nic.TransportProcessingLayers.ScalaUETCongestionControl.InitialBaseRTT=60ns")
    config.check_link(config.nic, 400 * 10**9, "NIC-0")
    with pytest.raises(InputError, match=r"NIC-0: the maximum window 1.5 x 100Gbps x 60ns is 1125 B"):
        config.check_link(config.nic, 100 * 10**9, "NIC-0")


def test_link_rules_for_the_builders() -> None:
    rules = make(nic_overrides=[{"racks": [1], "set": RATE}]).link_rules()
    assert (rules.nic(0, "NIC-0", 0).rate_bps, rules.nic(0, "NIC-0", 0).delay_ps) == (400 * 10**9, 100_000)
    assert rules.nic(8, "NIC-8", 1).rate_bps == 200 * 10**9
    switch = rules.switch(2, "RackSwitch-0")
    assert (switch.uplink_bps, switch.downlink_bps, switch.delay_ps) == (400 * 10**9, 400 * 10**9, 500_000)
    ports = "switch.NetworkInterface."
    rules = make(ports + "UplinkNetworkInterface.DataRate=800Gbps", ports + "TransmissionMedium.Delay=7ns",
                 ports + "DownlinkNetworkInterface.DataRate=200Gbps",
                 "nic.NetworkInterface.TransmissionMedium.Delay=9ns").link_rules()
    switch = rules.switch(2, "RackSwitch-0")
    assert (switch.uplink_bps, switch.downlink_bps, switch.delay_ps) == (800 * 10**9, 200 * 10**9, 7_000)
    assert rules.nic(0, "NIC-0", 0).delay_ps == 9_000


def test_intervals_of_the_buffer_records() -> None:
    config = make("SimulationParameters.NetworkBufferStatsReportingInterval=0.00002",
                  "switch.SharedBufferManager.BufferStatsReportInterval=30us")
    assert (config.buffers_interval_ps, config.switch_buffers_interval_ps) == (20_000_000, 30_000_000)


def test_errors_of_later_stages_get_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("simulation: a\nfabric: {kind: leaf-spine}\nworkload:\n  kind: incast\n")
    placed = load(path).placed(InputError("unknown host 99", where="workload.kind"))
    assert str(placed) == f"{path}:4: workload.kind: unknown host 99"
    elsewhere = InputError("x", file="t.cm", line=3)
    assert load(path).placed(elsewhere) is elsewhere


def test_the_canonical_form_reads_back_and_spells_units() -> None:
    config = make("fabric.racks=3", nic_overrides=[{"racks": [1], "set": RATE}])
    plain = config.canonical()
    assert plain["nic"]["NetworkInterface"]["TransmissionMedium"]["Delay"] == "100ns"
    assert plain["nic_overrides"] == [{"racks": [1], "set": RATE}]
    again = from_dict(yaml.safe_load(yaml.safe_dump(plain)))
    assert again.canonical() == json.loads(json.dumps(plain))
    assert again.digest() == config.digest()


def test_the_digest_depends_on_values_only(tmp_path: Path) -> None:
    digest = make().digest()
    assert len(digest) == 64
    assert make("nic.NetworkInterface.TransmissionMedium.Delay=0.1us").digest() == digest
    assert make("nic.NetworkInterface.TransmissionMedium.Delay=101ns").digest() != digest
    assert make("seed=2").digest() != digest
    program = f"from distsim.config import from_dict; print(from_dict({BASE!r}).digest())"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                           env={"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONHASHSEED": "5"})
    assert other.stdout.strip() == digest


def test_the_digest_counts_files_by_content(tmp_path: Path) -> None:
    for name, size in (("a.cm", 10), ("b.cm", 10), ("c.cm", 11)):
        (tmp_path / name).write_text(f"Nodes 2\nConnections 1\n0->1 id 1 start 0 size {size}\n")
    a, b, c = (from_dict({**BASE, "workload": {"kind": "cm", "file": name}}, folder=tmp_path).digest()
               for name in ("a.cm", "b.cm", "c.cm"))
    assert a == b != c


def test_an_empty_section_means_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("simulation: t1\nfabric: {kind: leaf-spine}\nworkload: {kind: permutation}\nnic:\n"
                    "switch:\n  EcnHandler:\n")
    assert load(path).digest() == make().digest()


def test_lists_are_read_as_documented_strings_too() -> None:
    assert make("switch.SharedBufferManager.EnablePFC='[1, 1, 0, 0, 0, 0, 0, 0]'").digest() == make().digest()


def leaves(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for key, field in fields_of((model,)).items():
        below = models_in(field.annotation)
        if below:
            yield from leaves(below[0])
        else:
            yield key, field


# Rows of the documented tables: 4 + 1 + 1 + 8 + 4 + 15 + 2 + 3 + 23 + 1 + 10 + 2 x 6; 8 + 1 + 1 + 1 + 2 + 2 + 13 + 5.
# Four more are ours (Plugin).
@pytest.mark.parametrize(("model", "count"), [(Nic, 84 + 4), (Switch, 33)])
def test_every_attribute_is_described_and_says_whether_it_acts(model: type[BaseModel], count: int) -> None:
    found = list(leaves(model))
    assert len(found) == count
    for key, field in found:
        assert field.description, key
        assert field.json_schema_extra["acts"] in ("acts", "inert", "advisory", *FIXED), key


def test_json_schema_is_sound() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["required"]) == {"simulation", "fabric", "workload"}
    assert schema["additionalProperties"] is False
    definitions = schema["$defs"]
    delay = definitions["NicMedium"]["properties"]["Delay"]
    assert (delay["default"], delay["acts"], delay["unit"]) == ("100ns", "acts", "time")
    assert schema["properties"]["fabric"]["discriminator"]["propertyName"] == "kind"
    text = json.dumps(schema)
    for name in {part.split('"')[0] for part in text.split("#/$defs/")[1:]}:
        assert name in definitions
