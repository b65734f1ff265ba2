"""Nodes that do not work are alerts of administrators, with what was last known of them."""

from datetime import timedelta

from cluster.domain.alerts import is_notification_due
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.alerts.node_alerts import troubled_node_alerts
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


def test_a_silent_node_is_named_with_its_last_signal(cluster: Cluster) -> None:
    a_node(cluster, 2, name="gpu07")
    seen_at = cluster.clock()
    assert list(troubled_node_alerts(cluster)) == []
    cluster.clock.move(minutes=1)  # type: ignore[attr-defined]
    (alert,) = troubled_node_alerts(cluster)
    assert (alert.code, alert.data) == ("attention.node_silent", {"node": "gpu07"})
    assert [(each.code, each.data) for each in alert.details] == [
        ("attention.last_signal", {"at": seen_at.isoformat()})
    ]
