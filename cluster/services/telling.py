"""Follows what needs a person from look to look, and writes a message for each thing once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from cluster.domain.attention import Concern, Topic, is_to_be_told
from cluster.domain.states import NoticeChannel, NoticeState
from cluster.services.attention import path_of, read_concerns
from cluster.services.context import Cluster
from cluster.services.leases import Held, check_lease
from cluster.services.notices import channels_of, may_be_told, request_sending
from cluster.services.users import service_actor
from cluster.store.notices import Notice, Occurrence
from cluster.store.users import User

KEPT = timedelta(days=90)


@dataclass(frozen=True)
class Step:
    """What one look changes: what is new, what is over, what is to be told now."""

    new: Sequence[Concern]
    over: Sequence[int]
    told: Sequence[tuple[int, Concern]]

    @property
    def is_nothing(self) -> bool:
        return not (self.new or self.over or self.told)


def tell_people(cluster: Cluster, held: Held) -> int:
    """Called each minute by the scheduler; how many messages were written. Raises LeaseLost."""
    channels = channels_of(cluster)
    forget_unsendable(cluster, held, channels)
    if not channels:
        return 0
    actor = replace(service_actor(cluster), is_administrator=True)
    concerns = read_concerns(cluster, actor)
    now, written = cluster.clock(), 0
    with cluster.store.read() as session:
        step = plan(session, concerns, now)
    if not step.is_nothing:
        with cluster.store.write() as session:
            check_lease(session, held)
            written = take(session, step, channels, now)
            forget_old(session, now)
    request_sending(cluster, actor)
    return written


def forget_unsendable(cluster: Cluster, held: Held, channels: Sequence[NoticeChannel]) -> None:
    """Messages for a way that the settings name no more: nobody takes them, and they are no trouble to tell of."""
    unsendable = (Notice.state != NoticeState.SENT) & Notice.channel.not_in(channels)
    with cluster.store.look() as connection:
        if connection.scalar(select(Notice.id).where(unsendable).limit(1)) is None:
            return
    with cluster.store.write() as session:
        check_lease(session, held)
        session.execute(delete(Notice).where(unsendable))


def plan(session: Session, concerns: Iterable[Concern], now: datetime) -> Step:
    """Changes nothing."""
    standing = {
        each.key: each for each in session.scalars(select(Occurrence).where(Occurrence.ended_at.is_(None)))
    }
    seen = {concern.key: concern for concern in concerns}
    untold = [each for key, each in standing.items() if key in seen and each.told_at is None]
    last = read_last_told(session, [each.key for each in untold])
    return Step(
        new=[concern for key, concern in seen.items() if key not in standing],
        over=[each.id for key, each in standing.items() if key not in seen],
        told=[
            (each.id, seen[each.key])
            for each in untold
            if is_to_be_told(each.began_at, last.get(each.key), now)
        ],
    )


def read_last_told(session: Session, keys: Sequence[str]) -> dict[str, datetime]:
    if not keys:
        return {}
    query = select(Occurrence.key, func.max(Occurrence.told_at)).where(
        Occurrence.key.in_(keys), Occurrence.told_at.is_not(None)
    )
    return {key: at for key, at in session.execute(query.group_by(Occurrence.key)) if at is not None}


def take(session: Session, step: Step, channels: Sequence[NoticeChannel], now: datetime) -> int:
    """The messages are written in the transaction in which a thing counts as told."""
    for concern in step.new:
        session.add(Occurrence(key=concern.key, concern=to_data(concern), began_at=now))
    for occurrence_id in step.over:
        session.get_one(Occurrence, occurrence_id).ended_at = now
    receivers = wants_mail(session) if step.told else []
    written = 0
    for occurrence_id, concern in step.told:
        occurrence = session.get_one(Occurrence, occurrence_id)
        occurrence.told_at, occurrence.concern = now, to_data(concern)
        for notice in messages(occurrence, ways_for(concern, channels), receivers, now):
            session.add(notice)
            written += 1
    return written


def messages(
    occurrence: Occurrence, channels: Iterable[NoticeChannel], receivers: Iterable[User], now: datetime
) -> Iterable[Notice]:
    for channel in channels:
        people = [user.id for user in receivers] if channel is NoticeChannel.MAIL else [None]
        for user_id in people:
            yield Notice(
                occurrence_id=occurrence.id, channel=channel, user_id=user_id, made_at=now, next_at=now
            )


def wants_mail(session: Session) -> list[User]:
    return [
        user for user in session.scalars(select(User).where(User.email.is_not(None))) if may_be_told(user)
    ]


def ways_for(concern: Concern, channels: Sequence[NoticeChannel]) -> list[NoticeChannel]:
    """That one way does not work is told by the other one alone."""
    return [each for each in channels if concern.topic is not Topic.TELLING or each != concern.subject]


def to_data(concern: Concern) -> dict[str, object]:
    return {
        "urgency": concern.urgency.value,
        "topic": concern.topic.value,
        "subject": concern.subject,
        "code": concern.code,
        "data": dict(concern.data),
        "details": [[detail.code, dict(detail.data)] for detail in concern.details],
        "path": path_of(concern),
    }


def forget_old(session: Session, now: datetime) -> None:
    old = select(Occurrence.id).where(Occurrence.ended_at < now - KEPT)
    session.execute(delete(Notice).where(Notice.occurrence_id.in_(old)))
    session.execute(delete(Occurrence).where(Occurrence.ended_at < now - KEPT))
