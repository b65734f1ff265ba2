"""An environment that somebody has asked for is approved or declined once, by who manages all of its workspaces."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Conflict, Forbidden, NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentSource, EnvironmentState, OperationState
from cluster.services.context import Cluster
from cluster.services.images.environment_approvals import approve_environment, decline_environment
from cluster.services.images.environment_list import read_environment
from cluster.services.images.environment_rows import EnvironmentRequest, record_environment
from cluster.store.audit import AuditEntry
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace
from tests.builders import a_user, a_workspace, actor_of, an_administrator
from tests.store.job_setup import Lab, a_lab

DECISIONS = (approve_environment, decline_environment)


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def ask(cluster: Cluster, lab: Lab, actor: Actor, *workspaces: Workspace) -> Environment:
    request = EnvironmentRequest(
        "kept", "humanize==4.17.0\nPyYAML==6.0.2\n", source=EnvironmentSource.NOTEBOOK
    )
    with cluster.store.write() as session:
        rows = [session.get_one(Workspace, place.id) for place in (lab.workspace, *workspaces)]
        return record_environment(cluster, session, actor, request, "", rows)


def audited(cluster: Cluster) -> list[tuple[str, object]]:
    with cluster.store.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action.like("environment.%")))
        return [(entry.action, entry.data.get("packages")) for entry in entries]


def test_an_approval_requests_the_build_and_says_what_was_approved(cluster: Cluster, lab: Lab) -> None:
    made = ask(cluster, lab, lab.actor)
    operation = approve_environment(cluster, actor_of(lab.manager), made.id)
    shown = read_environment(cluster, lab.actor, made.id)
    assert (shown.state, shown.operation_id) == (EnvironmentState.BUILDING, operation.id)
    assert operation.state is OperationState.REQUESTED
    assert audited(cluster) == [("environment.approved", ["humanize==4.17.0", "PyYAML==6.0.2"])]


def test_a_decline_leaves_nothing_to_decide(cluster: Cluster, lab: Lab) -> None:
    made = ask(cluster, lab, lab.actor)
    decline_environment(cluster, actor_of(lab.manager), made.id)
    for decide in DECISIONS:
        with pytest.raises(Conflict):
            decide(cluster, actor_of(lab.manager), made.id)
    assert audited(cluster) == [("environment.declined", None)]
    assert ask(cluster, lab, lab.actor).name == made.name


def test_it_takes_who_manages_all_of_its_workspaces(cluster: Cluster, lab: Lab) -> None:
    made = ask(cluster, lab, lab.actor, a_workspace(cluster, a_user(cluster)))
    for decide in DECISIONS:
        with pytest.raises(Forbidden):
            decide(cluster, actor_of(lab.manager), made.id)
        with pytest.raises(NotFound):
            decide(cluster, actor_of(a_user(cluster)), made.id)
    approve_environment(cluster, actor_of(an_administrator(cluster)), made.id)
    for decide in DECISIONS:
        with pytest.raises(Conflict):
            decide(cluster, actor_of(an_administrator(cluster)), made.id)
