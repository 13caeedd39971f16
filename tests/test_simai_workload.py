"""SimAI workloads: header, groups, steps of each policy, projections, worked out by hand; every error with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.fabric.types import ServerLinks
from distsim.workload import WORKLOADS
from distsim.workload.base import Context
from distsim.workload.estimate import Estimate
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLL, COMP, FIXED, REDUCE_SCATTER
from distsim.workload.simai import graph_of
from distsim.workload.simai_degrees import Degrees, degrees
from distsim.workload.simai_program import Step, program
from distsim.workload.simai_text import SimaiText, parse, scaled
from distsim.workload.types import LOCAL, LOCAL_IN, Workload
from distsim.workload.types import SEND as OP_SEND

HEAD = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 4 ga: 3 all_gpus: 8 "
        "checkpoints: 0 checkpoint_initiates: 0")
LAYERS = ("one -1 10 ALLREDUCE 800 20 ALLGATHER 400 30 REDUCESCATTER 100 7\n"
          "two\t-1\t1\tALLTOALL_EP\t64\t0\tREDUCESCATTER\t0\t2\tALLGATHER_DP_EP\t30\t0 \n")
TEXT = f"{HEAD}\n2\n{LAYERS}"


def text_of(tmp_path: Path, text: str = TEXT, most: int | None = None) -> SimaiText:
    path = tmp_path / "job.txt"
    path.write_text(text)
    return parse(str(path), most)


def brief(steps: list[Step]) -> list[tuple[Any, ...]]:
    """(what, steps it waits for) of each step; what: ns of a computation, +ns of an update, or a collective."""
    return [({COMP: step.duration_ps // 1000, FIXED: f"+{step.duration_ps // 1000}",
              COLL: (step.collective, step.domain, step.size_bytes)}[step.kind], step.after) for step in steps]


def test_the_text(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    assert text.numbers == {"model_parallel_NPU_group": 2, "ep": 2, "pp": 1, "vpp": 4, "ga": 3, "all_gpus": 8}
    assert text.lists == {"checkpoints": (), "checkpoint_initiates": ()} and text.warnings == []
    one, two = text.layers
    assert (one.name, one.forward.time_ns, one.forward.collective, one.forward.domain) == ("one", 10, ALL_REDUCE, "")
    assert (two.forward.domain, two.forward.size_bytes, two.weight_grad.domain) == ("EP", 64, "DP_EP")
    assert (two.forward.collective, two.weight_grad.collective, two.line) == (ALL_TO_ALL, ALL_GATHER, 4)


def test_only_the_first_layers_are_read(tmp_path: Path) -> None:
    text = text_of(tmp_path, f"{HEAD}\n2\n{LAYERS.splitlines()[0]}\nnonsense", most=1)
    assert len(text.layers) == 1 and text.declared == 2


def test_headers_of_several_writers(tmp_path: Path) -> None:
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 pp_comm 77 fp8: on checkpoints: 2 0 1"
    text = text_of(tmp_path, f"{head}\n2\n{LAYERS}one more line")
    assert text.numbers["pp_comm"] == 77 and text.lists["checkpoints"] == (0, 1)
    name = tmp_path / "job.txt"
    assert text.warnings == [f"{name}:1: fp8 is not used", f"{name}:5: what follows the 2 layers of line 2 is not read"]


def test_groups_are_those_of_simai(tmp_path: Path) -> None:
    split = degrees(text_of(tmp_path), None, 99)
    assert split == Degrees(gpus=8, tp=2, ep=2, dp_ep=2, pp=1)
    assert split.table("TP").tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert split.table("DP").tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert split.table("EP").tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert split.table("DP_EP").tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert split.table("ALL").tolist() == [list(range(8))]


def test_pipeline_stages_are_runs_of_ranks() -> None:
    split = Degrees(gpus=8, tp=2, ep=1, dp_ep=2, pp=2)
    assert split.table("DP").tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]


@pytest.mark.parametrize(("ranks", "expected"), [
    (None, Degrees(9216, 2, 16, 24, 12)), (9216, Degrees(9216, 2, 16, 24, 12)), (64, Degrees(64, 2, 16, 2, 1)),
    (16, Degrees(16, 2, 8, 1, 1)), (3, Degrees(3, 1, 1, 3, 1)), (4608, Degrees(4608, 2, 16, 144, 1)),
])
def test_cuts(tmp_path: Path, ranks: int | None, expected: Degrees) -> None:
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 16 pp: 12 all_gpus: 9216"
    split = degrees(text_of(tmp_path, f"{head}\n2\n{LAYERS}"), ranks, 1)
    assert split == expected and split.tp * split.ep * split.dp_ep * split.pp == split.gpus


def test_steps_of_a_transformer(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    steps = program(text, degrees(text, None, 8), 2)
    one_pass = [
        (10, ()), ((ALL_REDUCE, "TP", 800), (0,)), ("+7", (1,)),                      # one forward
        (1, (2,)), ((ALL_TO_ALL, "EP", 64), (3,)),                                    # two forward
        (2, (4,)), ((ALL_GATHER, "DP_EP", 15), (5,)),                                 # two gradients: 30 B of 2 ranks
        (20, (5,)), ((ALL_GATHER, "TP", 200), (7,)), ("+7", (8,)),                    # one input gradient, 400 B
        (30, (9,)), ((REDUCE_SCATTER, "DP", 100), (10,)), ("+7", (11,)),              # one weight gradient
    ]
    assert brief(steps)[:13] == one_pass
    # The second pass follows the last computation, and each layer's forward its weights.
    assert brief(steps)[13:17] == [(10, (10, 12)), ((ALL_REDUCE, "TP", 800), (13,)), ("+7", (14,)), (1, (15, 6))]
    assert len(steps) == 26 and steps[5].name == "two weight-gradient" and steps[2].name == "one forward update"


def test_groups_of_one_do_not_talk(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    assert brief(program(text, Degrees(1, 1, 1, 1, 1), 1)) == [(10, ()), (1, (0,)), (2, (1,)), (20, (2,)), (30, (3,))]


def test_forward_again_from_the_checkpoint(tmp_path: Path) -> None:
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 checkpoints: 1 0 checkpoint_initiates: 1 2"
    layers = "".join(f"l{i} -1 {i + 1} NONE 0 {10 * i + 10} NONE 0 {100 * i + 100} NONE 0 0\n" for i in range(3))
    text = text_of(tmp_path, f"{head}\n3\n{layers}")
    found = [what for what, _ in brief(program(text, Degrees(1, 1, 1, 1, 1), 1))]
    assert found == [1, 2, 3, 1, 2, 30, 300, 20, 200, 10, 100]
    text.lists["checkpoints"] = ()
    with pytest.raises(InputError, match=r":1: checkpoint_initiates names layer 2"):
        program(text, Degrees(1, 1, 1, 1, 1), 1)


@pytest.mark.parametrize(("policy", "expected"), [
    ("DATA", [(10, ()), (1, (0,)), (2, (1,)), ((ALL_GATHER, "DP_EP", 30), (2,)), (30, (2,)),
              ((REDUCE_SCATTER, "ALL", 100), (4,)), ("+7", (5,))]),
    ("MODEL", [(10, ()), ((ALL_REDUCE, "ALL", 800), (0,)), ("+7", (1,)), (1, (2,)), (2, (3,)), (20, (4,)), (30, (5,))]),
    ("DISTRIBUTED_INFERENCE", [(10, ()), ((ALL_REDUCE, "ALL", 800), (0,)), ("+7", (1,)), (1, (2,))]),
    ("MICRO", [((REDUCE_SCATTER, "ALL", 100), ()), ("+7", (0,))]),
])
def test_other_policies(tmp_path: Path, policy: str, expected: list[Any]) -> None:
    text = text_of(tmp_path, f"{policy}\n2\n{LAYERS}")
    split = degrees(text, None, 4)
    assert split == Degrees(4, 1, 1, 4, 1)
    expected = [((ALL_GATHER, "DP_EP", 8), after) if what == (ALL_GATHER, "DP_EP", 30) else (what, after)
                for what, after in expected]      # 30 bytes of 4 ranks, rounded up
    assert brief(program(text, split, 1)) == expected


def test_scales(tmp_path: Path) -> None:
    layers = scaled(text_of(tmp_path).layers, 2.5, 0.01)
    assert [(one.time_ns, one.size_bytes) for one in (layers[0].forward, layers[1].forward, layers[1].input_grad)] == [
        (25, 8), (2, 1), (0, 0)]
    assert layers[0].update_ns == 7


def test_the_graph(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    split = degrees(text, None, 8)
    steps = program(text, split, 1)
    graph = graph_of(text, split, steps)
    nodes = graph.nodes.reshape(8, 13)
    assert (nodes["rank"] == np.arange(8)[:, None]).all() and (nodes["id"] == np.arange(13)).all()
    assert nodes["issue"][5].tolist() == [-1, 0, -1, -1, 1, -1, 2, -1, 3, -1, -1, 4, -1]
    assert (nodes["duration_ps"][3] // 1000).tolist() == [10, 0, 7, 1, 0, 2, 0, 20, 0, 7, 30, 0, 7]
    names = [group.name for group in graph.groups]
    assert names[:4] == ["TP-0", "TP-1", "TP-2", "TP-3"] and len(names) == 4 + 4 + 4 + 2
    for rank in range(8):
        for column, domain in ((1, "TP"), (4, "EP"), (6, "DP_EP"), (8, "TP"), (11, "DP")):
            group = graph.groups[nodes["group"][rank, column]]
            assert group.name.rsplit("-", 1)[0] == domain and rank in group.ranks
    assert len(graph.deps) == 8 * 12 and (graph.deps["node"] // 13 == graph.deps["on"] // 13).all()
    assert graph.deps[-1].tolist() == (7 * 13 + 12, 7 * 13 + 11)
    assert graph.names[13 + 2] == "one forward update"


def spec_of(path: Path, **fields: object) -> Any:
    return WORKLOADS["simai"].Spec(kind="simai", file=str(path), **fields)


def build(path: Path, hosts: int, servers: ServerLinks | None = None, **fields: object) -> Workload:
    built: Workload = WORKLOADS["simai"].build(spec_of(path, **fields), Context(hosts, 1, servers=servers))
    return built


def test_as_a_workload(tmp_path: Path) -> None:
    text_of(tmp_path)
    path = tmp_path / "job.txt"
    workload = build(path, 8)
    projected = WORKLOADS["simai"].projected(spec_of(path), Context(8, 1))
    assert workload.instances is not None and projected.collectives == len(workload.instances)
    assert projected.nodes == len(workload.graph.nodes)
    sends = workload.ops[workload.ops["kind"] == OP_SEND]
    assert projected.transfers == len(sends) and projected.size_bytes == sends["size_bytes"].sum()
    # Rings of two: all-reduce 4 messages of 400, all-gather 2 of 200, in 4 TP groups; all-to-all 2 of 32 in 4 EP
    # groups; all-gather 2 of 15 in 4 DP_EP groups; reduce-scatter of 4 ranks, 4 * 3 messages of 25, in 2 DP groups.
    assert projected == Estimate(transfers=16 + 8 + 8 + 8 + 24, size_bytes=6400 + 1600 + 256 + 120 + 600, nodes=104,
                                 collectives=4 * 4 + 2)
    # Two NICs a server: the TP groups stay inside.
    inside = build(path, 8, ServerLinks(2, 10**12, 50_000)).ops
    assert np.count_nonzero(inside["kind"] == LOCAL) == np.count_nonzero(inside["kind"] == LOCAL_IN) == 24
    assert np.count_nonzero(inside["kind"] == OP_SEND) == 40


def test_cutting_and_choosing(tmp_path: Path) -> None:
    text_of(tmp_path)
    path = tmp_path / "job.txt"
    assert build(path, 4, ranks=4, layers=1).graph.ranks == 4
    assert len(build(path, 8, passes=3).graph.nodes) == 3 * 104
    other = build(path, 8, algorithms={"all_reduce": "halving-doubling"})
    assert set(other.instances["algorithm"].tolist()) > {other.instances["algorithm"][0]}
    with pytest.raises(InputError, match=r"workload.algorithms.all_reduce: 'rings' is no algorithm of all_reduce; val"):
        build(path, 8, algorithms={"all_reduce": "rings"})
    with pytest.raises(InputError, match=r"workload.layers: 3 layers are more than the 2 of the file"):
        build(path, 8, layers=3)
    with pytest.raises(InputError, match=r"workload.hosts: 8 ranks need a host each; 4 are given"):
        build(path, 4)
    with pytest.raises(InputError, match=r":1: ranks 9 are more than the 8 GPUs of the file"):
        build(path, 9, ranks=9)


def test_nine_thousand_ranks_are_projected_and_not_built(tmp_path: Path) -> None:
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 16 pp: 12 all_gpus: 9216 pp_comm 5"
    layer = "l -1 10 ALLREDUCE 1024 0 NONE 0 0 NONE 0 0\n"
    path = tmp_path / "job.txt"
    path.write_text(f"{head}\n2000\n{layer * 2000}")
    projected = WORKLOADS["simai"].projected(spec_of(path), Context(9216, 1))
    # 4,608 pairs, 2,000 all-reduces each of 4 messages of 512 bytes.
    assert projected == Estimate(transfers=4608 * 2000 * 4, size_bytes=4608 * 2000 * 2048, nodes=9216 * 4000,
                                 collectives=4608 * 2000)
    with pytest.raises(InputError, match=r"4000 steps on 9216 ranks are 36864000 nodes; at most \d+. Cut it"):
        build(path, 9216)
    assert build(path, 48, ranks=48, layers=2).warnings == []
    assert "pp_comm" in build(path, 9216, layers=1).warnings[0]


@pytest.mark.parametrize(("old", "new", "line", "message"), [
    ("ep: 2", "ep: two", 1, "ep 'two' is not a whole number"),
    ("ep: 2", "ep: 3", 1, "8 GPUs (all_gpus) cannot be split"),
    ("ep: 2", "ep: 2 ep: 2", 1, "ep is given twice"),
    ("ep: 2", "experts 2", 1, "'experts' does not belong here; valid: model_parallel_NPU_group, ep"),
    ("checkpoint_initiates: 0", "checkpoint_initiates: 2 0", 1, "layer of checkpoint_initiates has no value"),
    ("model_parallel_NPU_group: 2 ", "", 1, "model_parallel_NPU_group is missing"),
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_DLRM", 1, "policy HYBRID_DLRM is not modelled; valid: HYBRID_TRANSF"),
    ("\n2\n", "\n2 3\n", 2, "line 2 holds 2 words"),
    ("\n2\n", "\n0\n", 2, "number of layers 0 is out of range"),
    ("\n2\n", "\n3\n", None, "ends before layer 3 of 3"),
    ("one -1", "one", 3, "a layer has 12 words, here are 11"),
    ("10 ALLREDUCE", "10 ALLREDUCES", 3, "forward comm 'ALLREDUCES' is unknown; valid: NONE, ALLREDUCE"),
    ("10 ALLREDUCE", "10 ALLREDUCE_TP", 3, "forward comm 'ALLREDUCE_TP' is unknown"),
    ("10 ALLREDUCE", "-1 ALLREDUCE", 3, "forward time -1 is out of range"),
    ("REDUCESCATTER 100", "REDUCESCATTER -5", 3, "weight-gradient size -5 is out of range"),
    ("2\tALLGATHER_DP_EP\t30", "2\tALLGATHER_DP_EP\t3e9", 4, "weight-gradient size '3e9' is not a whole number"),
])
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, line: int | None, message: str) -> None:
    assert old in TEXT
    path = tmp_path / "job.txt"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        build(path, 8)
    place = f"{path}:{line}: " if line else f"{path}: "
    assert str(error.value).startswith(place) and message in str(error.value)
