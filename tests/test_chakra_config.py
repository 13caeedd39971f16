"""configs/chakra8.yaml, and paths of tracesets in configurations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from chakra_cases import coll, trace, write

from distsim import workload as workloads
from distsim.config import load
from distsim.errors import InputError
from distsim.workload.types import SEND

CONFIG = str(Path(__file__).parents[1] / "configs" / "chakra8.yaml")


def built(*assignments):
    checked = load(CONFIG, assignments)
    return workloads.build(checked.workload, 8, checked.seed)


def test_the_shipped_step():
    """Rings: all-gather and reduce-scatter in two groups of 4 (3 steps of 4 messages), all-reduce of 8 (14 steps of 8);
    2 (N - 1) messages of nothing before each collective; one send of 64 KiB."""
    ops = built().ops
    sizes = Counter(ops["size_bytes"][ops["kind"] == SEND].tolist())
    assert sizes == {256 * 1024: 2 * 12 + 2 * 12, 512 * 1024: 112, 0: 2 * 2 * 6 + 14, 65536: 1}


def test_other_traces_by_set(tmp_path, monkeypatch):
    write(tmp_path, *[trace(coll(1, 800))] * 8)
    monkeypatch.chdir(tmp_path)
    workload = built("workload.file=t", "workload.CommCollectiveSynchronization=false")
    sends = workload.ops[workload.ops["kind"] == SEND]
    assert len(sends) == 112 and set(sends["size_bytes"].tolist()) == {100}
    with pytest.raises(InputError, match=r"workload\.file: .*no such file"):
        built("workload.file=u")


def test_the_digest_is_that_of_the_traces(tmp_path):
    prefix = write(tmp_path, *[trace(coll(1, 800))] * 8)
    first = load(CONFIG, [f"workload.file={prefix}"]).digest()
    (tmp_path / "t.7.et").write_bytes(trace(coll(1, 801)))
    assert load(CONFIG, [f"workload.file={prefix}"]).digest() != first


def test_paths_count_from_the_folder_of_the_configuration(tmp_path):
    (tmp_path / "traces").mkdir()
    write(tmp_path / "traces", *[trace(coll(1, 800, pg_name="g"))] * 2)
    (tmp_path / "map.txt").write_text("0 1\n1 0\n")
    (tmp_path / "groups.json").write_text('{"g": [1, 0]}')
    text = Path(CONFIG).read_text().replace("file: chakra8/step",
                                            "file: traces/t\n  mapping: map.txt\n  comm_groups: groups.json")
    (tmp_path / "c.yaml").write_text(text)
    checked = load(str(tmp_path / "c.yaml"), [])
    workload = workloads.build(checked.workload, 8, 1)
    assert workload.placement.tolist() == [1, 0] and workload.graph.groups[0].ranks.tolist() == [1, 0]
    (tmp_path / "map.txt").unlink()
    with pytest.raises(InputError, match=r"c\.yaml:16: workload\.mapping: .*map\.txt: no such file"):
        load(str(tmp_path / "c.yaml"), [])
