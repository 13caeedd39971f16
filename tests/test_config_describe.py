"""The table of attributes is up to date, complete, and points at what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from distsim.config.describe import NO_EFFECT, SECTIONS, TABLE, attributes, markdown
from distsim.config.where import TESTS, WHERE, longest

ROOT = Path(__file__).parents[1]
PATHS = [path for section in SECTIONS for path, _ in attributes(section)]


def test_the_table_is_up_to_date() -> None:
    assert TABLE.read_text() == markdown(), "run python -m distsim.config.describe"


def test_rows() -> None:
    lines = TABLE.read_text().splitlines()
    assert len(PATHS) == 23 + 88 + 33
    assert sum(line.startswith("| `") for line in lines) == len(PATHS)
    assert any(line.startswith("| `NetworkInterface.TransmissionMedium.Delay` | 100ns | at most 100s | time | acts |")
               for line in lines)
    assert any(line.startswith("| `NumDownLinks` | 1 | 1 only | - | read-only |") for line in lines)


def test_every_acting_attribute_names_its_module() -> None:
    for section in SECTIONS:
        for path, field in attributes(section):
            extra = field.json_schema_extra
            assert isinstance(extra, dict)
            if extra["acts"] not in NO_EFFECT:
                assert longest(path, WHERE), path


def test_inert_advisory_and_refused_are_the_documented_ones() -> None:
    acts: dict[str, list[str]] = {kind: [] for kind in ("acts", *NO_EFFECT)}
    for section in SECTIONS:
        for path, field in attributes(section):
            extra = field.json_schema_extra
            assert isinstance(extra, dict)
            acts[str(extra["acts"])].append(path)
    assert acts["read-only"] == ["nic.NumDownLinks"]
    assert acts["advisory"] == ["switch.NumUpLinks", "switch.NumDownLinks", "switch.NumUpLinksPerSwitch",
                                "switch.SwitchingCapacity"]
    assert acts["refused"] == ["switch.EnableLoadBalancingStats", "switch.LoadBalancingStatsReportInterval",
                               "switch.PacketTrimmer.TrimmingStatsEnabled"]
    ends = ("NICSide.PCIeGen3.0.NicDeviceLayer.NicPCIeInterface",
            "HostSide.PCIeGen3.0.ScalaHostPCIeDeviceLayer.HostPCIeInterface")
    assert acts["inert"] == [
        "nic.NetworkInterface.IngressBufferManager.QueueSchedulingType",
        "nic.NetworkInterface.IngressBufferManager.WRRQueueWeights",
        "nic.TransportProcessingLayers.ScalaUETPdsManager.DefaultDeliveryMethod",
        *(f"nic.HostInterface.{end}.TransactionLayer.RXHeaderBufferSize" for end in ends)]


@pytest.mark.parametrize("table", [WHERE, TESTS])
def test_no_entry_is_for_nothing(table: dict[str, str]) -> None:
    for start in table:
        assert any(path.startswith(start) for path in PATHS), start


def test_modules_and_tests_exist() -> None:
    for module in WHERE.values():
        assert (ROOT / "distsim" / module).exists(), module
    for test in TESTS.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / f"{file}.py").read_text(), test
