"""A notebook's pod and its door on a real API server: made with the scheduler's rights, and gone together."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from tests.integration.worker.executors.executor_stages import end_of, until
from tests.integration.worker.executors.program_actions import Act
from tests.kube_api.stage import KubernetesStage
from tests.kubernetes.api_server import ApiServer
from tests.start_plans import change_plan
from worker.executors.contract import Mount, StartPlan
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.manifests.run_spec import GangKind
from worker.kubernetes.namespaces.portal_addresses import CONTROL_PLANE
from worker.kubernetes.namespaces.sync import NamespaceSync

SERVES = Act(says="ready\n", seconds=600)


def begun(stage: KubernetesStage) -> StartPlan:
    plan = stage.plan(SERVES, gang=GangKind.NOTEBOOK)
    assert stage.executor.start(plan) is None
    log = plan.out / "rank-0.stdout"
    until(stage, lambda: log.exists() and b"ready" in log.read_bytes(), what="the program's first words")
    return plan


def things_of(stage: KubernetesStage, plan: StartPlan) -> list[KubernetesObject]:
    """Whatever of it is in the cluster."""
    wanted, namespace = (
        object_names.label_selector(job=str(plan.job)),
        object_names.workspace_namespace(stage.workspace),
    )
    kinds = ("Pod", "Service", "Job")
    return [thing for kind in kinds for thing in stage.server.api.list_all(kind, wanted, namespace).things]


def test_it_is_one_pod_that_its_service_leads_to(stage: KubernetesStage) -> None:
    plan = begun(stage)
    pod, service = things_of(stage, plan)
    assert (pod["kind"], service["kind"]) == ("Pod", "Service")
    labels, (container,) = pod["metadata"]["labels"], pod["spec"]["containers"]
    assert service["spec"]["selector"].items() <= labels.items()
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] in {each["name"] for each in container["ports"]}
    assert stage.executor.read_status(plan.folder).observed is ObservedState.ALIVE
    assert [run.job for run in stage.open_again().list_running()] == [plan.job], "a new scheduler finds it"


def stop(stage: KubernetesStage, plan: StartPlan) -> None:
    handle = stage.executor.read_status(plan.folder).handle
    assert handle is not None
    stage.executor.stop(handle)
    assert end_of(stage, plan).stopped


def delete_by_hand(stage: KubernetesStage, plan: StartPlan) -> None:
    name = object_names.run_name(plan.job, plan.attempt)
    stage.server.api.delete("Pod", name, object_names.workspace_namespace(stage.workspace))
    truth = end_of(stage, plan)
    assert truth.disruption is not None and truth.disruption.code == "interrupted.pod_deleted"


@pytest.mark.parametrize("end", [stop, delete_by_hand])
def test_once_its_units_are_free_nothing_of_it_is_left(
    stage: KubernetesStage, end: Callable[[KubernetesStage, StartPlan], None]
) -> None:
    """Whoever has ended it: a door that leads nowhere would stay for ever."""
    plan = begun(stage)
    end(stage, plan)
    until(stage, lambda: stage.executor.end_leftovers(plan.folder) == 0, what="that its units are free")
    assert "Service" not in {thing["kind"] for thing in things_of(stage, plan)}
    stage.executor.remove_ended_except(())
    until(stage, lambda: things_of(stage, plan) == [], what="that its pod is deleted")


def test_it_reads_the_wheels_of_the_site_and_writes_none(stage: KubernetesStage) -> None:
    """They lie beside the workspaces, so that a volume of their own shows them."""
    wheels, inside = stage.storage / "wheels", Path("/groundcrew/wheels")
    wheels.mkdir(mode=0o755, parents=True)
    (wheels / "lower-2.0-py3-none-any.whl").write_text("a wheel\n")
    program = f"cat {inside}/*.whl; touch {inside}/mine || echo closed"
    plan = stage.plan_for("/bin/sh", "-c", program, gang=GangKind.NOTEBOOK)
    plan = change_plan(plan, mounts=(*plan.container.mounts, Mount(wheels, inside)))
    stage.executor.start(plan)
    end_of(stage, plan)
    assert (plan.out / "rank-0.stdout").read_text() == "a wheel\nclosed\n"
    assert [file.name for file in wheels.iterdir()] == ["lower-2.0-py3-none-any.whl"]


@pytest.fixture
def master(server: ApiServer) -> Iterator[KubernetesObject]:
    """A node with an address, on which the portal is."""
    about = {"name": "door-master", "labels": {CONTROL_PLANE: ""}}
    pods = {"podCIDR": "10.244.9.0/24", "podCIDRs": ["10.244.9.0/24"]}
    server.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": about, "spec": pods})
    addresses = {"addresses": [{"type": "InternalIP", "address": "192.0.2.9"}]}
    yield server.api.patch("Node", "door-master", "", {"status": addresses}, part="status") or {}
    server.api.delete("Node", "door-master")


def test_the_door_of_a_workspace_follows_the_masters_addresses(
    server: ApiServer, master: KubernetesObject
) -> None:
    tenancy, keeper = WorkspaceNamespace(690, "doors", 1, True), NamespaceSync(server.api, "doors")
    space = object_names.workspace_namespace(tenancy.workspace)

    def let_in() -> list[str]:
        keeper.sync([tenancy])
        policy = server.api.get("NetworkPolicy", "door", space)
        assert policy is not None
        rules = policy["spec"].get("ingress") or []
        return [each["ipBlock"]["cidr"] for rule in rules for each in rule["from"]]

    assert let_in() == ["10.244.9.0/32", "192.0.2.9/32"]
    moved = {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}]}
    server.api.patch("Node", "door-master", "", {"status": moved}, part="status")
    assert let_in() == ["10.244.9.0/32", "192.0.2.10/32"]
    server.api.delete("Node", "door-master")
    assert let_in() == [], "nobody, and not everybody"
