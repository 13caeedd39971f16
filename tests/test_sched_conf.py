"""volcano-scheduler-configmap: actions, plugins, arguments, init-params."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from distsim.errors import InputError
from distsim.scheduler.read import read_conf
from distsim.scheduler.settings import ACTIONS, PLUGINS, SchedulerSettings

REFERENCE = Path("/work/shared/reference/cluster/volcano-scheduler-configmap__from-volcano-v1.9.0.yaml")
TIERS = "tiers: [{plugins: [{name: gang}]}]\n"
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata:\n  volcano-scheduler.conf: |\n"


def conf_of(tmp_path: Path, text: str) -> tuple[SchedulerSettings, list[str]]:
    path = tmp_path / "conf.yaml"
    path.write_text(text)
    return read_conf(str(path))


def init(arguments: str) -> str:
    return TIERS + f"configurations:\n- name: init-params\n  arguments: {{{arguments}}}\n"


def plugin(text: str) -> str:
    return f"tiers:\n- plugins:\n  - {text}\n"


def test_a_config_map(tmp_path):
    text = HEAD + indent(dedent("""\
        actions: "allocate, backfill"
        tiers:
        - plugins:
          - {name: priority, enableNodeOrder: false}
          - name: volcano-npu_v6.0.RC1_linux-aarch64
        - plugins:
          - name: nodeorder
            arguments: {leastrequested.weight: 0, mostrequested.weight: "2"}
          - name: binpack
            arguments:
              binpack.weight: 10
              binpack.resources: "huawei.com/Ascend910, rdma/ib"
              binpack.resources.huawei.com/Ascend910: 5
        """), "    ")
    settings, lines = conf_of(tmp_path, text)
    assert settings.actions == ("allocate", "backfill")
    assert settings.plugins == {
        "priority": {"enableNodeOrder": False}, "volcano-npu": {},
        "nodeorder": {"leastrequested.weight": 0, "mostrequested.weight": 2},
        "binpack": {"binpack.weight": 10, "binpack.resources": "huawei.com/Ascend910, rdma/ib",
                    "binpack.resources.huawei.com/Ascend910": 5}}
    assert lines == []
    assert not settings.has("gang")


def test_the_conf_by_itself(tmp_path):
    settings, _ = conf_of(tmp_path, TIERS)
    assert settings.actions == ACTIONS
    assert settings.plugins == {"gang": {}}
    assert settings.grace_over_time_s == 900


def test_init_params(tmp_path):
    levels = '{"default": {"level1": {"label": "rack", "reservedNode": 1}, "level2": {"label": "pod"}}}'
    settings, lines = conf_of(tmp_path, init(
        '"grace-over-time": "2", "nslb-version": "2.0", "shared-tor-num": 1, "super-pod-size": "128", '
        '"reserve-nodes": "0", "forceEnqueue": "no", "prefer-previous-node": false, "useClusterInfoManager": "false", '
        '"self-maintain-available-card": "false", "presetVirtualDevice": "false", '
        f"\"resource-level-config\": '{levels}'"))
    assert settings == SchedulerSettings(
        plugins={"gang": {}}, grace_over_time_s=2, nslb_version="2.0", shared_tor_num=1, super_pod_size=128,
        reserve_nodes=0, force_enqueue=False, prefer_previous_node=False, use_cluster_info_manager=False,
        self_maintain_available_card=False, preset_virtual_device=False,
        levels={"default": (("rack", 1), ("pod", 0))})
    assert lines == [f"{tmp_path / 'conf.yaml'}: not acted on: init-params: useClusterInfoManager, "
                     "self-maintain-available-card, presetVirtualDevice"]


@pytest.mark.parametrize(("size", "reserved", "taken"), [(48, 49, 2), (2, 3, 0), (3, 4, 2)])
def test_more_reserved_nodes_than_a_super_pod_has(tmp_path, size, reserved, taken):
    settings, lines = conf_of(tmp_path, init(f"super-pod-size: {size}, reserve-nodes: {reserved}"))
    assert settings.reserve_nodes == taken
    assert lines == [f"{tmp_path / 'conf.yaml'}:2: reserve-nodes {reserved} is more than super-pod-size {size}; "
                     f"{taken} is taken"]


def test_nodes_are_reserved_at_level1_only(tmp_path):
    settings, lines = conf_of(tmp_path, init(
        "resource-level-config: {t: {level1: {label: a}, level2: {label: b, reservedNode: 2}}}"))
    assert settings.levels == {"t": (("a", 0), ("b", 0))}
    assert lines == [f"{tmp_path / 'conf.yaml'}:4: t: level2: reservedNode has no effect; nodes are reserved at level1 "
                     "only"]


def test_what_is_not_acted_on_is_named(tmp_path):
    _, lines = conf_of(tmp_path, dedent("""\
        metrics: {type: prometheus}
        tiers:
        - plugins:
          - name: predicates
            arguments:
              predicate.GPUSharingEnable: true
              predicate.GPUNumberEnable: false
              predicate.NodeAffinityEnable: false
              predicate.TaintTolerationEnable: true
              predicate.resources: ""
          - {name: gang, enableJobReady: false, enablePreemptable: false}
          - {name: drf, enableHierarchy: true}
          - {name: nodeorder, arguments: {imagelocality.weight: 1, podaffinity.weight: 0}}
        """))
    assert lines == [f"{tmp_path / 'conf.yaml'}: not acted on: settings: metrics; plugin predicates: "
                     "predicate.GPUSharingEnable, predicate.NodeAffinityEnable; plugin gang: enableJobReady; "
                     "plugin drf: enableHierarchy; plugin nodeorder: imagelocality.weight"]


@pytest.mark.parametrize(("name", "switch"), [("priority", "enableJobOrder"), ("drf", "enableJobOrder"),
                                              ("predicates", "enablePredicate"), ("nodeorder", "enableNodeOrder"),
                                              ("binpack", "enableNodeOrder")])
def test_a_plugin_without_its_one_function_is_off(tmp_path, name, switch):
    settings, lines = conf_of(tmp_path, plugin(f"{{name: {name}, {switch}: false}}"))
    assert (settings.plugins, lines) == ({}, [])
    assert conf_of(tmp_path, plugin(f"{{name: {name}, {switch}: true}}"))[0].has(name)


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference files are not here")
def test_the_reference_file_loads_with_one_warning():
    settings, lines = read_conf(str(REFERENCE))
    assert settings.actions == ("enqueue", "allocate", "backfill")
    # binpack stands there with enableNodeOrder: false, which is all that it does
    assert sorted(settings.plugins) == sorted(set(PLUGINS) - {"binpack"})
    assert settings.plugins["nodeorder"] == {}
    assert (settings.grace_over_time_s, settings.nslb_version, settings.shared_tor_num) == (900, "1.0", 2)
    assert (settings.super_pod_size, settings.reserve_nodes) == (48, 2)
    assert settings.force_enqueue and settings.prefer_previous_node
    (line,) = lines
    assert line.startswith(f"{REFERENCE}:39: what follows the settings is passed over, it is no YAML: ")


def test_settings_in_a_longer_manifest(tmp_path):
    text = "kind: Namespace\n---\n" + HEAD + indent(TIERS, "    ") + "---\nkind: Service\n---\n# nothing\n"
    settings, lines = conf_of(tmp_path, text)
    assert settings.plugins == {"gang": {}}
    assert lines == [f"{tmp_path / 'conf.yaml'}: 2 other objects passed over"]


CASES = [
    ("actions: enqueue, alocate\n" + TIERS, 1, "actions: unknown action 'alocate', nearest: allocate; valid: enqueue, "
     "allocate, backfill"),
    ("actions: preempt\n" + TIERS, 1, "actions: unknown action 'preempt'; valid: enqueue, allocate, backfill"),
    ("actions: allocate, allocate\n" + TIERS, 1, "actions: action 'allocate' is given twice"),
    ("actions: ''\n" + TIERS, 1, "actions: there is no action; valid: enqueue, allocate, backfill"),
    ("actions: allocate\n", 1, "tiers: this key is required: plugins by tier"),
    (TIERS + "action: allocate\n", 2, "action: unknown key 'action'; nearest valid name: actions"),
    (plugin("name: gangs"), 3, "tiers.0.plugins.0.name: unknown plugin 'gangs', nearest: gang; valid: priority, "),
    (plugin("name: volcano-npux"), 3, "unknown plugin 'volcano-npux', nearest: volcano-npu; valid: "),
    (plugin("enableNodeOrder: true"), 3, "tiers.0.plugins.0.name: this key is required: name of the plugin"),
    (plugin("{name: gang}\n  - {name: gang}"), 4, "tiers.0.plugins.1.name: plugin 'gang' is given twice"),
    (plugin("{name: gang, enableJobOrders: true}"), 3, "unknown key 'enableJobOrders' of plugin gang, nearest: "
     "enableJobOrder; valid: name, arguments, "),
    (plugin("{name: gang, enableJobOrder: 2}"), 3,
     "tiers.0.plugins.0.enableJobOrder: 2 is not valid; valid: true, false"),
    (plugin("{name: gang, arguments: {weight: 1}}"), 3,
     "tiers.0.plugins.0.arguments.weight: unknown argument 'weight' of plugin gang; it takes none"),
    (plugin("{name: binpack, arguments: {binpack.wieght: 1}}"), 3,
     "unknown argument 'binpack.wieght' of plugin binpack, nearest: binpack.weight; valid: binpack.weight, "),
    (plugin("{name: binpack, arguments: {binpack.weight: -1}}"), 3,
     "tiers.0.plugins.0.arguments.binpack.weight: -1 is out of range; valid: 0 or more"),
    (plugin("{name: binpack, arguments: {binpack.cpu: much}}"), 3, "'much' is not an integer; valid: 0 or more"),
    (plugin("{name: predicates, arguments: {predicate.CacheEnable: maybe}}"), 3,
     "'maybe' is not valid; valid: true, false"),
    (plugin("{name: gang, arguments: [a]}"), 3, "tiers.0.plugins.0.arguments: ['a'] is not a section of keys"),
    (init("grace-over-time: 1"), 4,
     "configurations.0.arguments.grace-over-time: 1 is out of range; valid: 2 to 3600"),
    (init("grace-over-time: '3601'"), 4, "3601 is out of range; valid: 2 to 3600"),
    (init("nslb-version: '3.0'"), 4, "'3.0' is not valid; valid: 1.0, 2.0"),
    (init("shared-tor-num: 3"), 4, "3 is out of range; valid: 1 to 2"),
    (init("super-pod-size: 0"), 4, "0 is out of range; valid: 1 or more"),
    (init("reserve-nodes: two"), 4, "'two' is not an integer; valid: 0 or more"),
    (init("presetVirtualDevice: 1"), 4, "1 is not valid; valid: true, false"),
    (init("grace-overtime: 900"), 4, "configurations.0.arguments.grace-overtime: unknown argument 'grace-overtime' of "
     "init-params, nearest: grace-over-time; valid: grace-over-time, nslb-version, "),
    (TIERS + "configurations: [{name: init}]\n", 2,
     "configurations.0.name: unknown configuration 'init'; valid: init-params"),
    (init("resource-level-config: '{'"), 4, "no JSON: "),
    (init("resource-level-config: '[]'"), 4, "is no section of trees"),
    (init("resource-level-config: '{\"t\": {\"level1\": {\"label\": \"a\"}, \"level1\": {\"label\": \"b\"}}}'"), 4,
     "key 'level1' is given twice"),
    (init("resource-level-config: {t: {}}"), 4, "tree 't' has no levels"),
    (init("resource-level-config: {t: {level2: {label: a}}}"), 4,
     "t: level1 is missing; levels are consecutive from level1"),
    (init("resource-level-config: {t: {tier1: {label: a}}}"), 4, "t: 'tier1' is no level; valid: level1, level2, ..."),
    (init("resource-level-config: {t: {level1: {}}}"), 4, "t: level1: label None is no label key"),
    (init("resource-level-config: {t: {level1: {label: a, reserved: 1}}}"), 4,
     "t: level1: unknown key 'reserved'; valid: label, reservedNode"),
    (init("resource-level-config: {t: {level1: {label: a, reservedNode: -1}}}"), 4,
     "t: level1: reservedNode -1 is not an integer of 0 or more"),
    ("kind: ConfigMap\ndata: {other: x}\n", None, "there are no settings of the scheduler in it; valid: a ConfigMap "),
    ("kind: ConfigMap\ndata: {volcano-scheduler.conf: {}}\n", 2,
     "data.volcano-scheduler.conf: is not text; write it as a block"),
    ("a: [\n---\n" + TIERS, None, "broken YAML"),
    (HEAD + "    actions: allocate\n    tiers:\n    - plugins:\n      - name: gan\n", 9,
     "unknown plugin 'gan', nearest: gang"),
]


@pytest.mark.parametrize(("text", "line", "message"), CASES, ids=[case[2][:50] for case in CASES])
def test_error(tmp_path, text, line, message):
    with pytest.raises(InputError) as caught:
        conf_of(tmp_path, text)
    where = str(tmp_path / "conf.yaml") + (f":{line}: " if line is not None else "")
    assert str(caught.value).startswith(where)
    assert message in str(caught.value)
