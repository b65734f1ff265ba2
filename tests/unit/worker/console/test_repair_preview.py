"""What the console shows before a repair is asked for, with the database and without it."""

from dataclasses import replace

import pytest

from cluster.domain.repairs.definition import RepairGroup
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import JobState, OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.operations.lifecycle import request_operation
from cluster.services.people.users import service_actor
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.past_runs import RepairSummary
from cluster.services.repairs.previews import preview_repair
from tests.builders import (
    a_job,
    a_node,
    a_repair_run,
    a_training,
    a_workspace,
    actor_of,
    an_administrator,
    holding,
)
from worker.console.repair_preview import (
    describe_consequences,
    describe_last_run,
    group_titles,
    show_repair_preview,
    show_repair_without_database,
)


@pytest.mark.parametrize("group", RepairGroup)
def test_each_group_has_its_title(group: RepairGroup) -> None:
    assert group_titles()[group]


def test_a_last_run_is_told_with_its_verdict(light_cluster: Cluster) -> None:
    repair = find_catalogue_entry(light_cluster, "back-up-now").repair
    assert describe_last_run(light_cluster, RepairSummary(repair, None, None)) == "never run"
    run = a_repair_run(light_cluster, an_administrator(light_cluster))
    assert describe_last_run(light_cluster, RepairSummary(repair, run, None)) == "never run"
    run.verdict, run.ended_at = RepairVerdict.NOT_VERIFIED, light_cluster.clock()
    assert describe_last_run(light_cluster, RepairSummary(repair, run, None)).startswith("Not verified, ")


def test_steps_checks_and_the_way_back_are_shown_without_the_database(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    repair = find_catalogue_entry(light_cluster, "restart-portal").repair
    show_repair_without_database(repair, "lab-a")
    printed = capsys.readouterr().out
    assert "On lab-a, in this order:" in printed
    assert [f"  {number}. {task.en}" in printed for number, task in enumerate(repair.tasks, 1)] == [
        True
    ] * len(repair.tasks)
    assert f"Then {len(repair.checks)} checks decide" in printed and repair.undo.en in printed
    assert "Not known while the database is away" in printed


def test_jobs_and_operations_that_a_repair_disturbs_are_named(light_cluster: Cluster) -> None:
    cluster = light_cluster
    chief = actor_of(an_administrator(cluster))
    node = a_node(cluster, 2, name="lab-a")
    job = a_job(cluster, a_training(cluster, a_workspace(cluster, units=2)), units=1, state=JobState.RUNNING)
    holding(cluster, job, node.units[:1])
    with cluster.store.write() as session:
        running = request_operation(
            session, OperationKind.BACKUP, None, service_actor(cluster), cluster.clock()
        )
        running.state = OperationState.RUNNING
        running.lease_until = cluster.clock()
    seen = preview_repair(cluster, chief, "restart-task-workers")
    lines = list(describe_consequences(cluster, seen))
    assert lines[:2] == ["It has not run here yet.", "No job stops; running now: 1"]
    assert any(line.startswith("Begins anew: ") for line in lines)
    stopping = list(describe_consequences(cluster, replace(seen, jobs=[job], seconds=90.0, busy=["gpu02"])))
    assert (
        stopping[0].startswith("It usually takes ") and f"Jobs that stop: job-{job.id} {job.name}" in stopping
    )
    assert "Not drained and empty yet: gpu02" in stopping


def test_what_would_be_deleted_and_what_to_try_first_is_shown(
    light_cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    a_node(light_cluster, 2, name="lab-a")
    folder = light_cluster.settings.state_dir / "database"
    folder.mkdir()
    for number in range(3):
        (folder / f"before-0.1.0-{number}.db").write_bytes(b"x" * 10)
    chief = actor_of(an_administrator(light_cluster))
    show_repair_preview(light_cluster, preview_repair(light_cluster, chief, "free-disk-space"))
    printed = capsys.readouterr().out
    assert f"Is deleted: {folder}/before-0.1.0-" in printed
    restarting = preview_repair(light_cluster, chief, "restart-master-services")
    show_repair_preview(light_cluster, restarting)
    shown = capsys.readouterr().out
    assert restarting.gentler
    assert all(f"Try first: {other.repair.title.en}" in shown for other in restarting.gentler)
