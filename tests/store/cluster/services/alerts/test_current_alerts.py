"""Each reader is shown the alerts that concern them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from cluster.domain.alerts import AlertTopic
from cluster.domain.states import (
    DatasetState,
    EnvironmentState,
    JobState,
    NotificationChannel,
    OperationKind,
    OperationState,
)
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.context import Cluster
from cluster.services.nodes.executor_outage import EXECUTOR_OUTAGE_FACT
from cluster.services.operations.lifecycle import request_operation
from cluster.store.alerts import AlertOccurrence, Notification
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Job
from cluster.store.operations import Operation
from cluster.store.users import User
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_administrator,
)


def a_stuck_job(cluster: Cluster, person: User) -> None:
    training = a_training(cluster, a_workspace(cluster, members=(person,)))
    a_job(cluster, training, person, waiting_code="waiting.quota_too_small", waiting_data={})


def a_failed_job(cluster: Cluster, person: User, **columns: Any) -> Job:
    training = a_training(cluster, a_workspace(cluster, members=(person,)))
    columns = {"ended_at": cluster.clock(), "end_code": "exit.error", "end_data": {}} | columns
    return a_job(cluster, training, person, state=JobState.FAILED, **columns)


def a_failed_environment(cluster: Cluster, person: User) -> None:
    digest, now = "1" * 64, cluster.clock()
    with cluster.store.write() as session:
        session.merge(InstallationFact(name="default_environment", value={"digest": digest}))
        session.add(
            Environment(
                name="default", digest=digest, state=EnvironmentState.FAILED, path="/none", created_at=now
            )
        )


def an_interrupted_operation(cluster: Cluster, person: User) -> None:
    with cluster.store.write() as session:
        operation = request_operation(
            session, OperationKind.DATASET_IMPORT, 1, actor_of(person), cluster.clock()
        )
        session.flush()
        session.get_one(Operation, operation.id).state = OperationState.INTERRUPTED


def a_failed_dataset(cluster: Cluster, person: User) -> None:
    a_dataset(cluster, a_workspace(cluster, person), state=DatasetState.FAILED)


def a_term_that_ends(cluster: Cluster, person: User) -> None:
    a_workspace(cluster, person, ends_on=cluster.clock().date() + timedelta(days=2))


def an_outage(cluster: Cluster, person: User) -> None:
    value = {"code": "engine.silent", "data": {}, "since": cluster.clock().isoformat()}
    with cluster.store.write() as session:
        session.add(InstallationFact(name=EXECUTOR_OUTAGE_FACT, value=value))


def a_failed_delivery(cluster: Cluster, person: User) -> None:
    now = cluster.clock()
    with cluster.store.write() as session:
        occurrence = AlertOccurrence(key="a:1", alert={}, began_at=now)
        session.add(occurrence)
        session.flush()
        session.add(
            Notification(
                occurrence_id=occurrence.id,
                channel=NotificationChannel.WEBHOOK,
                made_at=now,
                next_at=now,
                tries=1,
                error="connection refused",
            )
        )


def a_silent_node(cluster: Cluster, person: User) -> None:
    a_node(cluster, 2)
    cluster.clock.move(minutes=1)  # type: ignore[attr-defined]


COMMON: list[tuple[Callable[[Cluster, User], object], AlertTopic]] = [
    (a_stuck_job, AlertTopic.JOB),
    (a_failed_job, AlertTopic.JOB),
    (a_failed_environment, AlertTopic.ENVIRONMENT),
    (an_interrupted_operation, AlertTopic.OPERATION),
    (a_failed_dataset, AlertTopic.DATASET),
    (a_term_that_ends, AlertTopic.WORKSPACE),
]
FOR_ADMINISTRATORS: list[tuple[Callable[[Cluster, User], None], AlertTopic]] = [
    (an_outage, AlertTopic.ENGINE),
    (a_failed_delivery, AlertTopic.TELLING),
    (a_silent_node, AlertTopic.NODE),
]


@pytest.mark.parametrize(("trouble", "topic"), COMMON)
def test_each_trouble_of_a_person_is_their_alert_and_no_strangers(
    cluster: Cluster, trouble: Callable[[Cluster, User], object], topic: AlertTopic
) -> None:
    person, stranger = a_user(cluster), a_user(cluster)
    trouble(cluster, person)
    assert [alert.topic for alert in list_alerts(cluster, actor_of(person))] == [topic]
    everybody = topic is AlertTopic.ENVIRONMENT
    assert bool(list_alerts(cluster, actor_of(stranger))) is everybody


@pytest.mark.parametrize(("trouble", "topic"), FOR_ADMINISTRATORS)
def test_each_trouble_of_the_installation_is_an_alert_of_administrators(
    cluster: Cluster, trouble: Callable[[Cluster, User], None], topic: AlertTopic
) -> None:
    administrator, person = an_administrator(cluster), a_user(cluster)
    trouble(cluster, administrator)
    assert [alert.topic for alert in list_alerts(cluster, actor_of(administrator))] == [topic]
    assert list_alerts(cluster, actor_of(person)) == []


def test_where_nothing_is_wrong_one_statement_says_so_however_many_nodes_there_are(cluster: Cluster) -> None:
    administrator = actor_of(an_administrator(cluster))
    for _ in range(5):
        a_node(cluster, 2)
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement.startswith("SELECT"):
            statements.append(statement)

    event.listen(cluster.store.engine, "before_cursor_execute", note)
    try:
        assert list_alerts(cluster, administrator) == []
    finally:
        event.remove(cluster.store.engine, "before_cursor_execute", note)
    assert len(statements) == 1
