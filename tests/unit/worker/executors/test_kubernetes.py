"""The Kubernetes executor copes with rare answers of an API server."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.jobs.attempts import ObservedState
from cluster.files import safe_files
from tests.start_plans import change_plan
from tests.unit.worker.kubernetes.fake_api import USER, WORKSPACE, FewObjects, Thing, here, pod
from worker.executors import attempt_folder, container_folders
from worker.executors.contract import ExecutorUnreachable, Mount, NotStarted, StartPlan
from worker.executors.kubernetes import FORCE_SECONDS, KubernetesExecutor
from worker.executors.kubernetes_run_spec import build_run_spec
from worker.kubernetes import object_names
from worker.kubernetes.api_client import ApiConflict, ApiRefused, ObjectExists
from worker.kubernetes.manifests.volumes import volume_objects


def test_where_a_run_lies_is_not_read_from_the_cluster(
    server: FewObjects, executor: KubernetesExecutor, storage: Path
) -> None:
    """Whoever may make pods could name any folder of the master, and the scheduler writes into it."""
    for lie in ("/etc", "nowhere", ""):
        server.things = [pod(7, **{object_names.FOLDER: lie})]
        (run,) = executor.list_running()
        assert run.folder == storage / "workspaces/3/jobs/7/1" and run.handle["folder"] == str(run.folder)


def test_rights_that_are_taken_away_end_nothing(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    server.refuses = lambda verb, name: ApiRefused(403, "Forbidden", "jobs is forbidden")
    assert executor.read_status(plan.folder).observed is ObservedState.UNKNOWN
    for ask in (
        executor.list_running,
        lambda: executor.read_exit_record(plan.folder),
        lambda: executor.remove_ended_except(()),
        lambda: executor.end_leftovers(plan.folder),
    ):
        with pytest.raises(ExecutorUnreachable) as silence:
            ask()
        assert silence.value.code == "kubernetes.refused"


def test_one_that_nobody_can_be_asked_about_can_still_be_told_to_stop(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """The word lies beside its plan: it needs no API server."""
    server.refuses = lambda verb, name: ApiRefused(403, "Forbidden", "jobs is forbidden")
    (plan.folder / "control").mkdir(parents=True)
    assert executor.read_status(plan.folder).handle is None
    (plan.folder / "control" / "started").write_text('{"pid": 1}')
    sight = executor.read_status(plan.folder)
    assert sight.observed is ObservedState.UNKNOWN and sight.handle is not None
    executor.stop(sight.handle)
    assert json.loads((plan.folder / "control" / "stop.json").read_text()) == {"how": "politely"}


def test_one_that_cannot_be_removed_keeps_no_other_one(
    server: FewObjects, executor: KubernetesExecutor
) -> None:
    server.things = [pod(7, "Succeeded"), pod(8, "Succeeded")]
    server.refuses = lambda verb, name: ApiConflict(409, "Conflict", "…") if name == "gc-7-1-x" else None
    executor.remove_ended_except(())
    assert "gc-8-1-x" in server.deleted


def test_a_conflict_with_a_quota_is_not_taken_for_an_object_that_is_there(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """Without its service the members of a gang would never find each other."""
    server.refuses = lambda verb, name: (
        ApiConflict(409, "Conflict", "resourcequotas: the object has been modified")
        if name == "Service"
        else None
    )
    with pytest.raises(NotStarted, match="object has been modified") as refused:
        executor.start(plan)
    assert refused.value.code == "kubernetes.refused", "no node was asked"
    assert "Job" not in server.made


def test_a_name_that_a_stranger_has_taken_is_said(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    server.refuses = lambda verb, name: (
        ObjectExists(409, "AlreadyExists", "…") if (verb, name) == ("create", "Job") else None
    )
    with pytest.raises(NotStarted) as refused:
        executor.start(plan)
    assert "gc-7-1 is there already" in refused.value.data["reason"]


def test_a_volume_that_was_made_for_another_storage_is_not_used_in_silence(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """GROUNDCREW_KUBERNETES_STORAGE was changed: programs would write where nobody reads."""
    former = KubernetesExecutor(
        executor.api, here, executor.storage, executor.runtime.folder, "nas01:/export"
    )
    run = build_run_spec(plan, former.installation, former.storage, former.exported, former.runtime)
    volumes = list(volume_objects(run))
    server.refuses = lambda verb, name: (
        ObjectExists(409, "AlreadyExists", "…") if name == "PersistentVolume" else None
    )
    server.things = volumes
    with pytest.raises(NotStarted, match="another place of the storage"):
        executor.start(plan)
    assert former.start(plan) is None


def test_nothing_is_started_in_a_namespace_of_another_installation(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan
) -> None:
    """Its workspaces have the same numbers, and its quota would count our pods."""
    namespace = {
        "name": object_names.workspace_namespace(WORKSPACE),
        "labels": {object_names.INSTALLATION: "other"},
    }
    server.things = [{"kind": "Namespace", "metadata": namespace}]
    with pytest.raises(NotStarted) as refused:
        executor.start(plan)
    assert refused.value.code == "start.namespace_of_another" and not server.made
    namespace["labels"] = {object_names.INSTALLATION: here()}
    assert executor.start(plan) is None


def test_while_the_storage_is_away_nothing_is_concluded_from_a_marker_that_is_not_there(
    server: FewObjects, executor: KubernetesExecutor, storage: Path, plan: StartPlan
) -> None:
    server.things = [pod(7, "Failed")]
    assert executor.read_status(plan.folder).observed is ObservedState.ABSENT
    (storage / "workspaces").rename(storage / "away")
    assert executor.read_status(plan.folder).observed is ObservedState.UNKNOWN


@pytest.mark.parametrize(("grace", "waits"), [(1, False), (45, True)])
def test_nobody_waits_for_a_kubelet_that_was_told_already(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, grace: int, waits: bool
) -> None:
    """Eight pods that never end on a node whose engine hangs would cost the scheduler its lease."""
    leaving = pod(7)
    leaving["metadata"] |= {"deletionTimestamp": "2026-11-21T10:01:00Z", "deletionGracePeriodSeconds": grace}
    server.things = [leaving]
    began = time.monotonic()
    executor.kill({"folder": str(plan.folder)})
    assert (time.monotonic() - began >= FORCE_SECONDS) is waits
    assert bool(server.deleted) is waits


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"gpus": ["GPU-1"], "node": "node-1"}, {"gpus": ["GPU-1"], "node": "node-1"}),
        ({"gpus": [["GPU-1"]], "node": {"a": 1}}, {}),
        ({"gpus": "GPU-1", "node": "a\nb"}, {}),
        ({"gpus": ["x"] * 65, "node": "n" * 254, "pid": 1}, {}),
    ],
)
def test_what_stands_in_the_marker_is_read_as_if_a_stranger_wrote_it(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, said: Thing, told: Thing
) -> None:
    server.things = [pod(7)]
    (plan.folder / "control").mkdir(parents=True)
    (plan.folder / "control" / "started").write_text(json.dumps(said))
    handle = executor.read_status(plan.folder).handle
    assert handle is not None
    assert {key: handle[key] for key in set(handle) - {"namespace", "name", "folder"}} == told


@pytest.mark.parametrize("content", ["", "no JSON", "[]", None])
def test_a_marker_that_the_program_has_spoilt_still_says_that_it_has_begun(
    server: FewObjects, executor: KubernetesExecutor, plan: StartPlan, content: str | None
) -> None:
    """Else nobody could stop it: its late start would be forestalled in vain."""
    server.things = [pod(7)]
    marker = plan.folder / "control" / "started"
    marker.parent.mkdir(parents=True)
    marker.symlink_to("/nowhere") if content is None else marker.write_text(content)
    sight = executor.read_status(plan.folder)
    assert sight.observed is ObservedState.ALIVE and sight.handle is not None
    assert not executor.prevent_start(plan.folder)


def test_a_list_of_users_that_was_half_written_is_none(
    executor: KubernetesExecutor, plan: StartPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try would take it for the whole, and no worker of the gang would be let in."""

    write = safe_files.write_fully

    def full(descriptor: int, content: bytes) -> None:
        if content.startswith(b"root:"):
            raise OSError(28, "No space left on device")
        write(descriptor, content)

    with monkeypatch.context() as disk, pytest.raises(NotStarted):
        disk.setattr(safe_files, "write_fully", full)
        executor.start(change_plan(plan, gang="mpi"))
    assert not (plan.folder / "passwd").exists()
    executor.start(change_plan(plan, gang="mpi"))
    assert "mpiuser" in (plan.folder / "passwd").read_text()


