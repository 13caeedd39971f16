"""Sums that the chakra records of any run keep: what is sent is received, fractions reach 1, times are in order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from chakra_cases import COLL_NODE, COMP_NODE, MEM_LOAD, RECV_NODE, SEND_NODE, node, trace, write
from replay_cases import replayed

import distsim

CONFIGS = Path(__file__).parent.parent / "configs"
RANKS = 6
COUNTS = ("num_chakra_sends_completed", "num_chakra_receives_completed", "num_chakra_sends_fully_acked",
          "num_chakra_computations_completed")


def random_traces(folder: Path, seed: int) -> str:
    """Computations, transfers and collectives in groups, each rank's in one order; later nodes wait for earlier ones.
    A collective or transfer is issued at its ranks in one order of all, so that nothing waits for ever."""
    rng = np.random.default_rng(seed)
    groups = {f"g{k}": rng.permutation(RANKS)[:rng.integers(2, RANKS + 1)].tolist() for k in range(4)}
    (folder / "t.json").write_text(json.dumps(groups))
    nodes: list[list[bytes]] = [[] for _ in range(RANKS)]

    def add(rank: int, kind: int, duration_us: int = 0, **attributes: object) -> None:
        number = len(nodes[rank])
        after = tuple(rng.choice(number, min(number, 2), replace=False).tolist()) if number else ()
        nodes[rank].append(node(number, kind, duration_us, after, **attributes))

    for step in range(14):
        size, what = int(rng.integers(0, 60_000)), int(rng.integers(0, 4))
        if what == 0:
            name, collective = f"g{rng.integers(4)}", int(rng.integers(0, 10))
            for rank in groups[name]:
                add(rank, COLL_NODE, comm_size=size, comm_type=collective, pg_name=name)
        elif what == 1:
            src, dst = rng.choice(RANKS, 2, replace=False).tolist()
            add(src, SEND_NODE, comm_size=size, comm_dst=dst, comm_tag=step)
            add(dst, RECV_NODE, comm_size=size, comm_src=src, comm_tag=step)
        else:
            add(int(rng.integers(RANKS)), (COMP_NODE, MEM_LOAD)[what - 2], size // 2000)
    return write(folder, *[trace(*mine) for mine in nodes])


def check(run: distsim.Run) -> None:
    """The identities of a run that has finished."""
    done, perf = run.frame("chakra-completion-stats"), run.frame("chakra-perf")
    moved = perf.filter(perf["is_added_synchronization_flow"] == "false")
    sent = moved["flow_comm_size"].sum()
    assert done["chakra_full_payload_bytes_sent"].sum() == done["chakra_full_payload_bytes_received"].sum() == sent
    assert done["num_chakra_sends_completed"].sum() == done["num_chakra_receives_completed"].sum() == len(moved)
    assert done["num_chakra_sends_completed"].equals(done["num_chakra_sends_fully_acked"].rename(COUNTS[0]))
    assert len(perf) == len(run.frame("perf")) == run.info["flows"]["finished"] == run.info["flows"]["total"]
    start, end = perf["start_time_sec"].to_numpy(), perf["sim_time_sec"].to_numpy()
    assert perf["perf_metric_usec"].to_numpy() == pytest.approx((end - start) * 1e6, abs=1e-6) and (end > start).all()
    assert done["chakra_trace_completion_time_us"].max() >= run.info["fct_us"]["last"] - 1e-6
    cdf = run.frame("chakra-cdf").drop("sim_time_sec").to_numpy()
    assert (np.diff(cdf, axis=0) >= 0).all() and (cdf >= 0).all()
    assert cdf[-1].tolist() == [1.0 if total else 0.0 for total in (sent, *[done[name].sum() for name in COUNTS])]
    check_collectives(run, moved)


def check_collectives(run: distsim.Run, moved: object) -> None:
    """Ids are those of the transfers; the times are those of run.json or reach to the last acknowledgement."""
    stats, shares = run.frame("chakra-comm-collective-stats"), run.frame("chakra-comm-collective-percentiles-stats")
    ids = moved["metric_aggregation_id"]
    assert set(ids.to_list()) - {-1} <= set(stats["collective_hash"].to_list())
    assert stats["collective_hash"].n_unique() == len(stats) == shares["count"].sum() == len(run.info["collectives"])
    assert stats["is_valid"].to_list() == [1] * len(stats)
    took = (stats["simulation_end_time_us"] - stats["simulation_start_time_us"]).to_numpy()
    assert (took >= 0).all()
    for identity, end in zip(stats["collective_hash"], stats["simulation_end_time_us"]):
        acks = moved.filter(ids == identity)["sim_time_sec"].to_list()
        assert end >= max(acks, default=0) * 1e6 - 1e-6
    assert sorted(one["end_us"] for one in run.info["collectives"])[-1] <= stats["simulation_end_time_us"].max() + 1e-6
    for row in shares.iter_rows(named=True):
        times = [row[f"{name}_run_time_us"] for name in ("p50", "p99", "p99_9", "p100")]
        assert times == sorted(times) and row["mean_run_time_us"] <= times[-1] + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_random_traces(tmp_path, seed):
    section = {"kind": "chakra", "file": random_traces(tmp_path, seed), "CommCollectiveSynchronization": seed % 2 == 0}
    if seed % 4 > 1:
        (tmp_path / "map").write_text("0 1 0 0\n1 0 0 0\n2 2 0 1\n3 3 5 0\n4 5 5 0\n5 4\n@\n0 100 100 25\n5 400 0 1\n")
        section["mapping"] = str(tmp_path / "map")
    check(replayed(tmp_path, section, RANKS))


def test_the_shipped_step(tmp_path):
    run = distsim.run(CONFIGS / "chakra8.yaml", tmp_path / "out")
    check(run)
    ratios = [float(ratio) for ratio in run.frame("chakra-comm-collective-percentiles-stats")["mean_ideal_ratio"]]
    assert len(ratios) == 3 and min(ratios) > 1                # none is quicker than its bytes at 400 Gb/s
