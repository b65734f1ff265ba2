"""A failure's page shows the runbook's entry, with the way to the repair for a person who may ask for it."""

from dataclasses import replace

from cluster.domain.states import OperationKind, OperationState, TaskQueue
from cluster.services.context import Cluster
from cluster.store.operations import Operation
from portal.shared_objects import share_object
from tests.builders import add
from tests.pages.portal.pages_lab import Lab


def test_a_failed_operation_shows_the_cause_and_leads_to_the_repair(lab: Lab) -> None:
    operation = Operation(
        kind=OperationKind.DATASET_DELETE,
        queue=TaskQueue.GENERAL,
        subject_id=lab.dataset.id,
        workspace_id=lab.workspace.id,
        state=OperationState.INTERRUPTED,
        requested_by=lab.manager.id,
        requested_at=lab.cluster.clock(),
        error_code="operation.dropped",
        error_data={"times": 5},
    )
    add(lab.cluster, operation)
    address = f"/operations/{operation.id}"
    page = lab.browser(lab.administrator).get(address).text
    assert "Known problem" in page and 'href="/repairs/restart-task-workers"' in page
    on_servers = replace(lab.cluster, settings=replace(lab.cluster.settings, launcher="systemd"))
    share_object(lab.app, Cluster, on_servers)
    assert 'href="/repairs/clear-stuck-operations"' in lab.browser(lab.administrator).get(address).text
    theirs = lab.browser(lab.manager, "ko").get(address).text
    assert "알려진 문제" in theirs and "/repairs/" not in theirs


def test_a_failed_job_is_looked_up_by_its_own_stderr(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-1.stderr").write_text("epoch 3\nOSError: [Errno 28] No space left on device\n")
    lab.ended(job, "exit.error", rank=1, exit_code=1)
    page = lab.browser(lab.administrator).get(f"/jobs/{job.id}").text
    assert "The disk of this machine is full." in page and "[Errno 28] No space left" in page
    assert 'href="/repairs/free-disk-space"' in page
    theirs = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text
    assert "Known problem" not in theirs, "the banner says it already, and they may ask for no repair"
    assert "Keep only the last checkpoints" in theirs
