"""What pip wrote in a notebook becomes an environment: its owner asks, a manager approves, and jobs choose it."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.executors import ExecutorKind
from cluster.domain.states import EnvironmentSource, EnvironmentState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.images import environment_builds, environment_list
from cluster.services.images.environment_approvals import approve_environment, decline_environment
from cluster.services.images.environment_choice import choose_environment, list_choices
from cluster.services.notebooks.kept_packages import ask_for_environment
from cluster.store.alerts import NotificationChoice, NotificationEvent
from cluster.store.audit import AuditEntry
from cluster.store.environments import Environment
from cluster.store.users import User
from tests.builders import a_code_version, a_training, a_user, actor_of, an_environment
from tests.notebook_lab import CODE, NotebookLab, make_notebook_lab

SITE = "lib/python3.11/site-packages"
WRITTEN = {
    f"{SITE}/humanize-4.17.0.dist-info/METADATA": b"",
    f"{SITE}/PyYAML-6.0.2.dist-info/METADATA": b"",
    "lib/python3.9/site-packages/old-1.0.dist-info/METADATA": b"",
}


@pytest.fixture
def lab(cluster: Cluster) -> NotebookLab:
    """The training is the member's; the owner of the lab manages the workspace. Its notebook ran in `torch`."""
    lab = make_notebook_lab(cluster)
    base = an_environment(lab.cluster, "torch")
    lab.training = a_training(
        lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED, environment_id=base.id
    )
    a_code_version(lab.cluster, lab.training, CODE)
    lab.write(WRITTEN, lab.member, below="packages")
    return lab


def ask(lab: NotebookLab, name: str = "mine", person: User | None = None) -> Environment:
    return ask_for_environment(lab.cluster, lab.actor(person or lab.member), lab.training.id, name)


def read(lab: NotebookLab, key: int) -> Environment:
    return environment_list.read_environment(lab.cluster, lab.actor(), key)


def actions(lab: NotebookLab) -> list[str]:
    with lab.cluster.store.read() as session:
        names = session.scalars(select(AuditEntry.action).order_by(AuditEntry.id))
        return [name for name in names if name.startswith("environment.")]


def test_the_owner_asks_a_manager_approves_and_the_next_job_can_choose_it(lab: NotebookLab) -> None:
    made = read(lab, ask(lab).id)
    assert (made.state, made.source, made.operation_id) == (
        EnvironmentState.UNAPPROVED,
        EnvironmentSource.NOTEBOOK,
        None,
    )
    assert made.requirements == "PyYAML==6.0.2\nhumanize==4.17.0\n" and made.python == "3.11"
    assert made.base is not None and made.base.name == "torch"
    assert not made.is_global and [place.id for place in made.workspaces] == [lab.workspace.id]
    assert made.id not in [row.id for row in list_choices(lab.cluster, lab.workspace.id)]
    with lab.cluster.store.read() as session, pytest.raises(Refused) as refused:
        choose_environment(lab.cluster, session, lab.training, made.id)
    assert refused.value.code == "job.environment_not_approved"
    operation = approve_environment(lab.cluster, lab.actor(), made.id)
    made = read(lab, made.id)
    assert (made.state, made.operation_id) == (EnvironmentState.BUILDING, operation.id)
    assert made.id in [row.id for row in list_choices(lab.cluster, lab.workspace.id)]
    with lab.cluster.store.read() as session:
        chosen = choose_environment(lab.cluster, session, lab.training, made.id)
    assert chosen is not None and chosen.id == made.id
    assert actions(lab) == ["environment.requested", "environment.approved"]


def test_the_manager_is_told_of_a_request_and_of_nothing_that_waits_for_nobody(lab: NotebookLab) -> None:
    with lab.cluster.store.write() as session:
        kinds = ["environment_asked"]
        session.add(NotificationChoice(user_id=lab.owner.id, kinds=kinds, wait_hours=4))
    made = ask(lab)
    lab.write(WRITTEN, lab.owner, below="packages")
    ask(lab, "built-at-once", lab.owner)
    with lab.cluster.store.read() as session:
        told = [(event.user_id, event.data["path"]) for event in session.query(NotificationEvent)]
    assert told == [(lab.owner.id, f"/environments/{made.id}")]


def test_only_managers_approve_decline_and_build(lab: NotebookLab) -> None:
    made = ask(lab)
    for act in (approve_environment, decline_environment, environment_builds.rebuild_environment):
        with pytest.raises(Forbidden):
            act(lab.cluster, lab.actor(lab.member), made.id)
        with pytest.raises(NotFound):
            act(lab.cluster, actor_of(a_user(lab.cluster)), made.id)
    with pytest.raises(Conflict):
        environment_builds.rebuild_environment(lab.cluster, lab.actor(), made.id)
    assert read(lab, made.id).state is EnvironmentState.UNAPPROVED


def test_a_decline_frees_the_name_and_is_decided_once(lab: NotebookLab) -> None:
    made = ask(lab)
    with pytest.raises(Refused) as refused:
        ask(lab)
    assert (refused.value.field, refused.value.code) == ("name", "name.taken")
    decline_environment(lab.cluster, lab.actor(), made.id)
    for act in (approve_environment, decline_environment):
        with pytest.raises(Conflict):
            act(lab.cluster, lab.actor(), made.id)
    again = ask(lab)
    approve_environment(lab.cluster, lab.actor(), again.id)
    with pytest.raises(Conflict):
        approve_environment(lab.cluster, lab.actor(), again.id)
    assert actions(lab) == [
        "environment.requested",
        "environment.declined",
        "environment.requested",
        "environment.approved",
    ]


def test_what_a_manager_asks_for_is_built_at_once(lab: NotebookLab) -> None:
    lab.write(WRITTEN, lab.owner, below="packages")
    made = ask(lab, person=lab.owner)
    assert (made.state, made.operation_id is not None) == (EnvironmentState.BUILDING, True)
    assert actions(lab) == ["environment.added"]


def test_who_may_not_change_the_training_asks_for_nothing(lab: NotebookLab) -> None:
    other = a_user(lab.cluster)
    with pytest.raises(NotFound):
        ask(lab, person=other)
    theirs = replace(
        lab, training=a_training(lab.cluster, lab.workspace, lab.owner, kind=TrainingKind.ADVANCED)
    )
    with pytest.raises(Forbidden):
        ask(theirs)


def test_without_packages_or_with_a_wrong_name_the_field_is_named(lab: NotebookLab) -> None:
    with pytest.raises(Refused) as refused:
        ask(lab, "Not A Name")
    assert refused.value.field == "name"
    empty = a_training(
        lab.cluster,
        lab.workspace,
        lab.member,
        kind=TrainingKind.ADVANCED,
        environment_id=lab.training.environment_id,
    )
    with pytest.raises(Refused) as refused:
        ask(replace(lab, training=empty))
    assert (refused.value.field, refused.value.code) == ("packages", "notebook.no_packages")


def test_where_jobs_run_in_images_it_says_so(lab: NotebookLab) -> None:
    settings = replace(lab.cluster.settings, executor=ExecutorKind.KUBERNETES)
    with pytest.raises(Conflict) as conflict:
        ask(replace(lab, cluster=replace(lab.cluster, settings=settings)))
    assert conflict.value.code == "environment.in_images"
