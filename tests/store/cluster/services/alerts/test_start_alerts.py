"""A silent scheduler starts no job, which everybody is told."""

from cluster.domain.alerts import AlertDetail, AlertTopic
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.alerts.start_alerts import SILENT_AFTER_LEASE
from cluster.services.context import Cluster
from cluster.services.leases import SCHEDULER_LEASE, SCHEDULER_LEASE_DURATION, acquire_lease
from tests.builders import a_user, actor_of
from tests.conftest import Clock


def test_a_scheduler_that_does_not_renew_its_lease_is_everybodys_alert(
    cluster: Cluster, clock: Clock
) -> None:
    person = actor_of(a_user(cluster))
    seen_at = clock.now
    assert acquire_lease(cluster, SCHEDULER_LEASE, "one", SCHEDULER_LEASE_DURATION)
    clock.now += SCHEDULER_LEASE_DURATION + SILENT_AFTER_LEASE
    assert list_alerts(cluster, person) == []
    clock.move(seconds=1)
    (alert,) = list_alerts(cluster, person)
    assert (alert.topic, alert.code) == (AlertTopic.SCHEDULER, "attention.scheduler_silent")
    assert alert.details == (AlertDetail("attention.queue_as_of", {"at": seen_at.isoformat()}),)
    assert acquire_lease(cluster, SCHEDULER_LEASE, "one", SCHEDULER_LEASE_DURATION)
    assert list_alerts(cluster, person) == []
