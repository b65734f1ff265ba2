"""An export is read as NFS writes it."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.start_plans import a_start_plan
from worker.executors.contract import Mount
from worker.executors.kubernetes_run_spec import run_mounts
from worker.kubernetes.manifests.run_spec import GangKind, GangNode, RunSpec, RuntimeFolder
from worker.kubernetes.manifests.volumes import volume_objects
from worker.kubernetes.manifests.workloads import shim_command

STORAGE = Path("/var/lib/groundcrew/storage")


PLAN = a_start_plan(
    job=1042,
    attempt=2,
    folder=STORAGE / "workspaces/3/jobs/1042/2",
    argv=("python", "train.py"),
    environment={},
    mounts=(
        Mount(Path("/data/digits"), Path("/groundcrew/dataset")),
        Mount(STORAGE / "workspaces/3/code/9/4", Path("/groundcrew/code")),
    ),
)


RUN = RunSpec(
    installation="1a2b3c4d",
    workspace=3,
    job=1042,
    attempt=2,
    folder=PLAN.folder,
    image="10.0.0.1:5443/groundcrew-default@sha256:0123",
    uid=100_007,
    gid=100_003,
    command=shim_command("/groundcrew/attempt", "shim.py", "attached"),
    members=(GangNode("gpu01", 2),),
    shown=run_mounts(PLAN, GangKind.NONE),
    has_gpus=True,
    cpus=4.0,
    memory=32 * 1024**3,
    storage=STORAGE,
    runtime=tuple(RuntimeFolder(Path(each), "0123456789ab") for each in (".", "groundcrew_models")),
)


@pytest.mark.parametrize(
    ("exported", "server", "root"),
    [
        ("nas01:/", "nas01", ""),
        ("10.0.0.9:/a:b", "10.0.0.9", "/a:b"),
        ("[fd00::9]:/export", "fd00::9", "/export"),
    ],
)
def test_an_export_is_read_as_nfs_writes_it(exported: str, server: str, root: str) -> None:
    volume = next(volume_objects(replace(RUN, exported=exported, shown=RUN.shown[:1])))
    assert volume["spec"]["nfs"] == {"server": server, "path": f"{root}/workspaces/3"}
