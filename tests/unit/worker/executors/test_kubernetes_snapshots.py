"""The number of requests to an API server does not grow with the number of runs, and an old snapshot takes no young
one for gone."""

import time
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.jobs.attempts import ObservedState
from worker.executors.kubernetes import KubernetesExecutor
from worker.inside.shim_files import create_json_once, write_json_atomically
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject, ObjectList

WORKSPACE = 7
OVER = {"exitCode": 0, "reason": "Completed"}


class Cluster:
    """Stands for the API server: what there is, and how often somebody asked."""

    def __init__(self) -> None:
        self.things: list[KubernetesObject] = []
        self.asked = 0
        self.deleted: list[str] = []

    def delete(self, kind: str, name: str, *more: object) -> None:
        self.deleted.append(name)

    def list_all(self, kind: str, labels: str = "", namespace: str = "", fields: str = "") -> ObjectList:
        self.asked += 1
        wanted = dict(each.split("=") for each in labels.split(",") if each)
        shown = [each for each in self.things if each["kind"] == kind]
        return ObjectList(
            [each for each in shown if wanted.items() <= each["metadata"]["labels"].items()], "1"
        )

    def show(self, executor: KubernetesExecutor, folder: Path, phase: str) -> None:
        job, attempt = object_names.attempt_key_of_folder(folder)
        about = {
            "name": object_names.run_name(job, attempt),
            "labels": object_names.attempt_labels(executor.installation, WORKSPACE, job, attempt),
            "namespace": object_names.workspace_namespace(WORKSPACE),
            "creationTimestamp": "2026-11-21T00:00:00Z",
        }
        state = {"terminated": OVER} if phase == "Succeeded" else {"running": {}}
        status = {"phase": phase, "containerStatuses": [{"state": state}]}
        self.things += [
            {"kind": "Job", "metadata": about, "spec": {"completionMode": "NonIndexed"}, "status": {}},
            {"kind": "Pod", "metadata": about, "spec": {"nodeName": "a"}, "status": status},
        ]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def executor(cluster: Cluster, tmp_path: Path) -> KubernetesExecutor:
    api: Any = cluster
    return KubernetesExecutor(api, lambda: "here", tmp_path, tmp_path / "runtime", fresh_seconds=60)


def folder_of(executor: KubernetesExecutor, job: int) -> Path:
    folder = executor.storage / "workspaces" / str(WORKSPACE) / "jobs" / str(job) / "1"
    (folder / "control").mkdir(parents=True)
    return folder


def begin(folder: Path) -> None:
    create_json_once(str(folder / "control" / "started"), {"pid": 1})


def test_a_hundred_ends_cost_as_many_requests_as_one(executor: KubernetesExecutor, cluster: Cluster) -> None:
    folders = [folder_of(executor, job) for job in range(1, 101)]
    for folder in folders:
        begin(folder)
        job, attempt = object_names.attempt_key_of_folder(folder)
        said = {"job": job, "attempt": attempt, "fence": 1, "exit_code": 0, "signal": None, "ranks": []}
        said |= dict.fromkeys(("stopped", "timed_out", "out_of_memory"), False)
        said |= dict.fromkeys(("first_failed_rank", "started_at", "ended_at", "error"))
        write_json_atomically(str(folder / "control" / "exit.json"), said)
        cluster.show(executor, folder, "Succeeded")
    for folder in folders:
        assert executor.read_status(folder).observed is ObservedState.ENDED
        truth = executor.read_exit_record(folder)
        assert truth is not None and (truth.exit_code, truth.disruption) == (0, None)
    assert cluster.asked == 4, "one look: Jobs, MPIJobs, pods and nodes"


def test_what_began_after_the_look_is_no_loss(executor: KubernetesExecutor, cluster: Cluster) -> None:
    first, young = folder_of(executor, 1), folder_of(executor, 2)
    executor.read_status(first)  # The look that both are judged by.
    begin(young)
    assert executor.read_status(young).observed is ObservedState.ALIVE
    executor.list_running()  # Another look, which does not show it either.
    assert executor.read_status(young).observed is ObservedState.ENDED


def test_an_old_pod_of_the_same_name_is_not_the_end_of_the_new_one(
    executor: KubernetesExecutor, cluster: Cluster
) -> None:
    folder = folder_of(executor, 1)
    cluster.show(executor, folder, "Succeeded")
    assert executor.read_status(folder).observed is ObservedState.ABSENT, (
        "it was over before its shim had begun"
    )
    cluster.things.clear()
    executor._made[1, 1] = time.monotonic()
    begin(folder)
    assert executor.read_status(folder).observed is ObservedState.ALIVE


def test_looking_for_strays_and_for_what_is_left_is_one_look(
    executor: KubernetesExecutor, cluster: Cluster
) -> None:
    executor.list_running()
    executor.remove_ended_except(())
    assert cluster.asked == 4


def test_runs_of_another_installation_with_the_same_storage_are_left_alone(
    executor: KubernetesExecutor, cluster: Cluster
) -> None:
    cluster.show(executor, folder_of(executor, 1), "Running")
    cluster.show(executor, folder_of(executor, 2), "Succeeded")
    api: Any = cluster
    other = KubernetesExecutor(api, lambda: "other", executor.storage, executor.runtime.folder)
    assert len(executor.list_running()) == 1 and other.list_running() == []
    other.remove_ended_except(())
    assert not cluster.deleted
    executor.remove_ended_except(())
    assert cluster.deleted, "what is one's own and over is cleared away"
