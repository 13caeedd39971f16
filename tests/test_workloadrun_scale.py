"""Ten thousand nodes: found, grouped and rendered in seconds, and rendered by placeholders as document by document."""

from __future__ import annotations

import time

import pytest
import yaml
from workloadrun_clusters import RACK, node, nodes, plan_of

from distsim.workloadrun.discovery import eligible
from distsim.workloadrun.placement import groups
from distsim.workloadrun.render import to_yaml
from distsim.workloadrun.rendered import job_texts, scalar
from distsim.workloadrun.target import Target

MANY = 10_000
MOST_S = 5.0


def cpu_s(work):
    """Seconds of one core that some work takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def test_discovery_grouping_and_rendering(tmp_path):
    from distsim.cluster import load_cluster
    from distsim.workloadrun.load import load_workloadrun
    from distsim.workloadrun.plan import make_plan

    small = plan_of(tmp_path)
    pools = [{"name": "gpu", "count": MANY, "names": "node{00000}", "chips": {"count": 2}, "nics": {"count": 2}}]
    from workloadrun_clusters import cluster_file, run_file

    cluster = load_cluster(cluster_file(tmp_path, "many", pools=pools, per_rack=4))
    found = []

    def work():
        plan = make_plan(load_workloadrun(run_file(tmp_path)), cluster)
        found.extend(job_texts(plan, to_yaml, scalar))

    assert cpu_s(work) < MOST_S
    assert len(found) == MANY // 2
    assert found[0] == next(job_texts(small, to_yaml, scalar)).replace("node0", "node0000")
    last = yaml.safe_load(found[-1])
    assert last["metadata"]["annotations"]["nvcre.nvidia.com/group-nodes"] == "node09998,node09999"


@pytest.mark.parametrize("settings", [{"topology": {"topologyKey": RACK}},
                                      {"topology": {"topologyKey": RACK, "strictDomain": True}},
                                      {"placement": "Unpinned"}])
def test_other_groupings(settings):
    fleet = [node(f"n{at:05d}", **{RACK: f"rack-{at // 18}"}) for at in range(MANY)]
    assert cpu_s(lambda: groups(eligible(fleet, None, 8), settings, 16)) < MOST_S


def test_long_lists_of_names_and_of_exclusions():
    fleet = nodes(MANY)
    names = [one.name for one in fleet]
    assert cpu_s(lambda: Target(nodeNames=names)) < 0.5                # twice the same name is refused: found by a set
    assert cpu_s(lambda: eligible(fleet, {"nodeNames": names}, 8)) < MOST_S


@pytest.mark.parametrize("spec", [{}, {"numNodes": 3}, {"orchestration": {"placement": "Unpinned"}},
                                  {"orchestration": {"testScale": "intra-node"}},
                                  {"orchestration": {"repeatCount": 2, "diagnose": {}}}])
def test_placeholders_give_what_the_documents_say(tmp_path, spec):
    plan = plan_of(tmp_path, **spec)
    from distsim.workloadrun.run import first_round

    chosen = first_round(plan) if plan.diagnose is not None else plan.groups
    assert list(job_texts(plan, to_yaml, scalar)) == [to_yaml(job.document) for job in plan.jobs(1, chosen)]


@pytest.mark.parametrize("name", ["node-1", "7", "1e5", "null", "on", "0x1f", "a.b", "1,2", "a,7", "2026-01-01"])
def test_names_that_YAML_could_misread(name):
    assert yaml.safe_load(f"x: {scalar(name)}")["x"] == name
