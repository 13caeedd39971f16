"""The TrainingRuntime that a run's Workflow brings: replicated jobs, pods, scheduler and queue labels.

Source of the shape: NVIDIA/cluster-readiness-engine, the runtimes that it generates (torch and exec: one replicated
job; mpi: workers and a launcher). How sshd and its keys are set up inside a container is of no consequence to a
simulation, so those scripts are short here.
"""

from __future__ import annotations

from typing import Any

from .gang_spec import KAI, GangScheduler
from .hardware import Hardware
from .names import GPU_RESOURCE, LAUNCHER, STEP_LABEL, TRAINER_GROUP, WORKER, runtime_name
from .pods import plain
from .spec import WorkloadRun, WorkloadRunSpec

Data = dict[str, Any]
_SHARED = "dshm"
_KEYS_RAW, _KEYS = "/tmp/mpi-ssh-raw", "/root/.ssh"
_SERVE = "mkdir -p /run/sshd && cp -r {raw}/. {keys}/ && chmod -R go-rwx {keys} && exec /usr/sbin/sshd -De"
_COPY_KEYS = "cp -r {raw}/. {keys}/ && chmod -R go-rwx {keys}"
_WAIT = " && cut -d' ' -f1 /etc/mpi/hostfile | while read -r host; do until ssh -n $host true; do sleep 5; done; done"


def training_runtime(run: WorkloadRun, hardware: Hardware) -> Data:
    """The runtime of a run, by its framework."""
    if run.spec.framework.mpi is not None:
        return _mpi(run, hardware)
    return _single(run, hardware)


def environment(spec: WorkloadRunSpec, multi_node_nvlink: bool) -> list[Data]:
    """Variables of the workload's containers: NCCL's, then the run's own, which take the place of those so named."""
    defaults = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "NET,INIT", "NCCL_NVLS_ENABLE": "1",
                "NCCL_CUMEM_ENABLE": "1", "NCCL_NET_GDR_C2C": "1", "NCCL_NET_GDR_LEVEL": "PHB",
                "NCCL_P2P_NET_CHUNKSIZE": "2097152", "NCCL_SHM_DISABLE": "1",
                "NCCL_MNNVL_ENABLE": str(int(multi_node_nvlink)), "NCCL_SOCKET_IFNAME": "eth0"}
    own = {variable.name for variable in spec.env}
    return ([{"name": name, "value": value} for name, value in defaults.items() if name not in own]
            + [plain(variable) for variable in spec.env])


def requested(spec: WorkloadRunSpec, hardware: Hardware) -> Data:
    """Requests and limits of a worker: the run's, with the GPUs added unless it names them itself, and the NICs."""
    given = plain(spec.resources) if spec.resources is not None else {}
    limits, requests = dict(given.get("limits") or {}), dict(given.get("requests") or {})
    if GPU_RESOURCE not in limits and GPU_RESOURCE not in requests:
        limits[GPU_RESOURCE] = requests[GPU_RESOURCE] = str(hardware.gpus)
    nic = spec.nicResourceName
    if nic is not None and hardware.nics > 0 and nic not in limits and nic not in requests:
        limits[nic] = requests[nic] = str(hardware.nics)
    return {**given, "limits": limits, "requests": requests}


def _single(run: WorkloadRun, hardware: Hardware) -> Data:
    """torch and exec: one replicated job."""
    spec = run.spec
    pod: Data = {"terminationGracePeriodSeconds": 30,
                 "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
                 "containers": [_container(run, hardware, [])],
                 "volumes": _volumes(run)}
    if spec.initContainers:
        pod["initContainers"] = [plain(container) for container in spec.initContainers]
    labels = {STEP_LABEL: "trainer", "app": run.name}
    policy = {"numNodes": spec.nodes_per_job, "torch": {"numProcPerNode": hardware.gpus}}
    return _runtime(run, "torch", policy, {"replicatedJobs": [_replicated(WORKER, pod, labels, spec.gangScheduler)]})


def _mpi(run: WorkloadRun, hardware: Hardware) -> Data:
    """mpi: workers that serve ssh, and a launcher that starts mpirun when they are ready."""
    spec = run.spec
    gang = spec.gangScheduler
    keys = {"name": "mpi-ssh-auth", "mountPath": _KEYS_RAW, "readOnly": True}
    worker_pod: Data = {"containers": [_worker(run, hardware, keys)], "restartPolicy": "OnFailure",
                        "volumes": _volumes(run)}
    if spec.initContainers:
        worker_pod["initContainers"] = [plain(container) for container in spec.initContainers]
    launcher = _replicated(LAUNCHER, _launcher_pod(run, hardware, keys), {STEP_LABEL: "trainer"}, gang)
    if not _waits_itself(gang):
        launcher["dependsOn"] = [{"name": WORKER, "status": "Ready"}]
    jobs = {"network": {"publishNotReadyAddresses": True},
            "replicatedJobs": [_replicated(WORKER, worker_pod, {}, gang), launcher],
            "successPolicy": {"operator": "All", "targetReplicatedJobs": [LAUNCHER]}}
    implementation = spec.framework.mpi.mpiImplementation if spec.framework.mpi is not None else ""
    policy = {"numNodes": 1, "mpi": {"mpiImplementation": implementation, "numProcPerNode": hardware.gpus,
                                     "sshAuthMountPath": _KEYS_RAW}}
    return _runtime(run, "mpi", policy, jobs)


