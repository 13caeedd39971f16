"""Every attribute has a test that it acts, is inert as documented, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
import test_attributes_control
import test_attributes_hosts
import test_attributes_monitor
import test_attributes_plugin
import test_attributes_run
import test_attributes_switch
from attribute_cases import BUFFER, HOST_END, IN, NIC_END, PDS, acting, records_of, run

from distsim.errors import InputError

TABLES: list[dict[str, Any]] = [
    test_attributes_run.TIMES, test_attributes_run.RECORDS, test_attributes_run.SCOPE, test_attributes_hosts.TABLE,
    test_attributes_control.TABLE, test_attributes_monitor.TABLE, test_attributes_switch.TABLE,
    test_attributes_plugin.TABLE]
RUD = "Reliable Unordered Delivery (RUD)"
INERT = {
    IN + "QueueSchedulingType": "RoundRobin",
    IN + "WRRQueueWeights": [9, 9, 0, 0, 0, 0, 0, 0],
    PDS + "DefaultDeliveryMethod": RUD,                     # the one value that there is
    NIC_END + "TransactionLayer.RXHeaderBufferSize": "34B",
    HOST_END + "TransactionLayer.RXHeaderBufferSize": "34B",
}
ADVISORY = {
    "switch.NumUpLinks": 8, "switch.NumDownLinks": 8, "switch.NumUpLinksPerSwitch": 1,
    "switch.SwitchingCapacity": "100Gbps",
}
REFUSED = {
    "nic.NumDownLinks": 2,
    "switch.EnableLoadBalancingStats": True,
    "switch.LoadBalancingStatsReportInterval": "2ms",
    "switch.PacketTrimmer.TrimmingStatsEnabled": True,
}


def test_every_attribute_that_acts_is_in_a_table() -> None:
    covered = [path for table in TABLES for path in table]
    assert len(covered) == len(set(covered))
    assert sorted(covered) == sorted(acting())


def test_every_other_attribute_is_in_one_of_these() -> None:
    assert sorted(INERT) == sorted(acting("inert"))
    assert sorted(ADVISORY) == sorted(acting("advisory"))
    assert sorted(REFUSED) == sorted(acting("read-only") + acting("refused"))


@pytest.mark.parametrize("path", [*INERT, *ADVISORY])
def test_inert_attributes_change_no_record(path: str) -> None:
    """In a crowd with a slow host and pauses, where buffers, order and credits count."""
    given = {BUFFER + "StaticPoolXoffThreshold": "40KB", BUFFER + "StaticPoolXonThreshold": "20KB"}
    before, after = (records_of(run("slow host", changes)) for changes in (
        given, {**given, path: {**INERT, **ADVISORY}[path]}))
    assert set(before) == set(after) and len(before) > 10
    for name in before:
        assert before[name] == after[name], name


@pytest.mark.parametrize("path", REFUSED)
def test_refused_attributes_take_their_default_only(path: str) -> None:
    with pytest.raises(InputError, match=path.rsplit(".", 1)[1]):
        run("one", {path: REFUSED[path]})


def test_another_delivery_method_is_refused() -> None:
    with pytest.raises(InputError, match="DefaultDeliveryMethod"):
        run("one", {PDS + "DefaultDeliveryMethod": "Reliable Ordered Delivery (ROD)"})
