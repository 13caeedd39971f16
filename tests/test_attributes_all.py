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

from distsim.config.where import TESTS, longest
from distsim.errors import InputError

# Test -> the attributes that it changes.
TABLES: dict[str, dict[str, Any]] = {
    "test_attributes_run::test_times_and_run": test_attributes_run.TIMES,
    "test_attributes_run::test_records_appear_and_disappear": test_attributes_run.RECORDS,
    "test_attributes_run::test_the_limit_of_triggers_counts_in_the_run_or_in_each_process": test_attributes_run.SCOPE,
    "test_attributes_run::test_records_of_ranks": test_attributes_run.RANKS,
    "test_attributes_hosts::test_nic": test_attributes_hosts.TABLE,
    "test_attributes_control::test_congestion_control": test_attributes_control.TABLE,
    "test_attributes_monitor::test_filters": test_attributes_monitor.FILTERS,
    "test_attributes_monitor::test_triggers": test_attributes_monitor.TRIGGERS,
    "test_attributes_plugin::test_plug_in": test_attributes_plugin.TABLE,
    "test_attributes_switch::test_switch": test_attributes_switch.TABLE,
}
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
    covered = [path for table in TABLES.values() for path in table]
    assert len(covered) == len(set(covered))
    assert sorted(covered) == sorted(acting())


def test_every_other_attribute_is_in_one_of_these() -> None:
    assert sorted(INERT) == sorted(acting("inert"))
    assert sorted(ADVISORY) == sorted(acting("advisory"))
    assert sorted(REFUSED) == sorted(acting("read-only") + acting("refused"))


def test_the_generated_table_names_these_tests() -> None:
    inert = {"test_attributes_all::test_inert_attributes_change_no_record": INERT | ADVISORY,
             "test_attributes_all::test_refused_attributes_take_their_default_only": REFUSED}
    for test, table in (TABLES | inert).items():
        for path in table:
            assert longest(path, TESTS) == test, path


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
