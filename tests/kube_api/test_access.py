"""What the scheduler's account may do, and where."""

from collections.abc import Iterator

import pytest

from tests.api_server import SCHEDULER, ApiServer, until
from tests.kube_api.access import objects
from worker.kube.api import Api, Refused, Thing
from worker.kube.kinds import head


@pytest.fixture
def scheduler(server: ApiServer, with_rights: None) -> Iterator[Api]:
    api = Api(server.kubeconfig(SCHEDULER))
    yield api
    api.close()


def note(namespace: str) -> Thing:
    return head("ConfigMap", "gc-test-note", namespace) | {"data": {}}


def test_it_changes_nothing_outside_of_workspaces(server: ApiServer, scheduler: Api) -> None:
    """Also where the role, which has to be good in all namespaces, would let it."""
    server.add_namespace("gc-workspace-77")
    scheduler.create(note("gc-workspace-77"))

    def is_refused() -> bool:
        try:
            scheduler.create(note("default"))
        except Refused as refusal:
            assert "outside of its workspaces" in refusal.message
            return True
        server.api.delete("ConfigMap", "gc-test-note", "default")
        return False

    until(is_refused, "that the policy is in force")
    assert server.api.get("ConfigMap", "gc-test-note", "default") is None


@pytest.mark.parametrize("kind", ["Secret", "RoleBinding", "ClusterRole"])
def test_it_reads_no_secret_and_gives_no_rights(scheduler: Api, kind: str) -> None:
    with pytest.raises(Refused) as refusal:
        scheduler.list_all(kind)
    assert refusal.value.status == 403


def test_every_rule_names_what_it_is_for() -> None:
    (role,) = [thing for thing in objects() if thing["kind"] == "ClusterRole"]
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]], rule
        assert "secrets" not in rule["resources"] and "escalate" not in rule["verbs"]
