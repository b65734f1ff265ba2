"""Terms that end soon are alerts, with the days that are left."""

from datetime import timedelta

import pytest

from cluster.domain.alerts import ENDS_SOON_DAYS
from cluster.services.alerts.term_alerts import ending_term_alerts
from cluster.services.context import Cluster
from tests.builders import a_user, a_workspace, actor_of


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (0, [("attention.term_ends_today", 0)]),
        (2, [("attention.term_ends", 2)]),
        (ENDS_SOON_DAYS, [("attention.term_ends", ENDS_SOON_DAYS)]),
        (ENDS_SOON_DAYS + 1, []),
    ],
)
def test_a_term_is_an_alert_in_its_last_days(
    cluster: Cluster, days: int, told: list[tuple[str, int]]
) -> None:
    manager = a_user(cluster)
    today = cluster.clock().astimezone(cluster.settings.zone).date()
    a_workspace(cluster, manager, ends_on=today + timedelta(days=days))
    alerts = list(ending_term_alerts(cluster, actor_of(manager)))
    assert [(alert.code, alert.data["days"]) for alert in alerts] == told
