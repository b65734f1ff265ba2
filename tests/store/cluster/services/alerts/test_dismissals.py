"""A person dismisses what has failed of their own, and nothing else."""

from dataclasses import replace

import pytest

from cluster.domain.errors import Forbidden
from cluster.domain.states import DatasetState
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.alerts.dismissals import dismiss_failed_datasets, dismiss_failed_jobs
from cluster.services.context import Cluster
from tests.builders import a_dataset, a_user, a_workspace, actor_of
from tests.store.cluster.services.alerts.test_current_alerts import a_failed_job


def test_one_or_all_failed_jobs_are_dismissed(cluster: Cluster) -> None:
    person, other = a_user(cluster), a_user(cluster)
    first, second, third = (a_failed_job(cluster, person) for _ in range(3))
    actor = actor_of(person)
    assert dismiss_failed_jobs(cluster, actor_of(other), first.id) == 0
    assert dismiss_failed_jobs(cluster, actor, first.id) == 1
    assert dismiss_failed_jobs(cluster, actor, first.id) == 0
    assert {alert.subject for alert in list_alerts(cluster, actor)} == {second.id, third.id}
    assert dismiss_failed_jobs(cluster, actor) == 2
    assert list_alerts(cluster, actor) == []


def test_failed_datasets_are_dismissed_by_their_creator(cluster: Cluster) -> None:
    person, other = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, person)
    failed = a_dataset(cluster, workspace, state=DatasetState.FAILED)
    ready = a_dataset(cluster, workspace)
    assert dismiss_failed_datasets(cluster, actor_of(other), failed.id) == 0
    assert dismiss_failed_datasets(cluster, actor_of(person), ready.id) == 0
    assert dismiss_failed_datasets(cluster, actor_of(person), failed.id) == 1
    assert list_alerts(cluster, actor_of(person)) == []


def test_a_token_that_only_reads_dismisses_nothing(cluster: Cluster) -> None:
    with pytest.raises(Forbidden):
        dismiss_failed_jobs(cluster, replace(actor_of(a_user(cluster)), scopes=frozenset({"read"})))
