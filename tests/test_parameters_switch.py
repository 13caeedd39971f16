"""SWPAR and BUFFER rows of a switch: hashes, classes, pools, limits, ECN thresholds; by hand, from the reference's
worked example (models/scala-switch/shared-buffer, 128 connected ports)."""

from __future__ import annotations

from typing import Any

import pytest

from distsim.config.rules_switch import pool_sizes
from distsim.config.switch import Switch
from distsim.parameters import buffer_rows, needs_shared, switch_row
from distsim.state import tables as t

LOSSY = [0, 0, 0, 0, 0, 0, 0, 0]
POLICY = {"UETPolicyEnabled": True, "EnablePFC": LOSSY}


def switch(trimming: bool = False, top: dict[str, Any] | None = None, **buffer: Any) -> Switch:
    return Switch.model_validate({"SharedBufferManager": buffer, "PacketTrimmer": {"TrimmingEnabled": trimming},
                                  **(top or {})})


def row(*args: Any, **more: Any) -> dict[str, Any]:
    found = switch_row(*args, **more)
    assert found.dtype == t.SWPAR and found.shape == (1,)
    return {name: found[name][0].item() for name in found.dtype.names}


def pick(par: dict[str, Any], *names: str) -> list[Any]:
    return [par[name] for name in names]


def table(found: Switch, ports: int) -> list[tuple[Any, ...]]:
    rows = buffer_rows(found, ports)
    assert rows.dtype == t.BUFFER and rows.shape == (3,)
    return [tuple(rows[name][k].item() for name in ("size_bytes", "limit_bytes", "ecn_min_bytes", "ecn_max_bytes"))
            for k in range(3)]


def test_the_platform_s_defaults() -> None:
    par = row(switch())
    assert pick(par, "uet_policy", "control_tc", "hash_method", "flowlet", "pfc_aware") == [0, 1, t.HASH_CRC_SALT, 0, 1]
    assert pick(par, "pfc_0", "pfc_1", "pfc_2", "slot_0", "slot_1", "slot_2") == [1, 1, 0, 0, 1, 0]
    assert pick(par, "alpha", "xoff_bytes", "xon_bytes", "headroom_bytes") == [1.0, 700_000, 300_000, 256_000]
    assert pick(par, "gap_ps", "buffer_stats", "eager") == [100_000_000, 0, 0]


def test_the_uet_policy() -> None:
    par = row(switch(**{**POLICY, "EnablePFC": [0, 0, 1, 0, 0, 0, 0, 0]}), buffer_stats=True)
    assert pick(par, "uet_policy", "control_tc", "alpha", "buffer_stats") == [1, 2, 0.0, 1]
    assert pick(par, "pfc_0", "pfc_1", "pfc_2", "slot_0", "slot_1", "slot_2") == [0, 0, 1, 0, 1, 2]
    assert pick(par, "data_limit_bytes", "rtx_limit_bytes", "ecn_min_bytes") == [1_500_000, 2_250_000, 300_000.0]


@pytest.mark.parametrize(("name", "number"), [
    ("crc32WithSalt", t.HASH_CRC_SALT), ("crc32", t.HASH_CRC), ("hash", t.HASH_XOR), ("hashWithSalt", t.HASH_XOR_SALT),
    ("dpr", t.HASH_DPR), ("dprWithFallback", t.HASH_DPR_FALLBACK)])
def test_hashes(name: str, number: int) -> None:
    assert row(switch(top={"EcmpHashMethod": name}))["hash_method"] == number


def test_thresholds_of_pfc() -> None:
    par = row(switch(LossyAlpha=0.5, StaticPoolXoffThreshold="40KB", StaticPoolXonThreshold="20KB",
                     HeadRoomPerPortLimit="100KB", EnablePFC=[0, 1, 1, 0, 0, 0, 0, 0]))
    assert pick(par, "alpha", "xoff_bytes", "xon_bytes", "headroom_bytes") == [0.5, 40_000, 20_000, 100_000]
    assert pick(par, "pfc_0", "pfc_1", "pfc_2") == [0, 1, 1]


def test_flowlets() -> None:
    par = row(switch(top={"LoadBalancingMethod": "flowlet",
                          "LoadBalancingFlowlet": {"Gap": "7us", "PFCAware": False}}))
    assert pick(par, "flowlet", "gap_ps", "pfc_aware") == [1, 7_000_000, 0]


def test_advisory_attributes_change_nothing() -> None:
    assert row(switch(top={"NumUpLinks": 1, "NumDownLinks": 2, "NumUpLinksPerSwitch": 3,
                           "SwitchingCapacity": "1Gbps"})) == row(switch())


def test_ecn() -> None:
    ecn = {"EnableEcn": False, "EwmaWeight": 0.5, "MinThreshold": 0.1, "MaxThreshold": 0.9, "MaxMarkProbability": 0.3}
    found = switch(top={"EcnHandler": ecn}, **POLICY)
    assert pick(row(found), "ecn", "ecn_weight", "ecn_min_bytes", "ecn_max_bytes", "ecn_max_probability") == [
        0, 0.5, 150_000.0, 1_350_000.0, 0.3]
    assert table(found, 4)[0][1:] == (1_500_000, 150_000.0, 1_350_000.0)