def test_links_in_code_are_not_followed_when_it_is_copied_for_several_pods(
    executor: KubernetesExecutor, plan: StartPlan, tmp_path: Path
) -> None:
    code, secret = tmp_path / "code", tmp_path / "secret"
    (code / "deep").mkdir(parents=True)
    (code / "deep" / "train.py").write_text("pass")
    secret.write_text("the master's own")
    (code / "config").symlink_to(secret)
    inside = Path("/groundcrew/code")
    executor.start(change_plan(plan, code=inside, mounts=(Mount(code, inside),)))
    work = plan.folder / "out" / "work"
    assert [path.name for path in work.rglob("*") if path.is_file()] == ["train.py"]
    assert (work / "deep" / "train.py").stat().st_mode & 0o777 == 0o600


def test_two_threads_that_prepare_one_attempt_leave_a_whole_plan(
    plan: StartPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler that lost its lease for a moment asks again while the first question is still under way."""
    write = attempt_folder.write_plan_file

    def meanwhile(*words: Any) -> None:
        monkeypatch.setattr(attempt_folder, "write_plan_file", write)
        container_folders.prepare_folders(plan, USER)
        write(*words)

    monkeypatch.setattr(attempt_folder, "write_plan_file", meanwhile)
    container_folders.prepare_folders(plan, USER)
    assert json.loads((plan.folder / "control" / "plan.json").read_text())["job"] == 7
    assert [each.name for each in plan.folder.iterdir() if each.suffix == ".tmp"] == []
