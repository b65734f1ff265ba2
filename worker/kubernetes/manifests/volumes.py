"""The volumes of a run: one claim per workspace and folder of the shared storage. No pod has a hostPath.

Pod Security's `restricted` allows a pod to name only claims. The folder behind a claim is written in its volume,
which only cluster administrators and we can create. A volume contains a workspace's own folder, of which a pod mounts
only the attempt's parts (docs/decisions/2026-11-21-volumes-on-the-shared-path.md).
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.run_spec import PodMount, RunSpec
from worker.kubernetes.object_kinds import object_head

SIZE = "1Ti"
"""Kubernetes requires a size, but does not limit a shared folder by it."""
EVERY_NODE = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
        ]
    }
}


@dataclass(frozen=True)
class FolderVolume:
    """One volume with its claim."""

    path: Path
    claim: str
    is_ours: bool
    """Whether the folder is in our storage, which nodes may mount by NFS."""


def volume_root(run: RunSpec) -> Path:
    return run.storage / "workspaces" / str(run.workspace)


def folder_volume_of_mount(run: RunSpec, shown: PodMount) -> FolderVolume:
    """The volume of the workspace's folder, or that of a folder outside the storage that is
    registered as a dataset.
    """
    if shown.source.is_relative_to(own := volume_root(run)):
        return FolderVolume(own, f"gc-{run.installation}-workspace", True)
    digest = hashlib.sha256(os.fsencode(shown.source)).hexdigest()[:12]
    return FolderVolume(
        shown.source, f"gc-{run.installation}-path-{digest}", shown.source.is_relative_to(run.storage)
    )


def folder_volumes(run: RunSpec) -> list[FolderVolume]:
    """The volumes of the run, each once."""
    return list(dict.fromkeys(folder_volume_of_mount(run, shown) for shown in run.shown))


def volume_objects(run: RunSpec) -> Iterator[KubernetesObject]:
    """The objects that must exist before the pods: a volume and its claim for each folder."""
    namespace = object_names.workspace_namespace(run.workspace)
    labels = {object_names.INSTALLATION: run.installation, object_names.WORKSPACE: str(run.workspace)}
    for folder in folder_volumes(run):
        name = f"{folder.claim}-{run.workspace}"
        modes = ["ReadWriteMany"] if folder.path == volume_root(run) else ["ReadOnlyMany"]
        yield object_head("PersistentVolume", name, labels=labels) | {
            "spec": {
                "capacity": {"storage": SIZE},
                "accessModes": modes,
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "claimRef": {"namespace": namespace, "name": folder.claim},
                **volume_source(run, folder),
            }
        }
        yield object_head("PersistentVolumeClaim", folder.claim, namespace, labels) | {
            "spec": {
                "accessModes": modes,
                "storageClassName": "",
                "volumeName": name,
                "resources": {"requests": {"storage": SIZE}},
            }
        }


def volume_source(run: RunSpec, folder: FolderVolume) -> KubernetesObject:
    """The volume's source. With `local` a pod also does not start if its node has not mounted the storage."""
    if run.exported and folder.is_ours:
        server, _, root = run.exported.partition(":/")
        path = Path("/", root) / folder.path.relative_to(run.storage)
        return {"nfs": {"server": server.strip("[]"), "path": str(path)}}
    return {"local": {"path": str(folder.path)}, "nodeAffinity": EVERY_NODE}


def pod_volume_mounts(run: RunSpec) -> list[KubernetesObject]:
    """All mounts are read-only, except the attempt's own two folders."""
    mounts = []
    for shown in run.shown:
        folder = folder_volume_of_mount(run, shown)
        mount: KubernetesObject = {"name": folder.claim, "mountPath": str(shown.target)}
        if beneath := "/".join(shown.source.relative_to(folder.path).parts):
            mount["subPath"] = beneath
        mounts.append(mount | ({} if shown.is_writable else {"readOnly": True}))
    return mounts


def pod_volumes(run: RunSpec) -> list[KubernetesObject]:
    return [
        {"name": folder.claim, "persistentVolumeClaim": {"claimName": folder.claim}}
        for folder in folder_volumes(run)
    ]
