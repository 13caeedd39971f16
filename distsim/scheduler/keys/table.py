"""The table of every label and annotation of a job that the scheduler reads.

Source: seed 001 (PodGroup Tables 1 and 2, Pod Tables 1 and 2, VolcanoJob Table 1: "seed"), cluster.md, and for two keys
that the seed's keys need, mind-cluster's documentation. `keys.md` is made of it (page.py).

A label counts from the job, from its PodGroup and from the templates of its pods; an annotation too (read/fold.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from distsim.scheduler.keys import values
from distsim.scheduler.keys.values import Parse, else_default, one_of, whole

LABEL, ANNOTATION = "label", "annotation"
_ON, _SWITCH = else_default({"on": True}, False), ("on", "off")


@dataclass(frozen=True)
class Key:
    """A row.

    name : of the key. place : label or annotation. values : valid ones, for people. does : what it does. module : which
    module acts on it, below distsim/scheduler. test : that shows it, file::function. parse : its value from the text;
    None for what is read as it stands. field : of JobSettings, "" for none. source : where the rule is from.
    names : where any other text counts as the default, the texts that people mean; another one is named (draft.py).
    every_template : in templates of pods it counts only if all pods with chips have it. anywhere : as a label and as an
    annotation.
    """

    name: str
    place: str
    values: str
    does: str
    module: str
    test: str
    parse: Parse | None = None
    field: str = ""
    source: str = "seed"
    names: tuple[str, ...] = ()
    every_template: bool = False
    anywhere: bool = False


SHARE = "huawei.com/scheduler.softShareDev."
SP_BLOCK, SP_FIT, ATLAS, ELASTIC = "sp-block", "sp-fit", "ring-controller.atlas", "elastic-scheduling"
POLICY, AFFINITY, DISTRIBUTED = "huawei.com/schedule_policy", "huawei.com/affinity-config", "distributed"
MIN_REPLICAS = "minReplicas"
DEQUEUE_COUNT, ENQUEUE_TIME = "huawei.com/schedule_dequeue_frequency", "huawei.com/schedule_enqueue_time"

_LABELS = (
    Key(ATLAS, LABEL, "ascend-npu, ascend-910, ascend-{xxx}b, ascend-310, ascend-310P, huawei.com/npu",
        "Pods go on nodes of this kind of chip only, as the node's labels accelerator and accelerator-type say it; a "
        "node without these labels takes all.",
        "atlas.py", "test_sched_elastic.py::test_atlas_keeps_pods_off_nodes_of_another_chip", values.atlas, "atlas"),
    Key("fault-scheduling", LABEL, "grace, force, off; absent: off",
        "What a fault does to the job: grace ends its pods gracefully and by force after grace-over-time, force "
        "deletes them at once, off never reschedules. Any other value is off.",
        "faults/", "test_sched_faults.py::test_fault_scheduling",
        else_default({"grace": "grace", "force": "force"}, "off"), "fault_scheduling", names=("grace", "force", "off")),
    Key(ELASTIC, LABEL, "on, off; absent: off",
        "With fault-scheduling grace the job runs on with less after a fault when nodes are lacking: half the replicas "
        "(down to minReplicas), or in one pod 8, 4, 2, 1 chips; with what it asked for once there are enough again.",
        "elastic.py, session/resizing.py", "test_sched_elastic.py::test_elastic_job_of_several_pods_is_halved",
        one_of({"on": True, "off": False}), "elastic"),
    Key("fault-retry-times", LABEL, "integer 0 to 100; absent: 0",
        "How often the job is rescheduled for process and pod failures; hardware faults do not count.",
        "faults/", "test_sched_faults.py::test_fault_retry_times", whole(0, 100), "fault_retry_times"),
    Key("tor-affinity", LABEL, "normal-schema, large-model-schema, null; absent: null",
        "Placement by switches: large-model-schema with equal slices over switches, normal-schema with as few shared "
        "switches as possible, null without regard to switches.",
        "policies/tor/", "test_sched_tor.py::test_classes",
        one_of({"normal-schema": "normal-schema", "large-model-schema": "large-model-schema", "null": None}),
        "tor_affinity"),
    Key("npu-310-strategy", LABEL, "card, chip",
        "Chips of an inference server (Atlas 300I cards of four): all of a pod on one card, or any.",
        "chips/infer310.py", "test_sched_chips.py::test_npu_310_strategy", one_of({"card": "card", "chip": "chip"}),
        "npu_310_strategy"),
    Key("pod-rescheduling", LABEL, "on; any other value or absent: off",
        "A fault reschedules the failed pods only, and more of the job when they stay pending.",
        "faults/", "test_sched_faults.py::test_pod_rescheduling", _ON, "pod_rescheduling", names=_SWITCH),
    Key("process-recover-enable", LABEL, "on; any other value or absent: off",
        "A fault restarts the failed processes only; the others keep their nodes.",
        "faults/", "test_sched_faults.py::test_process_recover", _ON, "process_recover", names=_SWITCH),
    Key("subHealthyStrategy", LABEL, "ignore, graceExit, forceExit, hotSwitch; any other value or absent: ignore",
        "Sub-healthy nodes: ignore takes them last; the others shun them for new pods, and running pods leave them "
        "gracefully, at once, or after a backup pod has started.",
        "faults/", "test_sched_faults.py::test_sub_healthy_strategy",
        else_default({"graceExit": "graceExit", "forceExit": "forceExit", "hotSwitch": "hotSwitch"}, "ignore"),
        "sub_healthy", names=("ignore", "graceExit", "forceExit", "hotSwitch")),
    Key(SHARE + "aicoreQuota", LABEL, "integer 1 to 100", "Percent of a chip's AI cores that a pod holds.",
        "chips/soft_share.py", "test_sched_chips.py::test_soft_share", whole(1, 100), "aicore_quota"),
    Key(SHARE + "hbmQuota", LABEL, "integer 1 to the MB of a chip", "MB of a chip's memory that a pod holds.",
        "chips/soft_share.py", "test_sched_chips.py::test_soft_share", whole(1, None), "hbm_quota_mb"),
    Key(SHARE + "policy", LABEL, "fixed-share, elastic, best-effort",
        "How pods share a chip; pods of one policy only meet on it.",
        "chips/soft_share.py", "test_sched_chips.py::test_soft_share",
        one_of({"fixed-share": "fixed-share", "elastic": "elastic", "best-effort": "best-effort"}), "share_policy"),
    Key("super-pod-affinity", LABEL, "soft, hard; any other value or absent: hard",
        "soft: a job of SuperPoD blocks takes fragments when no whole blocks are free; hard: it waits.",
        "policies/blocks/", "test_sched_super_pod.py::test_super_pod_affinity", else_default({"soft": "soft"}, "hard"),
        "super_pod_affinity", "cluster.md section 4", ("soft", "hard")),
)

_ANNOTATIONS = (
    Key(POLICY, ANNOTATION, "one of the sixteen policies below",
        "Which chips of a node a pod gets, and for -sp and multilevel which nodes the job gets.",
        "chips/rings.py", "test_sched_keys.py::test_schedule_policies", values.schedule_policy, "schedule_policy"),
    Key(SP_BLOCK, ANNOTATION, "integer of 1 or more (chips), idlest, Non-idlest; absent: the job's chips",
        "Chips of a logical SuperPoD, which stays inside one physical SuperPoD. idlest and Non-idlest act as sp-fit "
        "with the default block.",
        "policies/blocks/", "test_sched_super_pod.py::test_sp_block", values.sp_block, "sp_block"),
    Key(SP_FIT, ANNOTATION, "idlest; any other value: fullest first",
        "Which physical SuperPoD a logical one goes to: idlest the one with most free nodes, else the fullest that "
        "holds it.",
        "policies/blocks/", "test_sched_super_pod.py::test_sp_fit", values.as_text, "sp_fit", "cluster.md section 4"),
    Key("ra-block", ANNOTATION, "1, 2, 4, 8, 16, 32, 64",
        "Chips that stay inside one rack (chip8-node8-ra64-sp).",
        "policies/blocks/", "test_sched_super_pod.py::test_ra_block", values.power_of_two(64), "ra_block",
        "cluster.md section 4"),
    Key("huawei.com/schedule_minAvailable", ANNOTATION, "integer of 1 or more",
        "Pods that must have a node before any is bound; counts when the PodGroup itself says 1.",
        "session/", "test_sched_gang.py::test_schedule_min_available_counts_only_where_the_group_says_one",
        whole(1, None), "min_available"),
    Key("huawei.com/recover_policy_path", ANNOTATION, "pod; job or pod,job or absent: up to the whole job",
        "pod: a reschedule stays with the failed pods and never widens.",
        "faults/", "test_sched_faults.py::test_recover_policy_path",
        one_of({"pod": True, "job": False, "pod,job": False}), "recover_pod_only"),
    Key("huawei.com/schedule_enable_dequeue", ANNOTATION, "on; any other value or absent: off",
        "An Inqueue job older than 5 minutes goes back to Pending when another job of its queue wants to be enqueued.",
        "session/", "test_sched_session.py::test_dequeue", _ON, "enable_dequeue", names=_SWITCH),
    Key(DEQUEUE_COUNT, ANNOTATION, "integer, written by the scheduler",
        "How often the job was dequeued; jobs with fewer come first. Gone once the job is neither Inqueue nor Pending.",
        "session/", "test_sched_session.py::test_dequeue_frequency"),
    Key(ENQUEUE_TIME, ANNOTATION, "milliseconds, written by the scheduler",
        "When the job was enqueued. Gone once the job is not Inqueue.",
        "session/", "test_sched_session.py::test_enqueue_time"),
    Key(AFFINITY, ANNOTATION, "level1=x,level2=y,...: from level1 up, each a multiple of the one before, the replicas "
        "a multiple of all",
        "Groups of x pods in one domain of level 1, of y pods in one of level 2, ... (schedule_policy multilevel).",
        "policies/multilevel.py", "test_sched_keys.py::test_affinity_config", values.affinity_levels,
        "affinity_levels"),
    Key("huawei.com/skip-ascend-plugin", ANNOTATION, "enabled; absent: off",
        "The job is placed without the rules of mind-cluster's plugin. In templates it counts if all pods with chips "
        "have it.",
        "policies/__init__.py", "test_sched_keys.py::test_skip_ascend_plugin", one_of({"enabled": True}), "skip_ascend",
        every_template=True),
    Key(DISTRIBUTED, ANNOTATION, "true, false; absent: written for an elastic job of several pods",
        "The elastic job gives up replicas (true), not chips of its pod.",
        "elastic.py", "test_sched_elastic.py::test_distributed", one_of({"true": True, "false": False}), "distributed"),
    Key(MIN_REPLICAS, ANNOTATION, "integer of 1 or more; absent: 1",
        "Fewest replicas that an elastic job runs with.",
        "elastic.py", "test_sched_elastic.py::test_min_replicas_bounds_an_elastic_job", whole(1, None), "min_replicas",
        "mind-cluster, elastic training"),
)

# Beyond the seed: what else a job may say of its recovery (faults/options.py, which checks the values).
_OPTIONS = (
    Key("recover-strategy", ANNOTATION, "list joined by commas; recover-in-place acts",
        "Faulty processes are restarted where they are.",
        "faults/", "test_sched_reset_json.py::test_rank_0_may_recover_in_place", source="mind-cluster, clusterd",
        anywhere=True),
    Key("distsim/subscribe-faults", ANNOTATION, "on, off; absent: off",
        "An inference job that has subscribed to faults: a RestartRequest of up to 60 s leaves it alone.",
        "faults/", "test_sched_faults_levels.py::test_restart_request_of_a_subscribed_inference_job_waits_60_seconds",
        source="distsim", anywhere=True),
    Key("distsim/hot-reset", ANNOTATION, "on, off; absent: off",
        "Chips are reset while the job stays (graceful fault tolerance).",
        "faults/", "test_sched_recovery_hot_reset.py::test_hot_resets", source="distsim", anywhere=True),
    Key("distsim/graceful-end", ANNOTATION, "time, e.g. 30s; absent: 0",
        "How long a pod takes to end by itself, its checkpoint included.",
        "faults/", "test_sched_faults.py::test_a_pod_that_takes_too_long_is_ended", source="distsim", anywhere=True),
)

KEYS: dict[str, Key] = {key.name: key for key in (*_LABELS, *_ANNOTATIONS, *_OPTIONS)}


def keys_of(place: str) -> dict[str, Key]:
    """The rows of labels, or of annotations, by name."""
    return {name: key for name, key in KEYS.items() if key.place == place}
