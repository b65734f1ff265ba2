"""The task worker of repairs on servers finds its work in the rows, whatever Redis says or forgets."""

from dataclasses import replace
from datetime import timedelta

from cluster.domain.states import OperationKind
from cluster.services.context import Cluster
from cluster.services.operations.stale_operations import requeue_stale_operations
from cluster.services.repairs import previews
from cluster.services.repairs import repair_runs as repairs
from cluster.services.repairs.offline_records import write_offline_record
from tests.builders import a_node, actor_of, an_administrator
from tests.conftest import Clock, RecordingBell
from tests.store.cluster.services.repairs.test_offline_records import a_run
from worker.tasks.claimable_operations import list_claimable_operations
from worker.tasks.repair_worker import import_offline_repairs


def ask(cluster: Cluster, name: str = "restart-api") -> int:
    a_node(cluster, 2, name="gpu01")
    chief = actor_of(an_administrator(cluster))
    seen = previews.preview_repair(cluster, chief, name)
    run = repairs.request_repair(cluster, chief, name, seen.etag, "errors on every page")
    assert run.operation_id is not None
    return run.operation_id


def on_servers(cluster: Cluster) -> Cluster:
    return replace(cluster, settings=replace(cluster.settings, launcher="systemd"))


def test_a_repair_is_found_without_redis_and_never_queued_there(
    cluster: Cluster, clock: Clock, bell: RecordingBell
) -> None:
    servers = on_servers(cluster)
    operation_id = ask(servers)
    clock.now += timedelta(seconds=30)
    requeue_stale_operations(servers)
    assert bell.enqueued == [] and ("operations", operation_id) in bell.rung
    assert list_claimable_operations(servers, OperationKind.REPAIR) == [operation_id]


def test_what_the_console_did_without_the_database_is_read_in_by_whom_the_folder_belongs_to(
    cluster: Cluster,
) -> None:
    servers = on_servers(cluster)
    write_offline_record(servers, a_run(servers))
    import_offline_repairs(servers)
    chief = actor_of(an_administrator(servers))
    assert [run.reason for run in repairs.list_repair_runs(servers, chief)] == ["nothing is saved"]
