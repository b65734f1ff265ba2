"""A person's failures and waits: which are named, and for how long."""

from datetime import timedelta

from cluster.services.alerts.alert_counts import MAX_PER_KIND
from cluster.services.alerts.current_alerts import list_alerts, read_current_alerts
from cluster.services.alerts.personal_alerts import FAILED_JOBS_FOR
from cluster.services.context import Cluster
from tests.builders import a_job, a_training, a_user, a_workspace, actor_of
from tests.conftest import Clock
from tests.store.cluster.services.alerts.test_current_alerts import a_failed_job


def test_all_are_counted_and_the_newest_failures_are_named(cluster: Cluster, clock: Clock) -> None:
    person = a_user(cluster)
    jobs = []
    for _ in range(MAX_PER_KIND + 4):
        jobs.append(a_failed_job(cluster, person).id)
        clock.move(minutes=1)
    current = read_current_alerts(cluster, actor_of(person))
    assert [alert.subject for alert in current.alerts] == jobs[::-1][:MAX_PER_KIND]
    assert current.unnamed == {"attention.job_failed": 4}
    assert current.count == MAX_PER_KIND + 4


def test_a_failed_job_is_an_alert_for_a_week(cluster: Cluster, clock: Clock) -> None:
    person = a_user(cluster)
    a_failed_job(cluster, person)
    clock.now += FAILED_JOBS_FOR - timedelta(seconds=1)
    assert len(list_alerts(cluster, actor_of(person))) == 1
    clock.move(seconds=1)
    assert list_alerts(cluster, actor_of(person)) == []


def test_the_longest_wait_is_named_first(cluster: Cluster) -> None:
    person = a_user(cluster)
    training = a_training(cluster, a_workspace(cluster, members=(person,)))
    stuck = {"waiting_code": "waiting.quota_too_small", "waiting_data": {}}
    jobs = [a_job(cluster, training, person, **stuck).id for _ in range(3)]
    assert [alert.subject for alert in list_alerts(cluster, actor_of(person))] == jobs
