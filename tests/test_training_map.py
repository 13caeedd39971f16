"""The map `workloads` of a cluster file: its forms, its errors, which entry a job takes, and where its ranks run."""

from __future__ import annotations

import pytest

from distsim.cluster.workloads_map import check_workloads, placed_on, workload_for
from distsim.config.yaml_reader import parse
from distsim.errors import InputError
from distsim.workload.lower.mapping import read_mapping

TEXT = """name: c
workloads:
  train-*: {training: {compute: 20ms, gradients: 1GB, steps: 10}}
  nvcr.io/nvidia/nemo:25.01:
    collective: {collective: all_gather, size: 64MiB}
  "python pretrain.py --size big": {nccl_tests: all_reduce_perf -b 1M -e 1M, steady: true}
  pretrain.sh: {kind: collective, size: 1MB}
  bash -c 'a b': {collective: {size: 2MB}}
  traces: {chakra: et/llama, peak_tflops: 900.0}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "et").mkdir()
    for rank in range(3):
        (tmp_path / "et" / f"llama.{rank}.et").write_bytes(b"")
    return tmp_path


@pytest.fixture
def checked(folder):
    return check_workloads(parse(TEXT, str(folder / "cluster.yaml")))


def test_every_form_becomes_a_section(folder, checked):
    assert checked == {
        "train-*": {"kind": "training", "compute": "20ms", "gradients": "1GB", "steps": 10},
        "nvcr.io/nvidia/nemo:25.01": {"kind": "collective", "collective": "all_gather", "size": "64MiB"},
        "python pretrain.py --size big": {"kind": "nccl-tests", "command": "all_reduce_perf -b 1M -e 1M",
                                          "steady": True},
        "pretrain.sh": {"kind": "collective", "size": "1MB"},
        "bash -c 'a b'": {"kind": "collective", "size": "2MB"},
        "traces": {"kind": "chakra", "file": str(folder / "et" / "llama"), "peak_tflops": 900.0}}
    assert check_workloads(parse("name: c")) == {}


@pytest.mark.parametrize(("job", "image", "command", "run", "key"), [
    ("train-a", "nvcr.io/nvidia/nemo:25.01", "x", "", "nvcr.io/nvidia/nemo:25.01"),    # exact comes before globs
    ("train-a", "other", "x", "", "train-*"),
    ("traces", "nvcr.io/nvidia/nemo:25.01", "x", "", "traces"),                        # a job's name before its image
    ("traces-group-0", "i", "x", "traces", "traces"),
    ("a", "i", ["python", "pretrain.py", "--size", "big"], "", "python pretrain.py --size big"),
    ("a", "i", "/opt/bin/pretrain.sh -n 4", "", "pretrain.sh"),
    ("a", "i", ["bash", "-c", "a b"], "", "bash -c 'a b'"),
])
def test_which_entry_a_job_takes(checked, job, image, command, run, key):
    assert workload_for(job, image, command, checked, run=run) == checked[key]


def test_of_several_globs_the_first_in_the_file_counts(checked):
    two = {"tr*": {"kind": "a"}, "train-*": {"kind": "b"}}
    assert workload_for("train-a", "", "", two)["kind"] == "a"
    assert workload_for("TRAIN-A", "", "", {**two, "*": {"kind": "c"}})["kind"] == "c"


def test_a_job_that_maps_to_nothing_is_refused_by_name(checked):
    with pytest.raises(InputError) as error:
        workload_for("eval", "img:1", "run.sh -x", checked)
    said = str(error.value)
    assert said.startswith("workloads: job 'eval' (image 'img:1', command 'run.sh -x') is no nccl-tests and maps to ")
    assert said.endswith("its keys: train-*, nvcr.io/nvidia/nemo:25.01, python pretrain.py --size big, pretrain.sh, "
                         "bash -c 'a b', traces")
    with pytest.raises(InputError, match="it is empty"):
        workload_for("eval", "img:1", "run.sh", {})


@pytest.mark.parametrize(("entry", "said"), [
    ("3", "workloads.a: 3 is not a workload; valid: one of chakra, nccl_tests, collective, training"),
    ("{}", "workloads.a: {} is not a workload"),
    ("{trainin: {}}", "workloads.a.trainin: unknown key 'trainin'; nearest valid name: training"),
    ("{training: {compute: 1ms}}", "workloads.a.training.gradients: this key is required"),
    ("{training: {compute: 1ms, gradients: 1MB, stps: 3}}", "workloads.a.training.stps: unknown key 'stps'; nearest"),
    ("{training: 3}", "workloads.a.training: 3 is not a section of keys of the kind training"),
    ("{training: {compute: 1ms, gradients: 1MB}, steps: 3}", "workloads.a.steps: unknown key 'steps' beside training"),
    ("{training: {}, chakra: x}", "workloads.a: training and chakra stand together; give one of them"),
    ("{collective: {hosts: [1, 2]}}", "workloads.a.collective.hosts: hosts may not stand here; a job's placement"),
    ("{collective: {name: x}}", "workloads.a.collective.name: name may not stand here"),
    ("{collective: {file: x.cm}}", "workloads.a.collective.file: file may not stand here; it would replace"),
    ("{collective: {kind: training}}", "workloads.a.collective.kind: kind may not stand here; collective says it"),
    ("{chakra: none}", "none: no such file, nor none.0.et"),
    ("{chakra: [x]}", "workloads.a.chakra: ['x'] is not text; write the prefix of the trace files"),
    ("{chakra: x, mapping: m}", "workloads.a.mapping: mapping may not stand here; a job's placement sets it"),
    ("{nccl_tests: bogus_perf}", "'bogus_perf' is no program of nccl-tests"),
    ("{nccl_tests: all_reduce_perf, stedy: true}", "workloads.a.stedy: unknown key 'stedy'; nearest"),
    ("{nccl_tests: all_reduce_perf, command: x}", "workloads.a.command: command stands beside nccl_tests"),
    ("{kind: permutation}", "workloads.a.kind: kind 'permutation' is not valid; valid values: chakra, collective"),
])
def test_what_an_entry_may_not_say(tmp_path, entry, said):
    with pytest.raises(InputError) as error:
        check_workloads(parse(f"workloads:\n\n  a: {entry}\n", str(tmp_path / "c.yaml")))
    assert said in str(error.value)
    assert f"{tmp_path}/c.yaml:3: " in str(error.value)


def test_all_problems_are_told():
    with pytest.raises(InputError) as error:
        check_workloads(parse("workloads:\n  a: 1\n  b: {collective: {size: 1MB}}\n  c: {x: 1}\n", "c.yaml"))
    assert [found.line for found in error.value.problems] == [2, 4]


def test_a_section_on_its_hosts(checked, tmp_path):
    part = placed_on(checked["pretrain.sh"], "job-0", (4, 5, 9), tmp_path, scale_up={"gpus_per_server": 3})
    assert part == {"kind": "collective", "size": "1MB", "scale_up": {"gpus_per_server": 3}, "name": "job-0",
                    "hosts": [4, 5, 9]}
    assert "scale_up" not in placed_on(checked["pretrain.sh"], "job-0", (4, 5), tmp_path)


def test_traces_take_their_hosts_from_a_mapping_file(checked, tmp_path):
    part = placed_on(checked["traces"], "job-0", (4, 5, 9, 10), tmp_path,
                     scale_up={"gpus_per_server": 2, "bandwidth": "900Gbps", "cable_latency": "25500ps"})
    assert part["mapping"] == str(tmp_path / "job-0-mapping.txt")
    found = read_mapping(part["mapping"], 3)
    assert found.server.tolist() == [4, 5, 9]
    assert found.group.tolist() == [0, 0, 1]
    assert found.scale_up.rate_bps == (900_000_000_000,) * 2
    assert found.scale_up.switch_ps == (100_000,) * 2
    assert found.scale_up.cable_ps == (25_500,) * 2
    plain = read_mapping(placed_on(checked["traces"], "job-1", (4, 5, 9), tmp_path)["mapping"], 3)
    assert (plain.server.tolist(), plain.scale_up) == ([4, 5, 9], None)
    with pytest.raises(InputError, match="have 3 ranks, job 'job-2' has 2 NICs"):
        placed_on(checked["traces"], "job-2", (4, 5), tmp_path)
