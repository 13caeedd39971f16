"""all_to_all through a leaf-spine whose leaves have fewer links up than NICs: the cut sets the time.

With p NICs a leaf and s spines a leaf's p members send each of the N - p others a block of C = S / N: p (N - p) C
bytes, and as many come in. s links of 400 Gb/s carry a packet of 4096 B every FRAME / s ps; no run can be faster. As
many packets come in as go out, so ACKs (78 B) take a share of 78 / 4280, 1.8 %, of every link. The switches trim
(without it, a queue that runs over costs a timeout of 150 us), NSCC holds the senders back.
"""

from __future__ import annotations

import pytest
from closed_form_cases import ACK, FRAME, PACKET, leaves, rack, timed

from distsim.workload.collectives import Options
from distsim.workload.graph import ALL_TO_ALL

WITH_ACKS = (FRAME + ACK) / FRAME                                       # 1.0186
MIB = 1 << 20


def over_bound(racks: int, per_rack: int, spines: int, algorithm: str, size: int, **more: object) -> float:
    """Time over that of the cut alone."""
    members = racks * per_rack
    packets = per_rack * (members - per_rack) * -(-size // members // PACKET)
    got = timed(leaves(racks, per_rack, spines), ALL_TO_ALL, algorithm, members, size, trimming=True, **more)
    return got * spines / (packets * FRAME)


def test_the_bound_by_hand():
    # 8 ranks, two leaves, one spine, 8 MiB: 4 * 4 blocks of 256 packets through each of the two links: 4096 frames,
    # 344,227,840 ps. Their NICs alone would take 7 * 256 frames, 150,599,680 ps.
    got = timed(leaves(2, 4, 1), ALL_TO_ALL, "interleaved", 8, 8 * MIB, trimming=True)
    assert 344_227_840 < got == pytest.approx(344_227_840 * over_bound(2, 4, 1, "interleaved", 8 * MIB))
    wide = timed(leaves(2, 4, 4), ALL_TO_ALL, "interleaved", 8, 8 * MIB, trimming=True)
    assert 150_599_680 < wide < 344_227_840


@pytest.mark.parametrize(("racks", "per_rack"), [(2, 4), (4, 4)])
@pytest.mark.parametrize("algorithm", ["interleaved", "nccl"])
def test_all_at_once_comes_to_the_cut(racks, per_rack, algorithm):
    # 32 MiB from each: data and ACKs fill the links but for a per cent.
    assert WITH_ACKS < over_bound(racks, per_rack, 1, algorithm, 32 * MIB) < WITH_ACKS * 1.01


@pytest.mark.parametrize("racks", [2, 4])
@pytest.mark.parametrize(("algorithm", "most"), [("pairwise", 1.07), ("sequential", 1.12)])
def test_one_after_another_comes_near_it(racks, algorithm, most):
    # Of two leaves of four 1, 2, 3, 4, 3, 2, 1 members send to the other leaf in the seven steps: 16 blocks through the
    # link if the steps are kept (pairwise). Without waiting for each other members run apart, and the last ones share
    # the cut with fewer.
    assert WITH_ACKS < over_bound(racks, 4, 1, algorithm, 32 * MIB) < most


def test_several_spines_share_it():
    # Two links up of four: 4 * 4 C over two is 8 C, little more than the 7 C through a NIC: both bind, within 6 %.
    assert WITH_ACKS < over_bound(2, 4, 2, "interleaved", 32 * MIB) < 1.06


def test_small_sizes_take_longer_than_the_cut():
    assert over_bound(2, 4, 1, "interleaved", MIB) > 1.04


@pytest.mark.parametrize("options", [Options(), Options(channels=2, chunk_bytes=128 << 10)])
def test_32_ranks_four_to_one(options):
    # Four leaves of eight NICs and two spines: 8 * 24 blocks through two links, 96 C, against 31 C through a NIC.
    assert WITH_ACKS < over_bound(4, 8, 2, "interleaved", 64 * MIB, options=options) < WITH_ACKS * 1.03


def test_without_a_thin_spine_the_nics_bind():
    # In one rack 7 * 1024 packets through each NIC, with their ACKs.
    got = timed(rack(8), ALL_TO_ALL, "interleaved", 8, 32 * MIB)
    assert 7 * 1024 * FRAME * WITH_ACKS < got < 7 * 1024 * FRAME * WITH_ACKS * 1.005
