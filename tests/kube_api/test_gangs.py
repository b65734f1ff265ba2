"""Attempts that are several pods: one member lost ends all, and nobody but us tries again."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.jobs.attempts import ObservedState, outcome_of
from cluster.domain.kubernetes.api_objects import parse_api_time
from cluster.domain.states import JobState
from tests.integration.worker.executors.executor_stages import end_of, until
from tests.kube_api.stage import KubernetesStage
from tests.kubernetes.api_server import ApiServer, mpi_operator
from tests.kubernetes.fake_kubelet import Kubelet, first_processes
from tests.start_plans import change_plan
from worker.executors.contract import StartPlan
from worker.executors.rank_usage import with_rank_usage
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.pod_template import RUNTIME_INSIDE
from worker.kubernetes.object_names import INDEX
from worker.kubernetes.snapshot import is_shim_pod

NODES = (("node-1", 1), ("node-2", 1))


def shell(stage: KubernetesStage, text: str, gang: str) -> StartPlan:
    """A shell's words as the program of each rank, on two nodes."""
    plan = stage.plan_for("/bin/sh", "-c", text)
    rank = ("/usr/bin/python3", f"{RUNTIME_INSIDE}/shim_rank.py", "told", "--", "/bin/sh", "-c", text)
    way = ("/usr/bin/python3", f"{RUNTIME_INSIDE}/shim_gang.py", "plain", "1,1", "nowhere", "lo", "--")
    nodes = tuple(node for node, _ in NODES)
    argv = (*way, *rank) if gang == "indexed" else rank
    return change_plan(plan, argv=argv, gang=gang, nodes=nodes, units_by_node=NODES, ranks=2)


def pods_of(stage: KubernetesStage, plan: StartPlan) -> list[KubernetesObject]:
    wanted = object_names.label_selector(job=str(plan.job), attempt=str(plan.attempt))
    return list(
        stage.server.api.list_all("Pod", wanted, object_names.workspace_namespace(stage.workspace)).things
    )


def wait_for(stage: KubernetesStage, plan: StartPlan, rank: int, text: bytes) -> None:
    log = plan.out / f"rank-{rank}.stdout"
    until(stage, lambda: log.exists() and text in log.read_bytes(), what=f"{text!r} of rank {rank}")


def is_gone(stage: KubernetesStage, plan: StartPlan) -> Callable[[], bool]:
    return lambda: stage.executor.read_status(plan.folder).observed is ObservedState.ENDED


def member(stage: KubernetesStage, plan: StartPlan, label: str, number: str = "1") -> KubernetesObject:
    """The second pod."""
    return next(pod for pod in pods_of(stage, plan) if pod["metadata"]["labels"].get(label) == number)


def delete_by_hand(stage: KubernetesStage, pod: KubernetesObject) -> None:
    about = pod["metadata"]
    stage.server.api.delete("Pod", about["name"], about["namespace"])


def assert_all_of_it_goes(stage: KubernetesStage, plan: StartPlan) -> None:
    until(stage, lambda: stage.executor.end_leftovers(plan.folder) == 0, what="the end of its pods")
    until(stage, lambda: pods_of(stage, plan) == [], what="that its pods are deleted")
    assert stage.executor.list_running() == []


def test_each_node_has_one_pod_that_knows_its_number(stage: KubernetesStage) -> None:
    plan = shell(stage, "echo $RANK of $WORLD_SIZE; sleep 1", "indexed")
    stage.executor.start(plan)
    wait_for(stage, plan, 1, b"1 of 2")
    assert {pod["spec"]["nodeName"] for pod in pods_of(stage, plan)} == {"node-1", "node-2"}
    truth = end_of(stage, plan)
    assert outcome_of(truth).state is JobState.FINISHED
    assert (plan.out / "rank-0.stdout").read_bytes() == b"0 of 2\n"
    until(
        stage,
        lambda: stage.executor.end_leftovers(plan.folder, has_ended=True) == 0,
        what="that all have ended",
    )
    told = [json.loads((plan.out / f"rank-{rank}.use.json").read_text()) for rank in (0, 1)]
    used = with_rank_usage(plan.folder, truth)
    assert used is not None and used.max_rss_bytes == sum(each["max_rss_bytes"] for each in told) > 0
    assert used.cpu_seconds == pytest.approx(sum(each["cpu_seconds"] for each in told), abs=0.01)


def test_an_uneven_gang_lies_on_its_nodes_as_the_queue_has_given_them(stage: KubernetesStage) -> None:
    """By the real API server's own rule: a pod that waits may be bound tighter."""
    plan = shell(stage, "exec sleep 600", "indexed")
    way = ("/usr/bin/python3", f"{RUNTIME_INSIDE}/shim_gang.py", "plain", "1,1,1", "nowhere", "lo", "--")
    units = (("node-2", 2), ("node-1", 1))
    plan = change_plan(plan, argv=(*way, *plan.program.argv[len(way) :]), units_by_node=units, ranks=3)
    stage.executor.start(plan)
    assert {pod["spec"].get("nodeName") for pod in pods_of(stage, plan)} <= {None}

    def nodes() -> list[str | None]:
        stage.executor.read_status(plan.folder)  # As the scheduler does, all the time.
        pods = sorted(pods_of(stage, plan), key=lambda pod: str(pod["metadata"]["labels"][INDEX]))
        return [pod["spec"].get("nodeName") for pod in pods]

    until(stage, lambda: nodes() == ["node-2", "node-2", "node-1"], what="that each has its node")


