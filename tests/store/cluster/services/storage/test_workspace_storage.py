"""A workspace above its limit of storage takes no upload, no code and no job, and its waiting jobs stay; measuring it
disturbs nobody.
"""

from collections.abc import Callable
from datetime import UTC

import pytest

from cluster.domain.errors import Forbidden, Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.people.actor import Actor
from cluster.domain.states import TrainingKind
from cluster.services import code_uploads, datasets
from cluster.services.context import Cluster
from cluster.services.jobs import submission
from cluster.services.leases import HeldLease, LeaseLost
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.queue.queries import read_queue
from cluster.services.storage import workspace_storage
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace
from cluster.words.sentences import sentence
from tests.audit_entries import entries
from tests.builders import a_job, a_node, a_training, a_workspace, actor_of, an_administrator
from tests.queue_reports import report_queue
from tests.store.job_setup import make_environment_ready

MIB = 1024**2


def read_row(cluster: Cluster, workspace_id: int) -> Workspace:
    with cluster.store.read() as session:
        return session.get_one(Workspace, workspace_id)


@pytest.fixture
def chief(cluster: Cluster) -> Actor:
    return actor_of(an_administrator(cluster))


@pytest.fixture
def training(cluster: Cluster, chief: Actor) -> Training:
    return a_training(cluster, a_workspace(cluster), kind=TrainingKind.ADVANCED)


@pytest.fixture
def full(cluster: Cluster, chief: Actor, held: HeldLease, training: Training) -> Workspace:
    """It stores what it may."""
    workspace_storage.set_storage_limit(cluster, chief, training.workspace_id, 10 * MIB)
    sizes = {training.workspace_id: 10 * MIB}
    workspace_storage.record_stored_bytes(cluster, held, sizes, cluster.clock())
    return read_row(cluster, training.workspace_id)


def upload_archive(cluster: Cluster, chief: Actor, training: Training) -> None:
    datasets.check_upload(cluster, chief, training.workspace_id, "digits", "digits.zip", 5)


def upload_code(cluster: Cluster, chief: Actor, training: Training) -> None:
    with cluster.store.read() as session:
        loaded = session.get_one(Training, training.id)
        _ = (loaded.workspace, loaded.workspace.members, loaded.members)
    code_uploads.upload_code(cluster, chief, loaded, [("train.py", b"print()")])


def submit_job(cluster: Cluster, chief: Actor, training: Training) -> None:
    submission.submit_job(cluster, chief, training.id, JobRequest("first", 1, command=("train.py",)))


@pytest.mark.parametrize("add", [upload_archive, upload_code, submit_job])
def test_nothing_is_added_to_a_full_workspace(
    cluster: Cluster,
    chief: Actor,
    full: Workspace,
    training: Training,
    add: Callable[[Cluster, Actor, Training], None],
) -> None:
    with pytest.raises(Refused) as refused:
        add(cluster, chief, training)
    assert refused.value.code == "storage.over_limit"
    told = refused.value.data
    assert (told["workspace"], told["used"], told["limit"]) == (full.name, 10 * MIB, 10 * MIB)


def test_an_upload_that_would_exceed_the_limit_is_refused_before_it_comes(
    cluster: Cluster, chief: Actor, training: Training
) -> None:
    workspace_storage.set_storage_limit(cluster, chief, training.workspace_id, 10 * MIB)
    with pytest.raises(Refused) as refused:
        datasets.check_upload(cluster, chief, training.workspace_id, "digits", "digits.zip", 11 * MIB)
    assert (refused.value.field, refused.value.code) == ("archive", "storage.no_room")
    datasets.check_upload(cluster, chief, training.workspace_id, "digits", "digits.zip", 9 * MIB)


def test_a_measurement_makes_no_form_stale_and_needs_the_lease(
    cluster: Cluster, held: HeldLease, training: Training
) -> None:
    before = read_row(cluster, training.workspace_id)
    workspace_storage.record_stored_bytes(cluster, held, {before.id: 7}, cluster.clock())
    with cluster.store.write() as session:
        workspace_storage.add_stored_bytes(session, before.id, 5)
    after = read_row(cluster, before.id)
    assert (after.storage_used_bytes, after.storage_measured_at) == (12, cluster.clock())
    assert after.version == before.version
    with pytest.raises(LeaseLost):
        stale = HeldLease(held.name, held.holder, held.fence - 1)
        workspace_storage.record_stored_bytes(cluster, stale, {before.id: 8}, cluster.clock())
    assert workspace_storage.list_workspace_ids(cluster) == [before.id]


def test_only_administrators_limit_it_and_the_access_log_says_so(
    cluster: Cluster, chief: Actor, training: Training
) -> None:
    workspace = read_row(cluster, training.workspace_id)
    manager = Actor(workspace.manager_id, "manager")
    with pytest.raises(Forbidden):
        workspace_storage.set_storage_limit(cluster, manager, workspace.id, 10 * MIB)
    workspace_storage.set_storage_limit(cluster, chief, workspace.id, 10 * MIB)
    workspace_storage.set_storage_limit(cluster, chief, workspace.id, 10 * MIB)
    workspace_storage.set_storage_limit(cluster, chief, workspace.id, None)
    told = [entry.data for entry in entries(cluster) if entry.action == "workspace.storage_limited"]
    assert [each["limit_bytes"] for each in told] == [[None, 10 * MIB], [10 * MIB, None]]


def test_waiting_jobs_of_a_full_workspace_stay_until_it_has_room(
    cluster: Cluster, chief: Actor, held: HeldLease, training: Training
) -> None:
    """The queue and the job's page say what a new job would be refused with."""
    make_environment_ready(cluster)
    a_node(cluster, 2)
    job = a_job(cluster, training)
    workspace_storage.set_storage_limit(cluster, chief, training.workspace_id, 10 * MIB)
    workspace_storage.record_stored_bytes(cluster, held, {training.workspace_id: 12 * MIB}, cluster.clock())
    assert place_waiting_jobs(cluster, held, is_rung=True) == []
    assert place_waiting_jobs(cluster, held) == []
    report_queue(cluster)
    (waiting,) = read_queue(cluster, chief).waiting
    assert (waiting.id, waiting.explanation.code) == (job.id, "waiting.storage_full")
    with pytest.raises(Refused) as refused:
        submit_job(cluster, chief, training)
    said = [
        sentence(code, data, "en", UTC, cluster.clock())
        for code, data in (
            (waiting.explanation.code, waiting.explanation.data),
            (refused.value.code, refused.value.data),
        )
    ]
    assert said[0] == said[1] and "12.0 MiB" in said[0]
    workspace_storage.set_storage_limit(cluster, chief, training.workspace_id, 13 * MIB)
    assert len(place_waiting_jobs(cluster, held, is_rung=True)) == 1
