"""Folders of the shared storage as volumes: made by us, one claim per folder and workspace, never a hostPath in a pod.

Pod Security's `restricted` lets a pod name claims alone; which folder is behind one is written in a volume that only
cluster administrators and we can make. A volume shows a workspace its own folder, and of that a pod sees the attempt's
parts alone (docs/decisions/2026-11-21-volumes-on-the-shared-path.md).
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from worker.kube import names
from worker.kube.api import Thing
from worker.kube.kinds import head
from worker.kube.shapes.run import Run, Shown

SIZE = "1Ti"
"""Kubernetes wants a number; nothing of a shared folder is counted by it."""
EVERY_NODE = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
        ]
    }
}


@dataclass(frozen=True)
class Folder:
    """One volume with its claim."""

    path: Path
    claim: str
    is_ours: bool
    """Beneath the storage, where an export of NFS may stand for it."""


def own_folder(run: Run) -> Path:
    return run.storage / "workspaces" / str(run.workspace)


def folder_of(run: Run, shown: Shown) -> Folder:
    """The workspace's own, or the one outside of the storage that is registered as a dataset."""
    if shown.source.is_relative_to(own := own_folder(run)):
        return Folder(own, f"gc-{run.installation}-workspace", True)
    digest = hashlib.sha256(os.fsencode(shown.source)).hexdigest()[:12]
    return Folder(
        shown.source, f"gc-{run.installation}-path-{digest}", shown.source.is_relative_to(run.storage)
    )


def folders_of(run: Run) -> list[Folder]:
    """Each once."""
    return list(dict.fromkeys(folder_of(run, shown) for shown in run.shown))


def volumes_of(run: Run) -> Iterator[Thing]:
    """What has to be there before the pods: a volume and its claim for each folder."""
    namespace = names.namespace_of(run.workspace)
    labels = {names.INSTALLATION: run.installation, names.WORKSPACE: str(run.workspace)}
    for folder in folders_of(run):
        name = f"{folder.claim}-{run.workspace}"
        modes = ["ReadWriteMany"] if folder.path == own_folder(run) else ["ReadOnlyMany"]
        yield head("PersistentVolume", name, labels=labels) | {
            "spec": {
                "capacity": {"storage": SIZE},
                "accessModes": modes,
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "claimRef": {"namespace": namespace, "name": folder.claim},
                **source_of(run, folder),
            }
        }
        yield head("PersistentVolumeClaim", folder.claim, namespace, labels) | {
            "spec": {
                "accessModes": modes,
                "storageClassName": "",
                "volumeName": name,
                "resources": {"requests": {"storage": SIZE}},
            }
        }


def source_of(run: Run, folder: Folder) -> Thing:
    """`local` also refuses to start where the folder is missing: a node that has not mounted the storage."""
    if run.exported and folder.is_ours:
        server, _, root = run.exported.partition(":/")
        path = Path("/", root) / folder.path.relative_to(run.storage)
        return {"nfs": {"server": server.strip("[]"), "path": str(path)}}
    return {"local": {"path": str(folder.path)}, "nodeAffinity": EVERY_NODE}


def mounts_of(run: Run) -> list[Thing]:
    """Everything to read, but for the attempt's own two folders."""
    mounts = []
    for shown in run.shown:
        folder = folder_of(run, shown)
        mount: Thing = {"name": folder.claim, "mountPath": str(shown.target)}
        if beneath := "/".join(shown.source.relative_to(folder.path).parts):
            mount["subPath"] = beneath
        mounts.append(mount | ({} if shown.is_writable else {"readOnly": True}))
    return mounts


def claims_of(run: Run) -> list[Thing]:
    return [
        {"name": folder.claim, "persistentVolumeClaim": {"claimName": folder.claim}}
        for folder in folders_of(run)
    ]
