"""The objects that Kubernetes gets, recorded whole: what changes there changes what a job may do."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.start_plans import a_start_plan
from worker.executors.contract import Mount
from worker.executors.kubernetes_run_spec import run_mounts, with_rdma
from worker.kubernetes.manifests.run_spec import GangKind, GangNode, RunSpec, RuntimeFolder
from worker.kubernetes.manifests.volumes import volume_objects
from worker.kubernetes.manifests.workloads import run_objects, shim_command

RECORDED = Path(__file__).parents[4] / "data" / "kubernetes" / "runs"
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
TWO = (GangNode("gpu01", 2), GangNode("gpu02", 2))
RUNS = {
    "one_pod": RUN,
    "cpu_slots": replace(RUN, has_gpus=False, cpus=1.0),
    "indexed": replace(
        RUN, gang=GangKind.INDEXED, members=TWO, command=shim_command("/groundcrew/attempt", "shim_pod.py")
    ),
    "mpi": replace(RUN, gang=GangKind.MPI, members=TWO, shown=run_mounts(PLAN, GangKind.MPI)),
    "mpi_uneven": replace(
        RUN,
        gang=GangKind.MPI,
        members=(GangNode("gpu01", 2), GangNode("gpu02", 1)),
        shown=run_mounts(PLAN, GangKind.MPI),
    ),
    "notebook": replace(RUN, gang=GangKind.NOTEBOOK, members=(GangNode("gpu01", 1),)),
    "without_limits": replace(RUN, cpus=None, memory=None, shown=()),
    "by_nfs": replace(RUN, exported="nas01:/export/groundcrew"),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_objects_are_the_recorded_ones(name: str) -> None:
    made = [*volume_objects(RUNS[name]), *run_objects(RUNS[name])]
    assert json.loads(json.dumps(made)) == json.loads((RECORDED / f"{name}.json").read_text())


def pods_in(thing: Any) -> Iterator[dict[str, Any]]:
    """Every pod's specification below."""
    if isinstance(thing, dict):
        if "containers" in thing:
            yield thing
        for each in thing.values():
            yield from pods_in(each)
    elif isinstance(thing, list):
        for each in thing:
            yield from pods_in(each)


@pytest.mark.parametrize("name", RUNS)
def test_no_pod_has_a_privilege_a_token_or_a_path_of_the_node(name: str) -> None:
    """Pod Security's `restricted`, read off; the API server enforces it in tests/kube_api."""
    pods = list(pods_in(run_objects(RUNS[name])))
    assert pods
    for pod in pods:
        assert pod["automountServiceAccountToken"] is False and pod["restartPolicy"] == "Never"
        assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "serviceAccountName"} & set(pod)
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
        for volume in pod["volumes"]:
            assert set(volume) <= {"name", "configMap", "emptyDir", "persistentVolumeClaim"}, volume
        for container in pod["containers"]:
            confined = container["securityContext"]
            assert confined["capabilities"] == {"drop": ["ALL"]} and confined["readOnlyRootFilesystem"]
            assert not confined["privileged"] and not confined["allowPrivilegeEscalation"]
            writable = [
                mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")
            ]
            own = {"/groundcrew/attempt/control", "/groundcrew/attempt/out"}
            assert set(writable) <= {"/dev/shm", "/tmp", *own}


@pytest.mark.parametrize("name", RUNS)
def test_nothing_is_tried_again_by_anybody_but_us(name: str) -> None:
    for thing in run_objects(RUNS[name]):
        limits = [
            thing["spec"].get("backoffLimit"),
            (thing["spec"].get("runPolicy") or {}).get("backoffLimit"),
        ]
        assert thing["kind"] in ("Pod", "Service") or 0 in limits


def test_a_run_asks_for_its_units_on_its_nodes_and_for_no_others() -> None:
    (mpi,) = run_objects(RUNS["mpi"])
    worker = mpi["spec"]["mpiReplicaSpecs"]["Worker"]
    (container,) = worker["template"]["spec"]["containers"]
    assert (worker["replicas"], mpi["spec"]["slotsPerWorker"]) == (2, 2)
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"
    (launcher,) = mpi["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    assert "nvidia.com/gpu" not in launcher["resources"]["limits"]
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in launcher["env"]


@pytest.mark.parametrize(
    ("members", "has_gpus", "nodes", "share"),
    [
        (TWO, True, {"gpu01", "gpu02"}, "1"),
        (TWO, True, {"gpu01"}, None),
        (TWO, False, {"gpu01", "gpu02"}, None),
        ((GangNode("gpu01", 2),), True, {"gpu01", "gpu02"}, "1"),
        ((GangNode("gpu01", 1),), True, {"gpu01"}, None),
        (TWO, True, set(), None),
    ],
)
def test_several_gpus_share_rdma_cards_where_all_of_their_nodes_have_one(
    members: tuple[GangNode, ...], has_gpus: bool, nodes: set[str], share: str | None
) -> None:
    run = with_rdma(replace(RUNS["mpi"], members=members, has_gpus=has_gpus), nodes)
    (mpi,) = run_objects(run)
    asked = {}
    for role in ("Worker", "Launcher"):
        (container,) = mpi["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"]
        asked[role] = [container["resources"][each].get("rdma/hca") for each in ("requests", "limits")]
    assert asked == {"Worker": [share, share], "Launcher": [None, None]}
