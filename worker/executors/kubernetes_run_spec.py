"""Translates a start plan into the run spec from which its Kubernetes manifests are made."""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from worker.executors.contract import PlacementPlan, ProgramPlan, StartPlan
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.run_spec import GangKind, GangNode, PodMount, RunSpec, RuntimeFolder
from worker.kubernetes.manifests.workloads import shim_command
from worker.kubernetes.object_kinds import object_head

FOLDER_INSIDE = Path("/groundcrew/attempt")


@dataclass(frozen=True)
class RuntimeConfigMaps:
    """The job runtime as ConfigMaps: no node needs a copy of it, and nobody in a pod can change it.

    Each folder has its own ConfigMap, because a ConfigMap has no folders. The alternative, one ConfigMap and a list
    of paths in each pod, would be stored about ten times for a gang.
    """

    folder: Path

    @cached_property
    def files(self) -> Mapping[Path, str]:
        """The text of each file, by its path in the job runtime."""
        found = sorted(file for file in self.folder.rglob("*.py") if "__pycache__" not in file.parts)
        return {file.relative_to(self.folder): file.read_text() for file in found}

    @cached_property
    def folders(self) -> tuple[RuntimeFolder, ...]:
        """The folders, the topmost one first."""
        content = "\0".join(f"{path}\0{text}" for path, text in self.files.items())
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return tuple(RuntimeFolder(path, digest) for path in sorted({path.parent for path in self.files}))

    def config_maps(self, namespace: str) -> Iterator[KubernetesObject]:
        for folder in self.folders:
            data = {path.name: text for path, text in self.files.items() if path.parent == folder.path}
            yield object_head(
                "ConfigMap", folder.config_map, namespace, {object_names.PART: object_names.RUN_PART}
            ) | {
                "data": data,
                "immutable": True,
            }


def pod_user(program: ProgramPlan) -> tuple[int, int]:
    uid = os.getuid() if program.uid is None else program.uid
    gid = os.getgid() if program.gid is None else program.gid
    if uid == 0 or gid == 0:
        raise ValueError("a job never runs as root in a pod")
    return uid, gid


def gang_kind(placement: PlacementPlan) -> GangKind:
    is_gang = len(placement.nodes) > 1 or placement.gang == GangKind.NOTEBOOK
    return GangKind(placement.gang) if is_gang else GangKind.NONE


def build_run_spec(
    plan: StartPlan, installation: str, storage: Path, exported: str, runtime: RuntimeConfigMaps
) -> RunSpec:
    """Raises ValueError if the job would run as root or has no node."""
    program, placement = plan.program, plan.placement
    uid, gid = pod_user(program)
    members = tuple(GangNode(node.lower(), units) for node, units in placement.units_by_node)
    if not members:
        raise ValueError("it has been given no node")
    on_first, gang = members[0].units, gang_kind(placement)
    entry = ("shim_pod.py",) if gang is GangKind.INDEXED else ("shim.py", "attached")
    return RunSpec(
        installation=installation,
        workspace=object_names.workspace_of_folder(plan.folder),
        job=plan.job,
        attempt=plan.attempt,
        folder=plan.folder,
        image=plan.container.image or "",
        uid=uid,
        gid=gid,
        command=shim_command(str(FOLDER_INSIDE), *entry),
        members=members,
        gang=gang,
        shown=run_mounts(plan, gang),
        has_gpus=bool(placement.gpus),
        cpus=placement.cpus / on_first if placement.cpus else None,
        memory=placement.memory_bytes // on_first if placement.memory_bytes else None,
        grace=min(program.grace_seconds, 60),
        storage=storage,
        exported=exported,
        runtime=runtime.folders,
    )


def with_rdma(run: RunSpec, rdma_nodes: Collection[str]) -> RunSpec:
    """A run on several GPUs requests a share of an RDMA card if each of its nodes offers one. Its ranks then have the
    same ways to each other.
    """
    has_rdma = run.has_gpus and run.units > 1 and all(node in rdma_nodes for node in run.nodes)
    return replace(run, has_rdma=has_rdma)


def run_mounts(plan: StartPlan, gang: GangKind) -> tuple[PodMount, ...]:
    own = [
        PodMount(plan.folder / part, FOLDER_INSIDE / part, is_writable=True) for part in ("control", "out")
    ]
    if gang is GangKind.MPI:
        # ssh and sshd need a passwd entry for the job's uid.
        own.append(PodMount(plan.folder / "passwd", Path("/etc/passwd")))
    return (
        *own,
        *(PodMount(mount.source, mount.target, mount.is_writable) for mount in plan.container.mounts),
    )


def passwd_text(user: tuple[int, int]) -> str:
    """A passwd file in which the image's user has the job's uid, so that ssh finds that user's keys and settings."""
    uid, gid = user
    return (
        "root:x:0:0:root:/root:/bin/bash\n"
        "sshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        f"mpiuser:x:{uid}:{gid}::/home/mpiuser:/bin/bash\n"
    )
