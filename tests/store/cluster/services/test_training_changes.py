"""Trainings are edited, handed over, archived and deleted by those who may, and each change is in the audit log."""

from collections.abc import Callable

import pytest
from sqlalchemy import select

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.states import JobState, TrainingKind, Visibility
from cluster.services import training_changes, trainings
from cluster.services.context import Cluster
from cluster.services.jobs.submission import submit_job
from cluster.services.storage import folders
from cluster.services.training_changes import TrainingChanges
from cluster.store.audit import AuditEntry
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import a_job, a_node, a_user, a_workspace, actor_of, an_administrator

CODE = [("train.py", b"print(1)\n")]


class People:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.manager, self.owner, self.member = (a_user(cluster) for _ in range(3))
        self.workspace: Workspace = a_workspace(cluster, self.manager, members=(self.owner, self.member))
        self.training = self.create("mine")

    def create(self, name: str) -> Training:
        return trainings.create_training(
            self.cluster,
            actor_of(self.owner),
            self.workspace.id,
            name,
            "",
            TrainingKind.ADVANCED,
            None,
            Visibility.PUBLIC,
            CODE,
        )

    def read(self, person: User | None = None) -> Training:
        return trainings.read_training(self.cluster, actor_of(person or self.owner), self.training.id)

    def actions(self) -> list[str]:
        with self.cluster.store.read() as session:
            return list(
                session.scalars(
                    select(AuditEntry.action)
                    .where(AuditEntry.object_id == self.training.id, AuditEntry.action.like("training.%"))
                    .order_by(AuditEntry.id)
                )
            )


@pytest.fixture
def people(cluster: Cluster) -> People:
    return People(cluster)


def test_an_edit_changes_what_is_named_and_leaves_the_rest(people: People) -> None:
    actor = actor_of(people.owner)
    changes = TrainingChanges(name="yours", visibility=Visibility.PRIVATE, member_names=[people.member.name])
    training_changes.edit_training(people.cluster, actor, people.training.id, changes)
    training_changes.edit_training(
        people.cluster, actor, people.training.id, TrainingChanges(description="Better")
    )
    found = people.read(people.member)
    assert (found.name, found.description, found.visibility) == ("yours", "Better", Visibility.PRIVATE)
    assert people.actions() == ["training.created", "training.edited", "training.edited"]
    training_changes.edit_training(people.cluster, actor, people.training.id, TrainingChanges(name="yours"))
    assert len(people.actions()) == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        (TrainingChanges(name="Two Words"), "name"),
        (TrainingChanges(name="other"), "name"),
        (TrainingChanges(description="x" * 501), "description"),
        (TrainingChanges(member_names=["nobody-here"]), "members"),
    ],
)
def test_an_edit_that_cannot_be_is_refused_by_its_field(
    people: People, changes: TrainingChanges, field: str
) -> None:
    people.create("other")
    with pytest.raises(Refused) as refusal:
        training_changes.edit_training(people.cluster, actor_of(people.owner), people.training.id, changes)
    assert refusal.value.field == field
    assert people.actions() == ["training.created"]


def test_the_former_owner_still_sees_a_private_training(people: People) -> None:
    actor = actor_of(people.owner)
    changes = TrainingChanges(visibility=Visibility.PRIVATE)
    training_changes.edit_training(people.cluster, actor, people.training.id, changes)
    training_changes.hand_over_training(people.cluster, actor, people.training.id, people.member.name)
    assert people.read().owner_id == people.member.id
    with pytest.raises(Forbidden):
        training_changes.edit_training(people.cluster, actor, people.training.id, TrainingChanges(name="a"))
    stranger = a_user(people.cluster)
    with pytest.raises(Refused) as refusal:
        training_changes.hand_over_training(
            people.cluster, actor_of(people.member), people.training.id, stranger.name
        )
    assert refusal.value.field == "owner"


def test_an_archived_training_takes_no_jobs_and_no_code(people: People) -> None:
    a_node(people.cluster, 1)
    cluster, actor, number = people.cluster, actor_of(people.owner), people.training.id
    training_changes.archive_training(cluster, actor, number)
    training_changes.archive_training(cluster, actor, number)
    assert trainings.list_trainings(cluster, actor, people.workspace.id) == []
    assert [one.id for one in trainings.list_trainings(cluster, actor, archived=True)] == [number]
    for refused in (
        lambda: submit_job(cluster, actor, number, JobRequest("a", 1, command=("train.py",))),
        lambda: trainings.upload_code(cluster, actor, number, CODE),
    ):
        with pytest.raises(Refused) as refusal:
            refused()
        assert refusal.value.code == "training.archived"
    training_changes.archive_training(cluster, actor, number, archived=False)
    submit_job(cluster, actor, number, JobRequest("a", 1, command=("train.py",)))
    assert people.actions() == ["training.created", "training.archived", "training.unarchived"]


def test_a_deleted_training_leaves_its_jobs_and_its_name(people: People) -> None:
    cluster, actor = people.cluster, actor_of(people.owner)
    job = a_job(cluster, people.training, people.owner, state=JobState.FINISHED, storage_bytes=7, fence=1)
    live = a_job(cluster, people.training, people.owner)
    with pytest.raises(Refused) as refusal:
        training_changes.delete_training(cluster, actor, people.training.id)
    assert (refusal.value.code, refusal.value.data["jobs"]) == ("training.in_use", 1)
    with cluster.store.write() as session:
        session.get_one(Job, live.id).state = JobState.STOPPED
    dependents = training_changes.read_dependents(cluster, people.training)
    assert (dependents.live_jobs, dependents.ended_jobs, dependents.job_bytes) == (0, 2, 7)
    assert (dependents.code_versions, dependents.code_bytes) == (1, 9)
    training_changes.delete_training(cluster, actor, people.training.id, with_job_files=True)
    with pytest.raises(NotFound):
        people.read()
    with pytest.raises(NotFound):
        submit_job(cluster, actor, people.training.id, JobRequest("a", 1, command=("train.py",)))
    folder = folders.code_folder(cluster.settings, people.workspace.id, people.training.id, 1)
    assert not folder.parent.exists()
    with cluster.store.read() as session:
        found = session.get_one(Job, job.id)
        assert (found.training.name, found.files_unwanted_by) == ("mine", people.owner.name)
    assert people.create("mine").id != people.training.id
    assert people.actions()[-1] == "training.deleted"


@pytest.mark.parametrize(
    "change",
    [
        lambda cluster, actor, number: training_changes.edit_training(
            cluster, actor, number, TrainingChanges(name="a")
        ),
        lambda cluster, actor, number: training_changes.hand_over_training(cluster, actor, number, "a"),
        lambda cluster, actor, number: training_changes.archive_training(cluster, actor, number),
        lambda cluster, actor, number: training_changes.delete_training(cluster, actor, number),
    ],
)
def test_members_change_nothing_and_strangers_see_nothing(
    people: People, change: Callable[..., object]
) -> None:
    with pytest.raises(Forbidden):
        change(people.cluster, actor_of(people.member), people.training.id)
    with pytest.raises(NotFound):
        change(people.cluster, actor_of(a_user(people.cluster)), people.training.id)
    assert people.read().name == "mine"


def test_owner_manager_and_administrators_may_delete_a_training(people: People) -> None:
    stranger, chief = a_user(people.cluster), an_administrator(people.cluster)
    training = people.read()
    who = [people.owner, people.manager, chief, people.member, stranger]
    may = [training_changes.can_delete_training(actor_of(person), training) for person in who]
    assert may == [True, True, True, False, False]
