"""Each reader is shown the alerts that concern them."""

from datetime import timedelta

from cluster.domain.alerts import (
    is_notification_due,
)
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.context import Cluster
from tests.builders import a_node, a_user, actor_of


def test_a_researcher_hears_nothing_of_nodes(cluster: Cluster) -> None:
    a_node(cluster, 2, name="gpu07")
    cluster.clock.move(minutes=5)  # type: ignore[attr-defined]
    assert list_alerts(cluster, actor_of(a_user(cluster))) == []
    now = cluster.clock()
    assert not is_notification_due(now, None, now) and is_notification_due(
        now - timedelta(minutes=1), None, now
    )