def test_a_member_that_fails_by_itself_is_the_job_s_own_failure(stage: KubernetesStage) -> None:
    plan = shell(stage, "test $RANK = 0 && exec sleep 600; sleep 1; exit 3", "indexed")
    stage.executor.start(plan)
    told = outcome_of(end_of(stage, plan))
    assert (told.state, told.exit_code, told.data["rank"]) == (JobState.FAILED, 3, 1)


def test_a_member_on_a_node_that_falls_silent_is_counted_until_the_node_is_given_up(
    stage: KubernetesStage,
) -> None:
    """It runs on there, and whoever gets its units meanwhile would share them."""
    plan = shell(stage, "echo ready; exec sleep 600", "indexed")
    stage.executor.start(plan)
    for rank in (0, 1):
        wait_for(stage, plan, rank, b"ready")
    other = member(stage, plan, INDEX)["spec"]["nodeName"]
    stage.kubelet.say_ready(other, "Unknown")
    try:
        assert stage.executor.end_leftovers(plan.folder) == 2
        until(
            stage,
            lambda: stage.executor.end_leftovers(plan.folder) == 1,
            what="the end of the one that answers",
        )
        assert stage.executor.end_leftovers(plan.folder, given_up=[other]) == 0
        assert first_processes(stage.kubelet.container_of(f"gc-{plan.job}-1-1")), "it still runs"
    finally:
        stage.kubelet.say_ready(other)
    assert_all_of_it_goes(stage, plan)


@pytest.mark.long
def test_a_member_deleted_by_hand_ends_all_and_is_tried_again(stage: KubernetesStage) -> None:
    plan = shell(stage, "echo ready; exec sleep 600", "indexed")
    stage.executor.start(plan)
    for rank in (0, 1):
        wait_for(stage, plan, rank, b"ready")
    delete_by_hand(stage, member(stage, plan, INDEX))
    until(stage, is_gone(stage, plan), what="that the gang counts as lost")
    truth = stage.executor.read_exit_record(plan.folder)
    assert truth is not None and truth.disruption is not None
    assert truth.disruption.code == "interrupted.pod_deleted"
    assert_all_of_it_goes(stage, plan)


@pytest.fixture
def mpi(server: ApiServer, kubelet: Kubelet) -> Iterator[None]:
    """The real operator; workers wait in place of their sshd, and end as it does when it is told to."""
    kubelet.instead["worker"] = ["/bin/sh", "-c", "trap 'exit 255' TERM; sleep 600 & wait"]
    with mpi_operator(server):
        yield
    del kubelet.instead["worker"]


@pytest.mark.usefixtures("mpi")
def test_an_mpi_job_begins_once_its_workers_are_ready_and_ends_with_its_launcher(
    stage: KubernetesStage,
) -> None:
    plan = shell(stage, 'echo ready; until test -e "$GROUNDCREW_OUT/go"; do sleep 0.1; done', "mpi")
    stage.kubelet.starts = False
    assert stage.executor.start(plan) is None
    until(stage, lambda: len(pods_of(stage, plan)) == 2, what="its workers")
    assert stage.executor.read_status(plan.folder).observed is ObservedState.PENDING
    stage.kubelet.starts = True
    wait_for(stage, plan, 0, b"ready")
    born = {pod["metadata"]["name"].split("-")[3]: pod for pod in pods_of(stage, plan)}
    assert set(born) == {"launcher", "worker"}
    (plan.out / "go").touch()
    truth = end_of(stage, plan)
    assert outcome_of(truth).state is JobState.FINISHED and truth.disruption is None
    until(stage, lambda: len(pods_of(stage, plan)) == 1, what="that the operator cleans up")


@pytest.mark.long
@pytest.mark.usefixtures("mpi")
def test_a_worker_that_is_lost_ends_the_launcher_too(stage: KubernetesStage) -> None:
    plan = shell(stage, "echo ready; exec sleep 600", "mpi")
    stage.executor.start(plan)
    wait_for(stage, plan, 0, b"ready")
    launcher = next(pod for pod in pods_of(stage, plan) if is_shim_pod(pod))
    second = parse_api_time(launcher["metadata"]["creationTimestamp"]) + timedelta(seconds=1)
    # The operator makes a new one at once, and births are known to the second.
    until(stage, lambda: datetime.now(UTC) >= second, what="that whoever is born now is younger")
    delete_by_hand(stage, member(stage, plan, "training.kubeflow.org/replica-index"))
    until(stage, is_gone(stage, plan), what="that the gang counts as lost")
    truth = stage.executor.read_exit_record(plan.folder)
    assert truth is not None and truth.disruption is not None
    assert_all_of_it_goes(stage, plan)
