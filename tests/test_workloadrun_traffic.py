"""What a job does on the network."""

from __future__ import annotations

from pathlib import Path

import pytest
from workloadrun_clusters import changed, plan_of

from distsim.errors import InputError
from distsim.workloadrun.touched import Paths
from distsim.workloadrun.traffic import command_line, nics_of, part_of

LOOP = {"kind": "collective", "collective": "all_reduce", "size": "1MB"}


def part(plan, at=0, folder=None, steady=False):
    job = plan.jobs()[at]
    return part_of(job, job.group.nodes, plan.run.name, plan.cluster, plan.ranks_per_node, folder, steady)


def test_an_mpi_job_of_nccl_tests_is_that_benchmark_on_the_nics_of_its_nodes(tmp_path):
    assert part(plan_of(tmp_path, {"count": 4}), 1) == {
        "kind": "nccl-tests", "name": "run-group-1-iter-1", "command": "all_reduce_perf -b 64K -e 64K -n 1 -w 0",
        "hosts": [4, 5, 6, 7], "gpus_per_server": 2}


def test_programs_lose_folders_and_the_ending_mpi():
    assert command_line(["/usr/local/bin/all_reduce_perf_mpi", "-b", "8"]) == "all_reduce_perf -b 8"
    assert command_line(["alltoall_perf"]) == "alltoall_perf"


def test_the_cluster_says_what_nccl_tests_gets_by_default_and_the_job_says_the_rest(tmp_path):
    nccl = {"algorithm": "ring", "launch": "1us", "gpus_per_server": 1}
    found = part(plan_of(tmp_path, {"count": 2, "nccl": nccl}), steady=True)
    assert (found["algorithm"], found["launch"], found["steady"], found["hosts"]) == ("ring", "1us", True, [0, 1, 2, 3])


def test_a_node_has_a_rank_for_each_gpu_that_the_job_asks_for_or_each_nic_if_there_are_fewer(tmp_path):
    plan = plan_of(tmp_path, {"count": 2, "gpus": 4})
    assert nics_of(["node00", "node01"], plan.cluster, 2) == [0, 1, 4, 5]
    assert nics_of(["node01"], plan.cluster, 8) == [4, 5, 6, 7]
    bare = changed(plan.cluster.nodes[0], nics=())
    plan.cluster.by_name["node00"] = bare
    with pytest.raises(InputError, match="node00 has no NIC on the fabric"):
        nics_of(["node00"], plan.cluster, 2)


@pytest.mark.parametrize("key", ["run", "run-job", "python", "/usr/bin/python", "/usr/bin/python train.py",
                                 "trainer:1"])
def test_other_jobs_are_looked_up_by_name_command_and_image(tmp_path, key):
    plan = plan_of(tmp_path, {"count": 2, "workloads": {key: LOOP, "else": {**LOOP, "size": "9MB"}}},
                   image="trainer:1", framework={"exec": {"command": ["/usr/bin/python"], "args": ["train.py"]}})
    assert part(plan) == {**LOOP, "name": "run-job", "hosts": [0, 1, 2, 3]}


def test_the_name_counts_before_the_image_and_the_image_before_the_command(tmp_path):
    entries = {name: {**LOOP, "size": size} for name, size in (("sleep", "3MB"), ("nccl", "2MB"), ("run", "1MB"))}
    sleep = {"exec": {"command": ["sleep"]}}
    assert part(plan_of(tmp_path, {"workloads": entries}, framework=sleep))["size"] == "1MB"
    del entries["run"]
    assert part(plan_of(tmp_path, {"workloads": entries}, framework=sleep))["size"] == "2MB"


def test_ranks_of_a_server_share_the_clusters_scale_up_network(tmp_path):
    scale_up = {"gpus_per_server": 2, "bandwidth": "3600Gbps"}
    cluster = {"count": 4, "nccl": {"scale_up": scale_up}, "workloads": {"run": LOOP}}
    assert part(plan_of(tmp_path, cluster))["scale_up"] == scale_up
    assert part(plan_of(tmp_path, cluster, framework={"exec": {"command": ["sleep"]}}))["scale_up"] == scale_up


def test_a_job_that_maps_to_nothing_is_refused_by_name(tmp_path):
    sleep = {"exec": {"command": ["sleep", "1"]}}
    plan = plan_of(tmp_path, {"count": 2, "workloads": {"other": LOOP}}, framework=sleep)
    with pytest.raises(InputError, match=r"job 'run-job' .*command 'sleep 1'.* maps to no workload; .*its keys: other"):
        part(plan)


def test_nccl_tests_without_mpi_are_looked_up_too(tmp_path):
    plan = plan_of(tmp_path, {"count": 2}, framework={"exec": {"command": ["all_reduce_perf"]}})
    with pytest.raises(InputError, match="maps to no workload"):
        part(plan)


def test_traces_get_a_mapping_file(tmp_path):
    traces = tmp_path / "t"
    for rank in range(3):
        (tmp_path / f"t.{rank}.et").write_bytes(b"")
    plan = plan_of(tmp_path, {"count": 4, "workloads": {"nccl": {"kind": "chakra", "file": str(traces)}}},
                   framework={"exec": {"command": ["sleep"]}})
    found = part(plan, 1, tmp_path / "records")
    lines = Path(found["mapping"]).read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["0,4", "1,5", "2,6"]
    assert "hosts" not in found


def test_more_traces_than_nics(tmp_path):
    for rank in range(5):
        (tmp_path / f"t.{rank}.et").write_bytes(b"")
    plan = plan_of(tmp_path, {"count": 4, "workloads": {"nccl": {"kind": "chakra", "file": str(tmp_path / "t")}}},
                   framework={"exec": {"command": ["sleep"]}})
    (tmp_path / "r").mkdir()
    with pytest.raises(InputError, match="have 5 ranks, job 'run-group-0-iter-1' has 4 NICs"):
        part(plan, folder=tmp_path / "r")


def test_the_switches_between_nics(tmp_path):
    from distsim.workloadrun.run import _paths

    paths = _paths(plan_of(tmp_path, {"count": 6}).cluster)                # three racks of two nodes of two NICs
    assert isinstance(paths, Paths)
    assert paths.between([0, 1, 2, 3]) == ["RackSwitch-0"]
    spines = [f"SpineSwitch-{at}" for at in range(4)]                      # four NICs a rack, non-blocking
    assert paths.between([3, 4]) == ["RackSwitch-0", "RackSwitch-1", *spines]
    assert paths.between([0, 11]) == ["RackSwitch-0", "RackSwitch-2", *spines]


def test_the_switches_of_three_tiers():
    from distsim.config import from_dict
    from distsim.fabric import build
    from distsim.fabric.routing import build_routes

    fabric = {"kind": "fat-tree", "pods": 2, "racks_per_pod": 2, "nics_per_rack": 2, "fabric_per_pod": 1, "spines": 1}
    config = from_dict({"simulation": "x", "fabric": fabric, "workload": {"kind": "permutation"}})
    made = build(config.fabric, config.link_rules())
    paths = Paths(made, build_routes(made))
    assert paths.between([0, 2]) == ["RackSwitch-0", "RackSwitch-1", "FabricSwitch-0"]
    assert paths.between([1, 7]) == ["RackSwitch-0", "RackSwitch-3", "FabricSwitch-0", "FabricSwitch-1",
                                     "SpineSwitch-0"]
