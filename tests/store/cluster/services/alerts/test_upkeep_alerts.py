"""Deliveries that fail are an alert for each channel, with its newest error."""

from cluster.services.alerts.upkeep_alerts import backup_alerts, delivery_alerts
from cluster.services.context import Cluster
from tests.builders import an_administrator
from tests.store.cluster.services.alerts.test_current_alerts import a_failed_delivery


def test_a_channel_that_fails_is_named_with_its_error(cluster: Cluster) -> None:
    assert list(delivery_alerts(cluster)) == []
    a_failed_delivery(cluster, an_administrator(cluster))
    (alert,) = delivery_alerts(cluster)
    assert (alert.code, alert.subject) == ("attention.not_told", "webhook")
    assert alert.data == {"channel": "webhook", "error": "connection refused"}


def test_without_a_nightly_backup_none_is_missed(cluster: Cluster) -> None:
    assert cluster.settings.backup_at is None
    assert list(backup_alerts(cluster)) == []
