"""The outbox: which messages are due, and what became of each try. Nothing here sends."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from cluster.domain.attention import GIVES_UP, pause_after
from cluster.domain.people import Actor
from cluster.domain.states import (
    NoticeChannel,
    NoticeState,
    OperationKind,
    OperationState,
    UserRole,
    UserState,
)
from cluster.services.context import Cluster
from cluster.services.operations import request_operation, ring_operation
from cluster.store.notices import Notice
from cluster.store.operations import Operation
from cluster.store.users import User

MOST_AT_ONCE = 200
LONGEST_ERROR = 300
REMEMBERED = timedelta(hours=24)
"""So long a message that was given up is still a reason to look at the settings."""


def channels_of(cluster: Cluster) -> list[NoticeChannel]:
    """The ways that this installation has."""
    settings = cluster.settings
    ways = {NoticeChannel.MAIL: settings.mail_url, NoticeChannel.WEBHOOK: settings.webhook_url}
    return [channel for channel, address in ways.items() if address]


def may_be_told(user: User) -> bool:
    """Administrators who have named an address; asked again when a mail goes, for that may be a day later."""
    is_chief = user.role is UserRole.ADMINISTRATOR and user.state is UserState.ACTIVE
    return is_chief and bool(user.email)


def list_due(cluster: Cluster, channel: NoticeChannel) -> list[Notice]:
    """The oldest first."""
    query = select(Notice).where(
        Notice.state == NoticeState.WAITING, Notice.channel == channel, Notice.next_at <= cluster.clock()
    )
    loads = (joinedload(Notice.occurrence), joinedload(Notice.user))
    with cluster.store.read() as session:
        return list(session.scalars(query.options(*loads).order_by(Notice.id).limit(MOST_AT_ONCE)))


def record_sent(cluster: Cluster, notices: Sequence[Notice]) -> None:
    """A death just before this sends them once more, under the same number."""
    now = cluster.clock()
    with cluster.store.write() as session:
        for notice in load(session, notices):
            notice.state, notice.sent_at, notice.error = NoticeState.SENT, now, ""


def record_failure(cluster: Cluster, notices: Sequence[Notice], error: str) -> None:
    """The next try comes after a growing pause; after a day there is none."""
    now = cluster.clock()
    with cluster.store.write() as session:
        for notice in load(session, notices):
            notice.tries += 1
            notice.error = error[:LONGEST_ERROR]
            notice.next_at = now + pause_after(notice.tries)
            if now - notice.made_at >= GIVES_UP:
                notice.state = NoticeState.GIVEN_UP


def load(session: Session, notices: Sequence[Notice]) -> list[Notice]:
    """Those that still wait."""
    wanted = [notice.id for notice in notices]
    query = select(Notice).where(Notice.id.in_(wanted), Notice.state == NoticeState.WAITING)
    return list(session.scalars(query.with_for_update()))


def read_troubles(cluster: Cluster) -> dict[NoticeChannel, str]:
    """By way, the newest reason for which something waits or was given up lately."""
    since = cluster.clock() - REMEMBERED
    has_failed = (Notice.tries > 0) & (Notice.state != NoticeState.SENT) & (Notice.made_at > since - GIVES_UP)
    query = select(Notice.channel, Notice.error).where(has_failed).order_by(Notice.id)
    with cluster.store.read() as session:
        return {channel: error for channel, error in session.execute(query)}  # noqa: C416


def request_sending(cluster: Cluster, actor: Actor) -> Operation | None:
    """One operation at a time, where something is due."""
    due = select(Notice.id).where(Notice.state == NoticeState.WAITING, Notice.next_at <= cluster.clock())
    under_way = select(Operation.id).where(
        Operation.kind == OperationKind.NOTICES,
        Operation.state.in_([OperationState.REQUESTED, OperationState.RUNNING]),
    )
    with cluster.store.look() as connection:
        if connection.scalar(due.limit(1)) is None or connection.scalar(under_way.limit(1)) is not None:
            return None
    with cluster.store.write() as session:
        operation = request_operation(session, OperationKind.NOTICES, None, actor, cluster.clock())
    ring_operation(cluster, operation)
    return operation
