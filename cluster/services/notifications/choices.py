"""The events that each person chose to be told of. Only that person reads and changes the choice."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.names import check_mail_address
from cluster.domain.notifications.choices import NotificationChoices, check_choices, find_allowed_host
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_person
from cluster.domain.states import NotificationChannel, NotificationKind, NotificationState, UserState
from cluster.services.context import Cluster
from cluster.services.people.credentials import new_secret
from cluster.store.alerts import Notification, NotificationChoice
from cluster.store.audit import add_audit_entry
from cluster.store.users import User, load_user


@dataclass(frozen=True)
class LastDelivery:
    """The fate of the newest message over one channel."""

    channel: NotificationChannel
    state: NotificationState
    made_at: datetime
    error: str


@dataclass(frozen=True)
class NotificationProfile:
    """One person's choices with what the page shows of them."""

    choices: NotificationChoices
    email: str
    webhook_secret: str
    deliveries: Sequence[LastDelivery]


def read_choices(cluster: Cluster, actor: Actor) -> NotificationProfile:
    query = (
        select(User.email, NotificationChoice)
        .outerjoin(NotificationChoice, NotificationChoice.user_id == User.id)
        .where(User.id == actor.user_id)
    )
    with cluster.store.read() as session:
        email, row = session.execute(query).one()
        deliveries = list_last_deliveries(session, actor.user_id)
    return NotificationProfile(choices_of(row), email or "", row.webhook_secret if row else "", deliveries)


def choices_of(row: NotificationChoice | None) -> NotificationChoices:
    if row is None:
        return NotificationChoices()
    return NotificationChoices(frozenset(map(NotificationKind, row.kinds)), row.wait_hours, row.webhook_url)


def list_last_deliveries(session: Session, user_id: int) -> list[LastDelivery]:
    """The newest message over each channel."""
    newest = (
        select(func.max(Notification.id))
        .where(Notification.user_id == user_id, Notification.content.is_not(None))
        .group_by(Notification.channel)
    )
    query = select(Notification.channel, Notification.state, Notification.made_at, Notification.error)
    rows = session.execute(query.where(Notification.id.in_(newest)).order_by(Notification.channel))
    return [LastDelivery(*row) for row in rows]


def set_choices(
    cluster: Cluster,
    actor: Actor,
    kinds: Collection[str],
    wait_hours: int,
    webhook_url: str,
    email: str | None = None,
) -> NotificationProfile:
    """Replaces the actor's own choices. Raises Refused; Forbidden if an API token would change the mail address.

    A new webhook URL gets a new secret, with which its calls are signed. `email` None leaves the address as it is.
    """
    if email is not None:
        require_person(actor)
    choices = check_choices(kinds, wait_hours, webhook_url, cluster.settings.webhook_hosts)
    address = check_mail_address(email.strip()) if email and email.strip() else ""
    now = cluster.clock()
    with cluster.store.write() as session:
        user = load_user(session, actor.user_id)
        if email is not None:
            change_email(session, actor, user, address, now)
        row = session.get(NotificationChoice, user.id)
        if choices != choices_of(row):
            row = write_choices(session, user, row, choices)
            add_audit_entry(
                session, now, actor, "user.notifications_set", user.id,
                kinds=row.kinds, wait_hours=row.wait_hours, webhook_host=choices.webhook_host,
            )  # fmt: skip
    return read_choices(cluster, actor)


def change_email(session: Session, actor: Actor, user: User, email: str, now: datetime) -> None:
    if user.email != (email or None):
        user.email = email or None
        add_audit_entry(session, now, actor, "user.mail_set", user.id, is_set=bool(email))


def write_choices(
    session: Session, user: User, row: NotificationChoice | None, choices: NotificationChoices
) -> NotificationChoice:
    if row is None:
        row = NotificationChoice(user_id=user.id)
        session.add(row)
    if (row.webhook_url or "") != choices.webhook_url:
        row.webhook_secret = new_secret() if choices.webhook_url else ""
    row.kinds = sorted(kind.value for kind in choices.kinds)
    row.wait_hours, row.webhook_url = choices.wait_hours, choices.webhook_url
    return row


@dataclass(frozen=True)
class PersonalWebhook:
    """The address to which a person's messages go, and their language."""

    url: str
    host: str
    secret: str
    language: str | None


def find_webhook(cluster: Cluster, user_id: int | None) -> PersonalWebhook | None:
    """Returns None if the person is gone, has no webhook, or names a host that is not allowed any more."""
    with cluster.store.read() as session:
        row = session.get(NotificationChoice, user_id, options=[joinedload(NotificationChoice.user)])
    if row is None or not row.webhook_url or row.user.state is not UserState.ACTIVE:
        return None
    host = find_allowed_host(row.webhook_url, cluster.settings.webhook_hosts)
    if host is None:
        return None
    return PersonalWebhook(row.webhook_url, host, row.webhook_secret, row.user.language)
