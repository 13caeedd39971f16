"""Trainings on the simulated fabric: times against closed forms, files, and equal results on several ranks."""

from __future__ import annotations

import pytest
from training_cases import MS, log_lines, simulate, steps_of

US = 10**6
STARTS_PS = 2 * MS                       # StartTime and ClientStartOffset
QUICK = {"forward": "100us", "backward": "200us", "gradients": "1MB"}


def durations(folder) -> list[int]:
    return [end - begin for _, begin, end, _ in steps_of(folder)]


def test_without_gradients_a_step_takes_its_compute_time(tmp_path):
    result = simulate(tmp_path, {"steps": 12, "compute": "300us", "optimizer": "50us", "gradients": "0B",
                                 "startup": "1ms", "checkpoint": {"every": 6, "pause": "2ms"}, "flops": 7e10})
    assert result.exit_code == 0
    rows = steps_of(tmp_path)
    begin = STARTS_PS + MS
    assert rows[0] == (1, begin, begin + 350 * US, 1)
    assert rows[6] == (7, begin + 6 * 350 * US + 2 * MS, begin + 7 * 350 * US + 2 * MS, 1)
    assert durations(tmp_path) == [350 * US] * 12
    line = next(line for line in log_lines(tmp_path) if "iteration       10/" in line)
    assert "elapsed time per iteration (ms): 0.350000 |" in line
    assert "(TFLOP/s/GPU): 200.000000 |" in line                        # 70 GFLOP in 350 us


def ring_us(size_bytes: int, ranks: int) -> float:
    """2 (N - 1) / N of the data at 400 Gb/s, in packets of 4096 bytes with 106 of headers."""
    return 2 * (ranks - 1) / ranks * size_bytes * 8 / 400e3 * (4096 + 106) / 4096


def test_gradients_of_a_ring_by_its_closed_form(tmp_path):
    simulate(tmp_path, {**QUICK, "steps": 2, "overlap": False})
    for took in durations(tmp_path):
        beyond = took / US - 300 - ring_us(1_000_000, 8)
        assert 0 < beyond < 14 * 3                                     # 14 rounds of at most 3 us of latency each


def test_overlap_hides_all_but_the_last_bucket(tmp_path):
    simulate(tmp_path / "one", {**QUICK, "steps": 1, "gradients": "250KB"})
    simulate(tmp_path / "four", {**QUICK, "steps": 1, "layers": 4, "buckets": 4})
    simulate(tmp_path / "after", {**QUICK, "steps": 1, "layers": 4, "buckets": 4, "overlap": False})
    one, four, after = (durations(tmp_path / name)[0] for name in ("one", "four", "after"))
    bucket = one - 300 * US
    assert bucket < 50 * US                                            # a bucket takes less than a quarter of the pass
    assert four == pytest.approx(one, abs=US)
    assert after == pytest.approx(300 * US + 4 * bucket, abs=4 * US)


def test_tensor_groups_stay_in_their_servers(tmp_path):
    # all_reduce of 1 MB among 2 over scale-up of 80 Gb/s: 1 MB each way in two rounds of half: 2 x 0.5 MB / 10 GB/s.
    result = simulate(tmp_path, {**QUICK, "steps": 1, "gradients": "0B", "tensor_parallel": 2, "tensor_size": "1MB",
                                 "scale_up": {"gpus_per_server": 2, "bandwidth": "80Gbps", "header": "0B"}})
    assert result.info["counts"]["created"] == 0
    took = durations(tmp_path)[0]
    assert took == 300 * US + 2 * 2 * (50 * US + 150_000)              # two passes; a switch and two cables a round


def test_a_job_that_does_not_come_to_its_end(tmp_path):
    result = simulate(tmp_path, {**QUICK, "steps": 100}, SimulationParameters={"RunTime": 0.002})
    assert result.exit_code == 3
    lines = log_lines(tmp_path)
    assert "iteration        1/     100" in lines[3]
    assert not any("after training is done" in line for line in lines)


def test_beside_another_job_each_has_its_log(tmp_path):
    from distsim.config import from_dict
    from distsim.engine import run_config

    parts = [{"kind": "training", "name": "train", **QUICK, "steps": 10, "hosts": [0, 1, 4, 5]},
             {"kind": "nccl-tests", "name": "bench", "command": "all_reduce_perf -b 1M -e 1M -n 1 -w 0",
              "hosts": [2, 3, 6, 7]}]
    config = from_dict({"simulation": "tr", "fabric": {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4},
                        "workload": {"kind": "several", "parts": parts}}, [])
    assert run_config(config, tmp_path, quiet=True).exit_code == 0
    train = (tmp_path / "tr-train-launcher.log").read_text()
    assert train.count(" | consumed samples: ") == 2
    assert "after training is done" in train
    assert "Avg bus bandwidth" in (tmp_path / "tr-bench-launcher.log").read_text()
    assert (tmp_path / "tr-train-training-steps.csv").read_text().count("\n") == 11


@pytest.mark.parametrize("more", [{}, {"tensor_parallel": 2, "tensor_size": "300KB"}])
def test_the_projection_counts_every_step(more, tmp_path):
    # the hops of a run against those that are projected
    from training_cases import settings

    from distsim.assemble import assemble
    from distsim.config import from_dict
    from distsim.projection import Senders, project

    workload = {**QUICK, "steps": 11, "simulated": 4, "layers": 2, "buckets": 2, **more}
    config = from_dict(settings(workload), [])
    model = assemble(config)
    expected = project(model.workload, model.fabric, model.routes, Senders.of(model.nicpar, model.nic_param))
    result = simulate(tmp_path, workload)
    assert result.info["counts"]["hops"] == pytest.approx(expected.hops, rel=0.15)
