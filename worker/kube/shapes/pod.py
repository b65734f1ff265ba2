"""A pod of a run, within what Pod Security's `restricted` allows.

https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
An image decides nothing but its files: user, command, devices and privileges are ours.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from worker.kube import names
from worker.kube.api import Thing
from worker.kube.shapes.run import Run
from worker.kube.shapes.volumes import claims_of, mounts_of

RUNTIME_INSIDE = "/groundcrew/runtime"
MEMORY_FILES = 1024**3
"""/dev/shm where a run has no memory limit; with one, half of it. It counts as its memory."""
SCRATCH = "16Gi"
"""/tmp, on the node's disk."""
GOODBYE = 15
"""Seconds between the shim's own grace and the kubelet's patience with it."""
ASKED_OF_CPUS = 0.5
"""A run may use its part of the processors, and asks for half of it: the system's own pods have asked for some."""
GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
NO_GPU = "void"
LAUNCHER = {"cpu": "100m", "memory": "512Mi"}
"""What an MPIJob's launcher asks for: it computes nothing."""


def template(
    run: Run,
    name: str,
    command: Sequence[str],
    units: int,
    *,
    more: Thing | None = None,
    env: Sequence[Thing] = (),
    labels: Thing | None = None,
) -> Thing:
    """`more` is of the container. `units` 0: it starts the others and computes nothing."""
    container = {
        "name": name,
        "image": run.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "workingDir": "/",
        "env": [*environment(run, units), *env],
        "resources": resources(run, units),
        "securityContext": confinement(),
        "volumeMounts": [
            *runtime_mounts(run),
            {"name": "memory", "mountPath": "/dev/shm"},
            {"name": "scratch", "mountPath": "/tmp"},
            *mounts_of(run),
        ],
        **(more or {}),
    }
    return {
        "metadata": {
            "labels": {**labels_of(run), **(labels or {})},
            "annotations": {names.FOLDER: str(run.folder)},
        },
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": run.grace + GOODBYE,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": run.uid,
                "runAsGroup": run.gid,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "affinity": {"nodeAffinity": on_nodes(run.nodes)},
            "tolerations": TOLERATIONS,
            "containers": [container],
            "volumes": [
                *runtime(run),
                memory(run, units),
                {"name": "scratch", "emptyDir": {"sizeLimit": SCRATCH}},
            ]
            + claims_of(run),
        },
    }


def labels_of(run: Run) -> Thing:
    return names.labels_of(run.installation, run.workspace, run.job, run.attempt)


def confinement() -> Thing:
    return {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


TOLERATIONS: list[Thing] = [
    # A node that is silent for a while loses nothing: when it is given up is ours to say, and then we delete.
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    # Which nodes it may be on is said by their names.
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
    {"key": GPU, "operator": "Exists", "effect": "NoSchedule"},
]


def on_nodes(nodes: Sequence[str]) -> Thing:
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": HOST, "operator": "In", "values": sorted(nodes)}]}
            ]
        }
    }


def environment(run: Run, units: int) -> list[Thing]:
    """Of the shim alone: what the program gets stands in the plan. Only a device plugin shows GPUs."""
    hidden = [] if run.has_gpus and units else [{"name": "NVIDIA_VISIBLE_DEVICES", "value": NO_GPU}]
    return [
        *hidden,
        {"name": "LD_PRELOAD", "value": ""},
        {"name": "LC_ALL", "value": "C.UTF-8"},
        {"name": "GROUNDCREW_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ]


def resources(run: Run, units: int) -> Thing:
    if not units:
        return {"requests": LAUNCHER, "limits": {"memory": LAUNCHER["memory"]}}
    requests: Thing = {}
    limits: Thing = {}
    if run.cpus:
        limits["cpu"] = f"{max(100, round(run.cpus * units * 1000))}m"
        requests["cpu"] = f"{max(50, round(run.cpus * units * 1000 * ASKED_OF_CPUS))}m"
    if run.memory:
        limits["memory"] = requests["memory"] = str(run.memory * units)
    if run.has_gpus:
        limits[GPU] = requests[GPU] = str(units)
    return {"requests": requests, "limits": limits}


def memory(run: Run, units: int) -> Thing:
    size = run.memory * units // 2 if run.memory and units else MEMORY_FILES
    return {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": str(size)}}


def runtime(run: Run) -> list[Thing]:
    return [
        {"name": each.volume, "configMap": {"name": each.config_map, "defaultMode": 0o444}}
        for each in run.runtime
    ]


def runtime_mounts(run: Run) -> list[Thing]:
    """A folder in a folder: the kubelet makes the place for it."""
    return [
        {"name": each.volume, "mountPath": str(PurePosixPath(RUNTIME_INSIDE, each.path)), "readOnly": True}
        for each in run.runtime
    ]
