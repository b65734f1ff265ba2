"""Members, named people, managers and administrators see the rows of their workspaces, each of them what is his."""

from dataclasses import dataclass

import pytest
from sqlalchemy import ColumnElement, select

from cluster.domain.people.actor import Actor
from cluster.domain.states import Visibility
from cluster.services.context import Cluster
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from cluster.store.sql.visibility import (
    can_see_dataset,
    can_see_job,
    can_see_training,
    can_see_workspace,
    member_workspace_ids,
)
from cluster.store.trainings import Training, TrainingMember
from cluster.store.workspaces import Workspace
from tests.builders import (
    a_dataset,
    a_job,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    add,
    an_administrator,
)


@dataclass
class People:
    chief: Actor
    manager: Actor
    owner: Actor
    named: Actor
    member: Actor
    stranger: Actor


@pytest.fixture
def people(cluster: Cluster) -> People:
    """`vision` with its manager, an owner, somebody named and a member; `audio` of a stranger."""
    manager, owner, named, member, stranger = (
        a_user(cluster, name) for name in ("manager", "owner", "named", "member", "stranger")
    )
    vision = a_workspace(cluster, manager, (owner, named, member), name="vision")
    audio = a_workspace(cluster, stranger, name="audio")
    for workspace, person in ((vision, owner), (audio, stranger)):
        for visibility in Visibility:
            name = f"{workspace.name} {visibility}"
            training = a_training(cluster, workspace, person, name=name, visibility=visibility)
            a_job(cluster, training, name=name)
            if (workspace, visibility) == (vision, Visibility.PRIVATE):
                add(cluster, TrainingMember(training_id=training.id, user_id=named.id))
        a_dataset(cluster, workspace, name=workspace.name)
    chief = an_administrator(cluster)
    return People(*(actor_of(user) for user in (chief, manager, owner, named, member, stranger)))


def names(
    cluster: Cluster, kind: type[Workspace | Training | Dataset | Job], condition: ColumnElement[bool]
) -> set[str]:
    with cluster.store.read() as session:
        return set(session.scalars(select(kind.name).where(condition)))


VISION, AUDIO = {"vision public", "vision private"}, {"audio public", "audio private"}
SEEN = {
    "chief": VISION | AUDIO,
    "manager": VISION,
    "owner": VISION,
    "named": VISION,
    "member": {"vision public"},
    "stranger": AUDIO,
}


@pytest.mark.parametrize(("who", "expected"), SEEN.items(), ids=SEEN)
def test_a_private_training_and_its_jobs_are_seen_by_owner_named_people_and_manager(
    cluster: Cluster, people: People, who: str, expected: set[str]
) -> None:
    viewer: Actor = getattr(people, who)
    assert names(cluster, Training, can_see_training(viewer)) == expected
    assert names(cluster, Job, can_see_job(viewer)) == expected


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("chief", {"vision", "audio"}),
        ("member", {"vision"}),
        ("manager", {"vision"}),
        ("stranger", {"audio"}),
    ],
)
def test_workspaces_and_their_datasets_are_seen_by_members(
    cluster: Cluster, people: People, who: str, expected: set[str]
) -> None:
    viewer: Actor = getattr(people, who)
    assert names(cluster, Workspace, can_see_workspace(viewer)) == expected
    assert names(cluster, Dataset, can_see_dataset(viewer)) == expected


def test_who_has_left_the_workspace_sees_nothing_of_it_not_even_what_was_theirs(
    cluster: Cluster, people: People
) -> None:
    with cluster.store.write() as session:
        vision = session.scalars(select(Workspace).where(Workspace.name == "vision")).one()
        vision.members = [person for person in vision.members if person.name not in ("owner", "named")]
    for viewer in (people.owner, people.named):
        assert names(cluster, Training, can_see_training(viewer)) == set()
        assert names(cluster, Job, can_see_job(viewer)) == set()


def test_an_administrator_is_a_member_only_where_they_were_made_one(cluster: Cluster, people: People) -> None:
    with cluster.store.read() as session:
        for viewer, count in ((people.chief, 0), (people.member, 1)):
            inside = select(Workspace.id).where(Workspace.id.in_(member_workspace_ids(viewer)))
            assert len(session.scalars(inside).all()) == count
