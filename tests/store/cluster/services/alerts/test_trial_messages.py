"""A test message goes the way of all others."""

import pytest
from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.domain.notifications.messages import MOST_PER_HOUR
from cluster.domain.states import NotificationChannel
from cluster.services.alerts.trial_messages import send_test_messages
from cluster.services.context import Cluster
from cluster.store.operations import Operation
from tests.builders import a_user, actor_of
from tests.notification_lab import HOOK, choose, messages_to, with_channels


@pytest.fixture
def lab(cluster: Cluster) -> Cluster:
    return with_channels(cluster)


def test_a_test_goes_over_each_channel_and_counts_among_the_ten(lab: Cluster) -> None:
    minji = a_user(lab, "minji")
    actor = actor_of(minji)
    with pytest.raises(Refused) as refused:
        send_test_messages(lab, actor)
    assert refused.value.code == "notification.no_address"
    choose(lab, minji, [], webhook=HOOK)
    assert send_test_messages(lab, actor) == [NotificationChannel.MAIL, NotificationChannel.PERSONAL_WEBHOOK]
    with lab.store.read() as session:
        assert [each.kind for each in session.scalars(select(Operation))] == ["notices"]
    for _ in range(MOST_PER_HOUR - 1):
        send_test_messages(lab, actor)
    with pytest.raises(Refused) as refused:
        send_test_messages(lab, actor)
    assert refused.value.code == "notification.hour_is_full"
    assert len(messages_to(lab, minji)) == MOST_PER_HOUR
