"""The link of an invitation follows of a nonce and the secret key, and only while it works."""

import json
from dataclasses import replace

from cluster.services.context import Cluster
from cluster.services.notifications.invitation_mails import invitation_url
from cluster.services.people.passwords import issue_password_link
from cluster.services.workspaces import invitations
from cluster.store.alerts import Notification
from tests.builders import actor_of, an_administrator
from tests.notification_lab import with_channels


def test_the_link_waits_in_the_outbox_without_its_secret_where_mail_is_configured(cluster: Cluster) -> None:
    lab, chief = with_channels(cluster), actor_of(an_administrator(cluster))
    user, secret = invitations.invite_user(lab, chief, "newcomer", email="new@lab.example")
    with cluster.store.read() as session:
        (row,) = session.query(Notification).filter_by(user_id=user.id).all()
    assert row.content is not None and row.content["kind"] == "invitation"
    assert secret not in json.dumps(row.content)
    assert (invitation_url(lab, row.content) or "").endswith(f"/link/{secret}")
    other = replace(lab, settings=replace(lab.settings, secret_key="another key" * 4))
    assert invitation_url(other, row.content) is None, "the nonce alone makes no link"
    issue_password_link(lab, chief, user.id)
    assert invitation_url(lab, row.content) is None, "a replaced link is not sent"