def test_slots_are_the_pools_in_order_of_first_use() -> None:
    mapping = {"PoolAllocationMap": [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0, 0]}
    assert pick(row(switch(TrafficClassPoolMapping=[4, 2, 4, 0, 0, 0, 0, 0], **mapping)), "slot_0", "slot_1",
                "slot_2") == [0, 1, 0]
    assert pick(row(switch(TrafficClassPoolMapping=[3, 3, 1, 0, 0, 0, 0, 0], **mapping)), "slot_0", "slot_1",
                "slot_2") == [0, 0, 1]


def test_pools_of_the_worked_example() -> None:
    """256,000,000 - 128 x 256,000 = 223,232,000 B; 0.9 and 0.1 of it; ECN at 0.2 and 0.8 of the whole pool."""
    assert table(switch(), 128) == [(200_908_800, 0, 40_181_760.0, 160_727_040.0),
                                    (22_323_200, 0, 4_464_640.0, 17_858_560.0), (0, 0, 0.0, 0.0)]


def test_fixed_limits_of_the_worked_example() -> None:
    even = table(switch(LossyAlpha=0.0), 128)
    assert even[:2] == [(200_908_800, 1_569_600, 313_920.0, 1_255_680.0), (22_323_200, 174_400, 34_880.0, 139_520.0)]
    capped = table(switch(LossyAlpha=0.0, QueueDropThresholdEnable=True), 128)
    assert capped[:2] == [(200_908_800, 1_500_000, 300_000.0, 1_200_000.0), (22_323_200, 1_500_000, 300_000.0,
                                                                             1_200_000.0)]


def test_pools_under_the_uet_policy() -> None:
    """223,232,000 x 3 / 7 = 95,670,857.1 and x 2 / 7 = 63,780,571.4; the third takes the rest."""
    off = table(switch(**POLICY), 128)
    assert [entry[0] for entry in off] == [95_670_857, 63_780_571, 63_780_572]
    assert {entry[1:] for entry in off} == {(1_500_000, 300_000.0, 1_200_000.0)}
    on = table(switch(trimming=True, **POLICY), 128)
    assert {entry[1:] for entry in on} == {(300_000, 60_000.0, 240_000.0)}


@pytest.mark.parametrize(("fractions", "sizes"), [
    ([0.5, 0.2, 0, 0, 0, 0, 0, 0], {0: 500_000, 1: 500_000}),           # 300,000 B short: the last takes them
    ([0.9, 0.2, 0, 0, 0, 0, 0, 0], {0: 900_000, 1: 100_000}),           # 100,000 B too many: the last loses them
    ([1, 0, 0, 0, 0, 0, 0, 0], {0: 1_000_000}),
    ([0.5, 0, 0, 0.25, 0, 0, 0, 0], {0: 500_000, 3: 500_000}),
])
def test_the_last_pool_takes_the_difference(fractions: list[float], sizes: dict[int, int]) -> None:
    found = switch(TotalSharedBufferSize="1MB", HeadRoomPerPortLimit="0", PoolAllocationMap=fractions)
    assert pool_sizes(found, 4) == sizes


def test_thresholds_come_from_a_pool_before_that() -> None:
    """Pool 1 has 500,000 B, its limit and thresholds come from 0.2 x 1 MB = 200,000 B; 4 ports."""
    found = {"TotalSharedBufferSize": "1MB", "HeadRoomPerPortLimit": "0",
             "PoolAllocationMap": [0.5, 0.2, 0, 0, 0, 0, 0, 0]}
    assert table(switch(**found), 4)[1] == (500_000, 0, 40_000.0, 160_000.0)
    assert table(switch(LossyAlpha=0.0, **found), 4)[1] == (500_000, 50_000, 10_000.0, 40_000.0)


def test_rows_follow_the_slots() -> None:
    found = switch(TotalSharedBufferSize="1MB", HeadRoomPerPortLimit="0",
                   PoolAllocationMap=[0.5, 0.3, 0.2, 0, 0, 0, 0, 0], TrafficClassPoolMapping=[2, 0, 2, 0, 0, 0, 0, 0])
    assert [entry[0] for entry in table(found, 4)] == [200_000, 500_000, 0]


def test_when_the_shared_buffer_must_be_counted() -> None:
    assert needs_shared(switch(), 4)                                                  # pools by map
    assert not needs_shared(switch(**POLICY), 4)
    assert needs_shared(switch(**POLICY), 4, buffer_stats=True)
    assert needs_shared(switch(**{**POLICY, "EnablePFC": [0, 0, 1, 0, 0, 0, 0, 0]}), 4)
    assert not needs_shared(switch(**{**POLICY, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 1]}), 4)


def test_pools_that_every_full_queue_fits() -> None:
    """10 ports at 1,500,000 B (data 2,250,000 B): 22,500,000 B and one packet of at most 65,535 B need 22,565,535 B.

    Data has 3 / 7: 52,652,915 B of pools in all; 2 B fewer leave 22,565,534 B. The others have 2 / 7 for 15,065,535 B:
    52,729,373 B in all, which is more, so it is they that decide.
    """
    def buffer(total: int) -> Switch:
        return switch(TotalSharedBufferSize=f"{total}B", HeadRoomPerPortLimit="0", **POLICY)

    assert not needs_shared(buffer(52_729_373), 10)
    assert needs_shared(buffer(52_729_372), 10)