def _worker(run: WorkloadRun, hardware: Hardware, keys: Data) -> Data:
    container = _container(run, hardware, [keys])
    container["command"], container["args"] = ["sh", "-c"], [_SERVE.format(raw=_KEYS_RAW, keys=_KEYS)]
    container["readinessProbe"] = {"initialDelaySeconds": 5, "periodSeconds": 30, "timeoutSeconds": 10,
                                   "exec": {"command": ["ssh", "-n", "127.0.0.1", "true"]}}
    container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK", "SYS_CHROOT"]}}
    return container


def _launcher_pod(run: WorkloadRun, hardware: Hardware, keys: Data) -> Data:
    spec = run.spec
    own = {"name": "ssh-keys", "mountPath": _KEYS}
    script = _COPY_KEYS.format(raw=_KEYS_RAW, keys=_KEYS)
    mounts = [keys, own]
    if _waits_itself(spec.gangScheduler):
        script, mounts = script + _WAIT, [*mounts, {"name": "mpi-hostfile", "mountPath": "/etc/mpi"}]
    return {"initContainers": [{"name": "fix-ssh-permissions", "image": spec.image, "command": ["sh", "-c"],
                                "args": [script], "volumeMounts": mounts}],
            "containers": [{"name": WORKER, "image": spec.image, "env": environment(spec, hardware.multi_node_nvlink),
                            "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
                            "volumeMounts": [keys, own, *_user_mounts(run)]}],
            "restartPolicy": "OnFailure",
            "volumes": [{"name": "ssh-keys", "emptyDir": {}}, *_user_volumes(run)]}


def _waits_itself(gang: GangScheduler | None) -> bool:
    """KAI starts no gang of which a part has no pods yet, so there the launcher cannot be held back until later."""
    return gang is not None and gang.schedulerName == KAI


def _container(run: WorkloadRun, hardware: Hardware, mounts: list[Data]) -> Data:
    spec = run.spec
    return {"name": WORKER, "image": spec.image, "env": environment(spec, hardware.multi_node_nvlink),
            "resources": requested(spec, hardware),
            "volumeMounts": [*mounts, {"name": _SHARED, "mountPath": "/dev/shm"}, *_user_mounts(run)]}


def _volumes(run: WorkloadRun) -> list[Data]:
    return [{"name": _SHARED, "emptyDir": {"medium": "Memory"}}, *_user_volumes(run)]


def _user_volumes(run: WorkloadRun) -> list[Data]:
    """The run's own volumes, and that of its configuration."""
    found = [plain(volume) for volume in run.spec.volumes]
    name = run.config_map
    return found + ([{"name": "config-volume", "configMap": {"name": name, "defaultMode": 0o755}}] if name else [])


def _user_mounts(run: WorkloadRun) -> list[Data]:
    found = [plain(mount) for mount in run.spec.volumeMounts]
    return found + ([{"name": "config-volume", "mountPath": "/config"}] if run.config_map else [])


def _replicated(name: str, pod: Data, labels: dict[str, str], gang: GangScheduler | None) -> Data:
    """A replicated job; under a gang scheduler its pods name it, and the queue's label is on job and pods."""
    pod_template: Data = {"spec": pod}
    if gang is not None:
        queue = {gang.queueLabelKey: gang.queue}
        labels = {**labels, **queue}
        pod_template = {"metadata": {"labels": queue}, "spec": {"schedulerName": gang.schedulerName, **pod}}
    template: Data = {"metadata": {"labels": labels}} if labels else {}
    return {"name": name, "template": {**template, "spec": {"template": pod_template}}}


def _runtime(run: WorkloadRun, framework: str, policy: Data, jobs: Data) -> Data:
    return {"apiVersion": f"{TRAINER_GROUP}/v1alpha1", "kind": "TrainingRuntime",
            "metadata": {"name": runtime_name(run.name),
                         "labels": {f"{TRAINER_GROUP}/framework": framework, "app": run.name}},
            "spec": {"mlPolicy": policy, "template": {"spec": jobs}}}
