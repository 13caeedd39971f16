"""The ConfigMaps of the recovery: fault information of a node, remain-retry-times, manifests."""

from __future__ import annotations

import json

from sched_fault_cases import World, card, node_down, running, state_with

DAY = 1_700_000_000        # seconds since 1970: 2023-11-14T22:13:20Z


def test_manifests_hold_json_texts() -> None:
    state = state_with(3)
    running(state, ["n0", "n1"], fault_scheduling="force", pod_rescheduling=True, fault_retry_times=3)
    world = World(state, [card("n1", [3], at_s=10, codes=("80E18005",))], start_s=DAY).run(10)
    npu, reasons, reset = world.recovery.configmaps()
    assert (npu["metadata"], reasons["metadata"], reset["metadata"]) == (
        {"name": "vcjob-fault-npu-cm", "namespace": "volcano-system"},
        {"name": "job-reschedule-reason", "namespace": "mindx-dl"},
        {"name": "reset-config-job", "namespace": "default", "labels": {"reset": "true"}})
    assert json.loads(reset["data"]["reset.json"])["FaultFlushing"] and reset["data"]["restartType"] == "podReschedule"
    assert json.loads(npu["data"]["remain-retry-times"])["default/job"]["Times"] == 3
    (node,) = json.loads(npu["data"]["fault-node"])
    assert node["NodeName"] == "n1" and node["UpdateTime"] == DAY + 10
    record = json.loads(reasons["data"]["recent-reschedule-records"])["default/job"]["RescheduleRecords"][0]
    assert record["RescheduleTimeStamp"] == "2023-11-14T22:13:30Z" and record["LogFileFormatTime"] == "I1114 22:13:30"


def test_the_fault_information_of_a_node() -> None:
    state = state_with(2)
    world = World(state, [card("n0", [1, 3], "RestartNPU", at_s=4, codes=("80E18005", "8C2FA009")),
                          card("n0", [2], "PreSeparateNPU", "CardNetworkUnhealthy", 5, index=1,
                               codes=("Disconnected",)),
                          node_down("n0", 6, index=2, codes=("heartbeatTimeOut",)),
                          node_down("n1", 6, index=3, detection=False)]).run(7)
    document = world.recovery.fault_device_list("n0")
    level = ("fault_level", "fault_handling", "large_model_fault_level")
    assert document["FaultDeviceList"] == [
        {"fault_type": "CardUnhealthy", "npu_name": "Ascend910-1,Ascend910-3", "fault_code": "80E18005,8C2FA009",
         **dict.fromkeys(level, "RestartNPU")},
        {"fault_type": "CardNetworkUnhealthy", "npu_name": "Ascend910-2", "fault_code": "Disconnected",
         **dict.fromkeys(level, "PreSeparateNPU")},
        {"fault_type": "NodeUnhealthy", "npu_name": "", "fault_code": "heartbeatTimeOut", **dict.fromkeys(level, "")}]
    assert (document["UnhealthyNPU"], document["NetworkUnhealthyNPU"]) == (["Ascend910-1", "Ascend910-3"],
                                                                         ["Ascend910-2"])
    assert (document["NodeDEnable"], document["NodeHealthState"], document["UpdateTime"]) == (True, "UnHealthy", 6)
    unseen = world.recovery.fault_device_list("n1")
    assert (unseen["NodeDEnable"], unseen["NodeHealthState"]) == (False, "Healthy")
    well = World(state_with(1)).run(0).recovery.fault_device_list("n0")
    assert (well["FaultDeviceList"], well["NodeHealthState"], well["NodeDEnable"]) == ([], "Healthy", True)
