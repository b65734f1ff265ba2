"""The pod template of a run, within Pod Security's `restricted` profile.

https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted An image determines only its files;
user, command, devices and privileges come from the run spec.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.run_spec import RunSpec
from worker.kubernetes.manifests.volumes import pod_volume_mounts, pod_volumes

RUNTIME_INSIDE = "/groundcrew/runtime"
MEMORY_FILES_BYTES = 1024**3
"""Size of /dev/shm if a run has no memory limit. With a limit it is half of it. It counts
towards the run's memory.
"""
SCRATCH = "16Gi"
"""Size of /tmp, which is on the node's disk."""
TERMINATION_SECONDS = 15
"""Seconds that the kubelet waits longer than the shim's own grace time."""
CPU_REQUEST_SHARE = 0.5
"""A run may use its share of the processors but requests only half of it, because the system's own pods have requests
too.
"""
GPU = "nvidia.com/gpu"
RDMA = object_names.RDMA_RESOURCE
HOST = "kubernetes.io/hostname"
NO_GPU = "void"
LAUNCHER = {"cpu": "100m", "memory": "512Mi"}
"""The resources that an MPIJob's launcher requests. It does not compute."""


def pod_template(
    run: RunSpec,
    name: str,
    command: Sequence[str],
    units: int,
    *,
    more: KubernetesObject | None = None,
    env: Sequence[KubernetesObject] = (),
    labels: KubernetesObject | None = None,
) -> KubernetesObject:
    """`more` is merged into the container. `units` is 0 for a pod that only starts the others."""
    container = {
        "name": name,
        "image": run.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "workingDir": "/",
        "env": [*pod_environment(run, units), *env],
        "resources": pod_resources(run, units),
        "securityContext": pod_security_context(),
        "volumeMounts": [
            *runtime_mounts(run),
            {"name": "memory", "mountPath": "/dev/shm"},
            {"name": "scratch", "mountPath": "/tmp"},
            *pod_volume_mounts(run),
        ],
        **(more or {}),
    }
    return {
        "metadata": {
            "labels": {**pod_labels(run), **(labels or {})},
            "annotations": {object_names.FOLDER: str(run.folder)},
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": run.grace + TERMINATION_SECONDS,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": run.uid,
                "runAsGroup": run.gid,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "affinity": {"nodeAffinity": node_affinity(run.nodes)},
            "tolerations": TOLERATIONS,
            "containers": [container],
            "volumes": [
                *runtime_volumes(run),
                unit_memory(run, units),
                {"name": "scratch", "emptyDir": {"sizeLimit": SCRATCH}},
            ]
            + pod_volumes(run),
        },
    }


def pod_labels(run: RunSpec) -> KubernetesObject:
    return object_names.attempt_labels(run.installation, run.workspace, run.job, run.attempt)


def pod_security_context() -> KubernetesObject:
    return {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


TOLERATIONS: list[KubernetesObject] = [
    # A node that is silent for a while keeps its pods. We decide when it is lost, and then delete them.
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    # The nodes that a pod may use are listed by their names, control planes too.
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
    {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
]


def node_affinity(nodes: Sequence[str]) -> KubernetesObject:
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": HOST, "operator": "In", "values": sorted(nodes)}]}
            ]
        }
    }


def pod_environment(run: RunSpec, units: int) -> list[KubernetesObject]:
    """The environment of the shim. The program's own environment is in the plan. Only a device plugin makes GPUs
    visible.
    """
    hidden = [] if run.has_gpus and units else [{"name": "NVIDIA_VISIBLE_DEVICES", "value": NO_GPU}]
    return [
        *hidden,
        {"name": "LD_PRELOAD", "value": ""},
        {"name": "LC_ALL", "value": "C.UTF-8"},
        {"name": "GROUNDCREW_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ]


def pod_resources(run: RunSpec, units: int) -> KubernetesObject:
    if not units:
        return {"requests": LAUNCHER, "limits": {"memory": LAUNCHER["memory"]}}
    requests: KubernetesObject = {}
    limits: KubernetesObject = {}
    if run.cpus:
        limits["cpu"] = f"{max(100, round(run.cpus * units * 1000))}m"
        requests["cpu"] = f"{max(50, round(run.cpus * units * 1000 * CPU_REQUEST_SHARE))}m"
    if run.memory:
        limits["memory"] = requests["memory"] = str(run.memory * units)
    if run.has_gpus:
        limits[GPU] = requests[GPU] = str(units)
    if run.has_rdma:
        limits[RDMA] = requests[RDMA] = "1"
    return {"requests": requests, "limits": limits}


def unit_memory(run: RunSpec, units: int) -> KubernetesObject:
    size = run.memory * units // 2 if run.memory and units else MEMORY_FILES_BYTES
    return {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": str(size)}}


def runtime_volumes(run: RunSpec) -> list[KubernetesObject]:
    return [
        {"name": each.volume, "configMap": {"name": each.config_map, "defaultMode": 0o444}}
        for each in run.runtime
    ]


def runtime_mounts(run: RunSpec) -> list[KubernetesObject]:
    """The mounts of the job runtime. The kubelet creates the mount point of a folder inside a folder."""
    return [
        {"name": each.volume, "mountPath": str(PurePosixPath(RUNTIME_INSIDE, each.path)), "readOnly": True}
        for each in run.runtime
    ]
