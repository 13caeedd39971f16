"""Generated workloads: patterns worked out by hand, seeds, limits and refusals."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.workload import WORKLOADS, build, late_starts
from distsim.workload.types import LOG_MESSAGE, ON_SEND_DONE, SEND, TRIGGER_DELAY, Workload


def make(kind: str, nics: int = 8, seed: int = 1, **fields: object) -> Workload:
    return build(WORKLOADS[kind].Spec(kind=kind, **fields), nics, seed)


def pairs(workload: Workload) -> list[tuple[int, int]]:
    return list(zip(workload.ops["host"].tolist(), workload.ops["dst"].tolist(), strict=True))


def edge_list(workload: Workload) -> list[tuple[int, int, int]]:
    assert (workload.edges["delay_ps"] == TRIGGER_DELAY).all()
    return [tuple(edge)[:3] for edge in workload.edges.tolist()]


def refused(where: str, message: str, kind: str, nics: int = 8, **fields: object) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(kind, nics, **fields)
    assert caught.value.where == where


# ---- permutation ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("hosts", [2, 3, 5, 128])
def test_permutation_is_a_derangement(hosts: int) -> None:
    for seed in range(20):
        workload = make("permutation", hosts, seed, size="2MB", start="3us")
        assert workload.ops["host"].tolist() == list(range(hosts))
        assert sorted(workload.ops["dst"].tolist()) == list(range(hosts))
        assert (workload.ops["host"] != workload.ops["dst"]).all()
        assert set(workload.ops["size_bytes"].tolist()) == {2_000_000}
        assert set(workload.ops["start_ps"].tolist()) == {3_000_000}
        assert set(workload.ops["flags"].tolist()) == {LOG_MESSAGE}
    assert workload.ops["user_id"].tolist() == list(range(1, hosts + 1))
    assert set(workload.ops["kind"].tolist()) == {SEND} and (workload.ops["deps"] == 0).all()
    assert len(workload.edges) == 0


def test_permutations_of_three_are_equally_likely() -> None:
    # Three hosts have two derangements, 1 2 0 and 2 0 1.
    first = sum(make("permutation", 3, seed).ops["dst"][0] == 1 for seed in range(400))
    assert 160 < first < 240


def test_permutation_follows_seed_and_offset() -> None:
    def drawn(seed: int, **fields: object) -> list[int]:
        return make("permutation", 64, seed, **fields).ops["dst"].tolist()

    assert drawn(5) == drawn(5) == drawn(5, seed_offset=0, size="5KB")
    assert drawn(5) != drawn(6)
    assert drawn(5) != drawn(5, seed_offset=1)


def test_permutation_is_the_same_on_every_machine() -> None:
    # Written down once: seed (7, CRC-32 of "permutation"), PCG64's raw bits in order, the first without fixed point.
    assert make("permutation", 8, 7).ops["dst"].tolist() == [3, 6, 4, 7, 2, 0, 5, 1]


def test_permutation_of_some_hosts() -> None:
    some = make("permutation", hosts=[6, 1, 4])
    assert some.ops["host"].tolist() == [6, 1, 4] and sorted(some.ops["dst"].tolist()) == [1, 4, 6]
    first = make("permutation", hosts=3)
    assert sorted(first.ops["dst"].tolist()) == [0, 1, 2]


@pytest.mark.parametrize(("hosts", "message"), [
    ([1, 8], "unknown host 8; the fabric has hosts 0 to 7"), ([1, 2, 1], "host 1 is listed twice"),
    (9, "9 hosts are more than the 8 of the fabric"), ([3], "1 host given; at least 2 are needed"),
    (1, "at least 2 are needed")])
def test_hosts_that_are_refused(hosts: object, message: str) -> None:
    for kind in ("permutation", "all-to-all", "ring"):
        with pytest.raises(InputError, match=message) as caught:
            make(kind, hosts=hosts)
        assert caught.value.where == "workload.hosts"


# ---- incast --------------------------------------------------------------------------------------------------------
def test_incast_draws_distinct_senders() -> None:
    workload = make("incast", 64, receiver=5, senders=32, size="1MB", spacing="2us", start="1us")
    assert set(workload.ops["dst"].tolist()) == {5}
    senders = workload.ops["host"].tolist()
    assert len(set(senders)) == 32 and 5 not in senders and max(senders) < 64
    assert workload.ops["start_ps"].tolist() == [1_000_000 + 2_000_000 * i for i in range(32)]
    assert senders == make("incast", 64, receiver=5, senders=32).ops["host"].tolist()
    assert senders != make("incast", 64, seed=2, receiver=5, senders=32).ops["host"].tolist()
    assert senders != make("incast", 64, receiver=5, senders=32, seed_offset=1).ops["host"].tolist()


def test_incast_of_all_and_of_listed_hosts() -> None:
    assert sorted(make("incast", 9, receiver=8, senders=8).ops["host"].tolist()) == list(range(8))
    assert len(make("incast", 4).ops) == 3
    assert len(make("incast", 64).ops) == 8
    assert pairs(make("incast", sources=[7, 2], receiver=3)) == [(7, 3), (2, 3)]


def test_incast_that_is_refused() -> None:
    refused("workload.receiver", "unknown host 8", "incast", receiver=8)
    refused("workload.senders", "8 senders; the fabric has 7 other hosts", "incast", senders=8)
    refused("workload.sources", "host 3 is the receiver", "incast", receiver=3, sources=[1, 3])
    refused("workload.sources", "unknown host 9", "incast", sources=[9])
    refused("workload.senders", "0 senders", "incast", nics=1)
    with pytest.raises(ValidationError, match="leave one of them out"):
        make("incast", senders=2, sources=[1, 2])


# ---- all-to-all ----------------------------------------------------------------------------------------------------
def test_all_to_all_parallel() -> None:
    workload = make("all-to-all", 3, mode="parallel", size="4KiB")
    assert pairs(workload) == [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]
    assert (workload.ops["deps"] == 0).all() and len(workload.edges) == 0
    assert set(workload.ops["size_bytes"].tolist()) == {4096}


def test_all_to_all_serial() -> None:
    workload = make("all-to-all", 4, start="5us")
    assert pairs(workload)[3:6] == [(1, 2), (1, 3), (1, 0)]
    assert workload.ops["deps"].tolist() == [0, 1, 1] * 4
    assert workload.ops["start_ps"].tolist() == [5_000_000, 0, 0] * 4
    assert edge_list(workload) == [(row, row + 1, ON_SEND_DONE) for row in (0, 1, 3, 4, 6, 7, 9, 10)]


def test_all_to_all_of_listed_hosts() -> None:
    workload = make("all-to-all", hosts=[5, 2, 7], mode="parallel")
    assert pairs(workload) == [(5, 2), (5, 7), (2, 7), (2, 5), (7, 5), (7, 2)]


def test_a_million_flows_are_built_quickly() -> None:
    start = time.perf_counter()
    workload = make("all-to-all", 1024, mode="parallel")
    assert time.perf_counter() - start < 2
    assert len(workload.ops) == 1024 * 1023
    assert len(np.unique(workload.ops["host"].astype("i8") * 1024 + workload.ops["dst"])) == 1024 * 1023
    refused("workload.hosts", "at most", "all-to-all", nics=20000)


# ---- ring ----------------------------------------------------------------------------------------------------------
def test_ring_walks_around_from_every_host() -> None:
    workload = make("ring", hosts=[0, 2, 5], size="250KB", start="1us")
    around = [(0, 2), (2, 5), (5, 0)]
    assert pairs(workload) == [around[(chain + step) % 3] for chain in range(3) for step in range(5)]
    assert workload.ops["user_id"].tolist() == list(range(1, 16))
    assert workload.ops["deps"].tolist() == [0, 1, 1, 1, 1] * 3
    assert workload.ops["start_ps"].tolist() == [1_000_000, 0, 0, 0, 0] * 3
    assert edge_list(workload) == [(5 * c + s, 5 * c + s + 1, ON_SEND_DONE) for c in range(3) for s in range(4)]


def test_ring_counts() -> None:
    # The reference matrix of 64 hosts holds 64 * 127 = 8128 flows and 8064 triggers.
    workload = make("ring", 128, hosts=64)
    assert (len(workload.ops), len(workload.edges)) == (8128, 8064)
    assert len(make("ring", 4, steps=6).ops) == 24
    assert len(make("ring", 4, steps=1).edges) == 0
    refused("workload.steps", "at most", "ring", steps=2**30)


# ---- several, late starts, limits ----------------------------------------------------------------------------------
def test_several_parts_keep_or_shift_their_ids() -> None:
    workload = make("several", 8, parts=[
        {"kind": "flows", "flows": [{"from": 0, "to": 1, "id": 10}, {"from": 1, "to": 2, "id": 3, "after": [10]}]},
        {"kind": "incast", "sources": [4, 5], "receiver": 6},
        {"kind": "ring", "hosts": [1, 2], "steps": 2}])
    # Part 2 has ids 1 and 2, which are free. Part 3 has 1 to 4, of which some are taken, so it starts after 10.
    assert workload.ops["user_id"].tolist() == [10, 3, 1, 2, 11, 12, 13, 14]
    assert edge_list(workload) == [(0, 1, ON_SEND_DONE), (4, 5, ON_SEND_DONE), (6, 7, ON_SEND_DONE)]
    assert pairs(workload)[2:4] == [(4, 6), (5, 6)]


def test_equal_parts_draw_differently() -> None:
    both = make("several", 64, parts=[{"kind": "permutation"}, {"kind": "permutation"}]).ops["dst"]
    alone = make("permutation", 64).ops["dst"]
    assert (both[:64] == alone).all() and (both[64:] != alone).any()


def test_errors_in_a_part_name_it() -> None:
    refused("workload.parts.1.hosts", "unknown host 8", "several",
            parts=[{"kind": "permutation"}, {"kind": "ring", "hosts": [1, 8]}])


@pytest.mark.parametrize(("kind", "fields", "message"), [
    ("several", {}, "parts is empty"), ("several", {"parts": [{"kind": "several"}]}, "does not match any"),
    ("permutation", {"size": "-1B"}, "negative"), ("permutation", {"size": 100}, "has no unit"),
    ("permutation", {"size": "2TiB"}, "unknown unit"), ("permutation", {"size": "1100GiB"}, "less than or equal to"),
    ("permutation", {"siz": "1MB"}, "Extra inputs"), ("ring", {"steps": 0}, "greater than or equal to 1"),
    ("ring", {"hosts": [-1, 2]}, "greater than or equal to 0"), ("all-to-all", {"mode": "both"}, "serial"),
    ("incast", {"senders": True}, "valid integer"), ("cm", {}, "file")])
def test_specifications_that_are_refused(kind: str, fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make(kind, **fields)


def test_size_zero_and_the_largest_size_pass() -> None:
    assert make("permutation", size=0).ops["size_bytes"][0] == 0
    assert make("permutation", size="1024GiB").ops["size_bytes"][0] == 2**40


def test_late_starts() -> None:
    workload = make("incast", 8, sources=[1, 2, 3, 4], spacing="10us")
    assert late_starts(workload, 20_000_000) == [2, 3]
    assert late_starts(workload, 20_000_001) == [3]
    assert late_starts(workload, 31_000_000) == []


def test_every_kind_that_reads_no_file_of_its_own_takes_a_cm_file(tmp_path: Path) -> None:
    path = tmp_path / "one.cm"
    path.write_text("Nodes 4\nConnections 1\n2->3 id 9 start 5 size 7\n")
    kinds = [kind for kind, module in WORKLOADS.items() if not getattr(module, "READS_FILE", False)]
    assert {"permutation", "collective", "several", "cm"} <= set(kinds) and not {"chakra", "goal"} & set(kinds)
    for kind in kinds:
        workload = make(kind, file=str(path))
        assert workload.ops[["user_id", "host", "dst", "size_bytes", "start_ps"]].tolist() == [(9, 2, 3, 7, 5)]


def test_an_incast_spaced_past_the_end_of_time_is_refused():
    """15 gaps of 10**6 s: the last start would not fit the clock."""
    spec = WORKLOADS["incast"].Spec(kind="incast", senders=16, spacing="1000000s")
    with pytest.raises(InputError, match="spacing: the last of 16 flows would start later than 1000000 s"):
        build(spec, 64, 1)
