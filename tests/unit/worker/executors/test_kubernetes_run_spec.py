"""What of a start plan stands in the run spec of its pods."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.start_plans import change_plan
from tests.unit.worker.kubernetes.fake_api import USER, WORKSPACE
from worker.executors.contract import Mount, PlacementPlan, ProgramPlan, StartPlan
from worker.executors.kubernetes_run_spec import (
    RuntimeConfigMaps,
    build_run_spec,
    gang_kind,
    passwd_text,
    pod_user,
    run_mounts,
)
from worker.kubernetes.manifests.run_spec import GangKind, GangNode

GIB = 1024**3


@pytest.mark.parametrize(
    ("nodes", "gang", "kind"),
    [
        (("a",), "mpi", GangKind.NONE),
        (("a", "b"), "mpi", GangKind.MPI),
        (("a", "b"), "indexed", GangKind.INDEXED),
        (("a",), GangKind.NOTEBOOK, GangKind.NOTEBOOK),
    ],
)
def test_only_several_nodes_make_a_gang(nodes: tuple[str, ...], gang: str, kind: GangKind) -> None:
    assert gang_kind(PlacementPlan(nodes=nodes, gang=gang)) is kind


@pytest.mark.parametrize("ids", [{"uid": 0, "gid": 5}, {"uid": 5, "gid": 0}])
def test_no_pod_is_root(ids: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="never runs as root"):
        pod_user(replace(ProgramPlan(("true",), {}), **ids))


def test_each_pod_has_its_share_and_the_nodes_are_named_as_kubernetes_does(
    plan: StartPlan, storage: Path, runtime: Path
) -> None:
    plan = change_plan(
        plan,
        nodes=("GPU-1", "gpu-2"),
        units_by_node=(("GPU-1", 2), ("gpu-2", 1)),
        cpus=8.0,
        memory_bytes=4 * GIB,
        gpus=("GPU-a",),
        grace_seconds=600,
    )
    run = build_run_spec(plan, "here", storage, "", RuntimeConfigMaps(runtime))
    assert run.members == (GangNode("gpu-1", 2), GangNode("gpu-2", 1))
    assert (run.cpus, run.memory, run.has_gpus, run.grace) == (4.0, 2 * GIB, True, 60)
    assert (run.uid, run.gid, run.workspace, run.job, run.attempt) == (*USER, WORKSPACE, 7, 1)
    assert run.gang is GangKind.INDEXED and "shim_pod.py" in " ".join(run.command)


def test_a_run_without_a_node_is_refused(plan: StartPlan, storage: Path, runtime: Path) -> None:
    with pytest.raises(ValueError, match="no node"):
        build_run_spec(change_plan(plan, units_by_node=()), "here", storage, "", RuntimeConfigMaps(runtime))


@pytest.mark.parametrize(("gang", "has_passwd"), [(GangKind.MPI, True), (GangKind.INDEXED, False)])
def test_a_pod_writes_only_in_the_attempts_own_folders(
    plan: StartPlan, gang: GangKind, has_passwd: bool
) -> None:
    data = Mount(Path("/data/digits"), Path("/groundcrew/dataset"))
    mounts = run_mounts(change_plan(plan, mounts=(data,)), gang)
    writable = {str(mount.target) for mount in mounts if mount.is_writable}
    assert writable == {"/groundcrew/attempt/control", "/groundcrew/attempt/out"}
    targets = [str(mount.target) for mount in mounts]
    assert ("/etc/passwd" in targets) is has_passwd and targets[-1] == "/groundcrew/dataset"


def test_sshd_finds_the_job_under_its_number() -> None:
    lines = passwd_text((100_007, 100_003)).splitlines()
    assert "mpiuser:x:100007:100003::/home/mpiuser:/bin/bash" in lines
    assert {line.count(":") for line in lines} == {6}


def test_what_runs_inside_is_one_config_map_per_folder_named_by_all_of_it(runtime: Path) -> None:
    (runtime / "models").mkdir()
    (runtime / "models" / "lenet.py").write_text("x = 1\n")
    (runtime / "__pycache__").mkdir()
    (runtime / "__pycache__" / "shim.py").write_text("never")
    maps = list(RuntimeConfigMaps(runtime).config_maps("ns"))
    assert [sorted(each["data"]) for each in maps] == [["shim.py"], ["lenet.py"]]
    assert all(each["immutable"] for each in maps)
    (runtime / "models" / "lenet.py").write_text("x = 2\n")
    names = {each["metadata"]["name"] for each in maps}
    later = {each["metadata"]["name"] for each in RuntimeConfigMaps(runtime).config_maps("ns")}
    assert len(names) == 2 and not names & later
