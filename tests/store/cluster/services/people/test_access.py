"""People see the workspaces that are theirs, and use them during their term."""

from datetime import date, timedelta

import pytest
from sqlalchemy import select

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.permissions import Relation
from cluster.domain.states import Visibility
from cluster.services.context import Cluster
from cluster.services.people.access import (
    dataset_relation,
    job_relation,
    load_workspace,
    require_active_workspace,
    sweep_relation,
    training_relation,
    workspace_relation,
)
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job, Sweep
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace
from tests.builders import a_dataset, a_job, a_training, a_user, a_workspace, actor_of, add, an_administrator

TODAY = date(2026, 11, 20)


def test_a_workspace_is_found_by_those_who_may_see_it(cluster: Cluster) -> None:
    manager, member, stranger = (a_user(cluster) for _ in range(3))
    workspace = a_workspace(cluster, manager, members=(member,))
    for person in (manager, member, an_administrator(cluster)):
        with cluster.store.read() as session:
            row = load_workspace(session, actor_of(person), workspace.id)
        assert (row.manager.id, {each.id for each in row.members}) == (manager.id, {manager.id, member.id})
    with cluster.store.read() as session:
        for person, number in ((stranger, workspace.id), (member, workspace.id + 1)):
            with pytest.raises(NotFound):
                load_workspace(session, actor_of(person), number)


@pytest.mark.parametrize(
    ("starts", "ends", "ended", "refusal"),
    [
        (0, 10, None, None),
        (0, 0, None, None),
        (1, 10, None, ("workspace.not_started", {"starts_on": "2026-11-21"})),
        (-9, -1, None, ("workspace.expired", {"ended_on": "2026-11-19"})),
        (-9, 10, -2, ("workspace.expired", {"ended_on": "2026-11-18"})),
    ],
    ids=["within", "last day", "before", "after", "ended early"],
)
def test_a_workspace_is_used_during_its_term_alone(
    cluster: Cluster, starts: int, ends: int, ended: int | None, refusal: tuple[str, dict[str, str]] | None
) -> None:
    workspace = a_workspace(
        cluster,
        starts_on=TODAY + timedelta(days=starts),
        ends_on=TODAY + timedelta(days=ends),
        name="vision",
        ended_at=None if ended is None else cluster.clock() + timedelta(days=ended),
    )
    if refusal is None:
        require_active_workspace(cluster, workspace, "units")
        return
    with pytest.raises(Refused) as refused:
        require_active_workspace(cluster, workspace, "units")
    code, data = refusal
    assert (refused.value.field, refused.value.code) == ("units", code)
    assert refused.value.data == {"workspace": "vision", **data}


@pytest.mark.parametrize("visibility", [Visibility.PUBLIC, Visibility.PRIVATE])
def test_each_person_stands_to_what_is_in_a_workspace_as_rows_say(
    cluster: Cluster, visibility: Visibility
) -> None:
    manager, owner, member, stranger = (a_user(cluster) for _ in range(4))
    workspace = a_workspace(cluster, manager, members=(owner, member))
    training = a_training(cluster, workspace, owner, visibility=visibility)
    dataset = a_dataset(cluster, workspace)
    with cluster.store.write() as session:
        session.get_one(Dataset, dataset.id).created_by = owner.id
    a_job(cluster, training, owner)
    add(
        cluster,
        Sweep(
            workspace_id=workspace.id, training_id=training.id, user_id=owner.id, name="many", plan={}, jobs=2,
            submitted_at=cluster.clock(),
        ),
    )  # fmt: skip
    to_training = Relation.MEMBER if visibility is Visibility.PUBLIC else Relation.STRANGER
    expected = {
        an_administrator(cluster): [Relation.ADMINISTRATOR] * 5,
        manager: [Relation.MANAGER] * 5,
        owner: [Relation.MEMBER] + [Relation.OWNER] * 4,
        member: [Relation.MEMBER, Relation.MEMBER] + [to_training] * 3,
        stranger: [Relation.STRANGER] * 5,
    }
    for person, relations in expected.items():
        actor = actor_of(person)
        with cluster.store.read() as session:
            assert [
                workspace_relation(actor, session.scalars(select(Workspace)).one()),
                dataset_relation(actor, session.scalars(select(Dataset)).one()),
                training_relation(actor, session.scalars(select(Training)).one()),
                job_relation(actor, session.scalars(select(Job)).one()),
                sweep_relation(actor, session.scalars(select(Sweep)).one()),
            ] == relations
