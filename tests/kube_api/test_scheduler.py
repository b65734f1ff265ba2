"""The scheduler with Kubernetes below it: from a submitted row to a pod that ran, and back after a pod is taken."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.states import JobState
from tests.builders import a_workspace
from tests.integration.conftest import a_cluster, a_ground, redis_server, settings_on
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, a_field, stops_well
from tests.kubernetes.api_server import SCHEDULER, ApiServer
from tests.kubernetes.fake_kubelet import Kubelet
from worker.kubernetes import object_names

FIELDS = itertools.count()
SAVES = """
import json, os, sys, time
folder = os.path.join(os.environ["GROUNDCREW_OUT"], "checkpoints")
former = os.environ.get("GROUNDCREW_RESUME")
print("from", sorted(os.listdir(former)) if former else None, flush=True)
if not former:
    os.makedirs(folder)
    open(folder + "/epoch-0001.weights.h5", "w").write("weights")
    note = {"epoch": 1, "step": 1, "scalars": {}, "time": 1.0}
    open(folder + "/epoch-0001.weights.h5.json", "w").write(json.dumps(note))
    time.sleep(600)
"""


@pytest.fixture
def field_(server: ApiServer, with_rights: None, kubelet: Kubelet, migrated_file: Path) -> Iterator[Field]:
    with (
        a_ground() as ground,
        redis_server(ground / "run" / "redis.sock") as url,
        a_cluster(settings_on(ground, migrated_file, url)) as cluster,
    ):
        for number in range(next(FIELDS)):
            a_workspace(cluster, name=f"other-{number}")  # Each test has a namespace of its own.
        with a_field(cluster) as field:
            field.node_has(units=2, name="node-1")
            yield field
    for kind in ("Job", "Pod"):
        for thing in server.api.list_all(
            kind, object_names.label_selector(part=object_names.RUN_PART)
        ).things:
            server.api.delete(
                kind, thing["metadata"]["name"], thing["metadata"]["namespace"], grace_seconds=0
            )


def start(field: Field, server: ApiServer) -> None:
    field.start_scheduler(
        GROUNDCREW_EXECUTOR="kubernetes",
        GROUNDCREW_KUBECONFIG=str(server.kubeconfig(SCHEDULER)),
        GROUNDCREW_KUBERNETES_IMAGE="registry.example/training@sha256:1",
    )


def test_a_submitted_job_runs_as_a_pod(field_: Field, server: ApiServer) -> None:
    """Also its workspace's namespace is made by the scheduler, under the rights that site.yml gives."""
    start(field_, server)
    job = field_.submit("import os; print('hello', os.getuid())")
    ended = field_.wait_for_end(job, seconds=120)
    assert (ended.state, ended.end_code) == (JobState.FINISHED, "exit.finished")
    assert field_.log(job) == b"hello %d\n" % (field_.cluster.settings.uid_base + job.user_id)
    namespace = server.api.get("Namespace", object_names.workspace_namespace(job.workspace_id))
    assert namespace is not None
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    until(lambda: not list_jobs(server), 60, "that nothing of it is left")
    assert stops_well(field_.schedulers[0])


@pytest.mark.long
def test_a_pod_that_is_taken_away_is_followed_by_an_attempt_from_its_checkpoint(
    field_: Field, server: ApiServer
) -> None:
    start(field_, server)
    job = field_.submit(SAVES)
    checkpoint = field_.out(job) / "checkpoints" / "epoch-0001.weights.h5.json"
    until(checkpoint.exists, 120, "a checkpoint")
    (pod,) = server.api.list_all("Pod", object_names.label_selector(job=str(job.id))).things
    server.api.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
    ended = field_.wait_for_end(job, seconds=120)
    assert ended.state is JobState.FINISHED
    first, second = field_.attempts(job)
    assert (first.end_code, second.end_code) == ("interrupted.pod_deleted", "exit.finished")
    assert b"epoch-0001.weights.h5" in field_.log(job, attempt=2)


def list_jobs(server: ApiServer) -> list[dict[str, object]]:
    return list(server.api.list_all("Job", object_names.label_selector(part=object_names.RUN_PART)).things)
