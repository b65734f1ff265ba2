"""Sends the link of an invitation by mail. The outbox keeps a nonce, from which the secret key derives the link."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound
from cluster.domain.states import NotificationChannel
from cluster.portal_paths import one_time_link
from cluster.services.context import Cluster
from cluster.services.notifications.messages import message_content, personal_notification
from cluster.services.people.credentials import derived_secret
from cluster.services.people.passwords import read_password_link
from cluster.store.users import User

INVITATION = "invitation"


def can_mail_invitations(cluster: Cluster) -> bool:
    return NotificationChannel.MAIL in cluster.settings.notification_channels


def invitation_secret(cluster: Cluster, nonce: str) -> str:
    return derived_secret(cluster.settings.secret_key, nonce)


def add_invitation_mail(session: Session, user: User, inviter: str, nonce: str, expires_at: datetime) -> None:
    content = message_content(INVITATION, []) | {
        "nonce": nonce,
        "by": inviter,
        "name": user.name,
        "expires_at": expires_at.isoformat(),
    }
    session.add(personal_notification(user.id, NotificationChannel.MAIL, content, user.created_at))


def invitation_url(cluster: Cluster, content: Mapping[str, Any]) -> str | None:
    """The link; None if it was used, replaced or has expired, so that no mail with an invalid link is sent."""
    secret = invitation_secret(cluster, content["nonce"])
    try:
        read_password_link(cluster, secret)
    except NotFound:
        return None
    return cluster.settings.public_url + one_time_link(secret)
