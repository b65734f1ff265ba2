"""Environments of chosen workspaces count to the storage of one of them, with and after a measurement."""

from cluster.services.context import Cluster
from cluster.services.images.environment_requests import add_environment
from cluster.services.images.environment_rows import EnvironmentRequest
from cluster.services.images.environments import BuiltFromRequirements, finish_install
from cluster.services.leases import HeldLease
from cluster.services.operations.lifecycle import claim_operation
from cluster.services.storage import workspace_storage
from cluster.services.storage.environment_storage import StoredEnvironment, sum_environments
from cluster.store.workspaces import Workspace
from tests.builders import a_user, a_workspace, actor_of, an_environment

MIB = 1024**2


def stored_by(cluster: Cluster, workspace: Workspace) -> int | None:
    return workspace_storage.read_workspace_storage(cluster, workspace.id).used


def test_the_build_of_a_manager_counts_to_the_workspace_once(cluster: Cluster, held: HeldLease) -> None:
    manager = a_user(cluster)
    other, own = a_workspace(cluster), a_workspace(cluster, manager)
    request = EnvironmentRequest("torch-2.7", "torch==2.7.1\n", workspace_ids=[own.id])
    environment = add_environment(cluster, actor_of(manager), request)
    assert environment.operation_id is not None
    operation = claim_operation(cluster, environment.operation_id, "a worker")
    assert operation is not None
    built = BuiltFromRequirements("d" * 64, "torch==2.7.1", "3.11.2", 5 * MIB, [["torch", "2.7.1", ""]])
    finish_install(cluster, operation.id, operation.fence, built)
    assert stored_by(cluster, own) == 5 * MIB
    workspace_storage.record_stored_bytes(cluster, held, {own.id: MIB, other.id: MIB}, cluster.clock())
    assert (stored_by(cluster, own), stored_by(cluster, other)) == (6 * MIB, MIB)
    listed = workspace_storage.list_stored_environments(cluster, own.id)
    assert listed == [StoredEnvironment(environment.id, "torch-2.7", 5 * MIB)]


def test_global_and_deleted_ones_count_to_nobody_and_shared_ones_once(
    cluster: Cluster, held: HeldLease
) -> None:
    manager = a_user(cluster)
    first, own = a_workspace(cluster), a_workspace(cluster, manager)
    an_environment(cluster, "everywhere", size_bytes=MIB, created_by=manager.id)
    an_environment(cluster, "gone", [own], size_bytes=MIB, deleted_at=cluster.clock())
    an_environment(cluster, "unfinished", [own], created_by=manager.id)
    an_environment(cluster, "shared", [first, own], size_bytes=3 * MIB, created_by=manager.id)
    workspace_storage.record_stored_bytes(cluster, held, {first.id: 0, own.id: 0}, cluster.clock())
    assert (stored_by(cluster, first), stored_by(cluster, own)) == (0, 3 * MIB)
    with cluster.store.read() as session:
        assert sum_environments(session) == {own.id: 3 * MIB}
