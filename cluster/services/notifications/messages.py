"""Makes messages of the events that wait, in the transaction in which the events count as told."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session, joinedload

from cluster.domain.notifications.events import is_sweep_told
from cluster.domain.notifications.messages import HOUR, MOST_IN_DIGEST, plan_messages
from cluster.domain.states import LIVE_JOB_STATES, JobState, NotificationChannel, NotificationKind, UserState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.notifications.periodic_events import find_periodic_events
from cluster.store.alerts import Notification, NotificationChoice, NotificationEvent, add_notification_events
from cluster.store.jobs import Job, Sweep
from cluster.store.users import User

EVENTS_KEPT_FOR = timedelta(days=90)
MESSAGES_KEPT_FOR = timedelta(days=30)
MOST_EVENTS = 2000
"""The number of events that are read of a person at a time; the others wait for the next minute."""
HAS_LIVE_JOB = exists().where(Job.sweep_id == NotificationEvent.sweep_id, Job.state.in_(LIVE_JOB_STATES))
IS_READY = NotificationEvent.planned_at.is_(None) & (NotificationEvent.sweep_id.is_(None) | ~HAS_LIVE_JOB)
PEOPLE = select(NotificationEvent.user_id).where(IS_READY).distinct()


def write_messages(cluster: Cluster, held: HeldLease) -> int:
    """Writes the messages that are due and returns their number. The scheduler calls it each minute. Raises
    LeaseLost.
    """
    with cluster.store.read() as session:
        new = without_known_events(session, find_periodic_events(cluster, session))
        if not new and session.scalar(PEOPLE.limit(1)) is None:
            return 0
    now, channels = cluster.clock(), cluster.settings.notification_channels
    with cluster.store.write() as session:
        check_lease(session, held)
        add_notification_events(session, new)
        people = session.scalars(PEOPLE.order_by(NotificationEvent.user_id)).all()
        choices = load_choices(session, people)
        written = sum(
            write_messages_of(session, user_id, choices.get(user_id), channels, now) for user_id in people
        )
        delete_old_rows(session, now)
    return written


def without_known_events(session: Session, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not rows:
        return []
    known = select(NotificationEvent.user_id, NotificationEvent.key).where(
        NotificationEvent.key.in_({row["key"] for row in rows})
    )
    written = {(user_id, key) for user_id, key in session.execute(known)}
    return [row for row in rows if (row["user_id"], row["key"]) not in written]


def load_choices(session: Session, user_ids: Sequence[int]) -> dict[int, NotificationChoice]:
    query = select(NotificationChoice).where(NotificationChoice.user_id.in_(user_ids))
    return {
        choice.user_id: choice
        for choice in session.scalars(query.options(joinedload(NotificationChoice.user)))
    }


def write_messages_of(
    session: Session,
    user_id: int,
    choice: NotificationChoice | None,
    channels: Sequence[NotificationChannel],
    now: datetime,
) -> int:
    """Adds one notification per message and channel. Events of which people no longer want to be told count as
    delivered.
    """
    receiving = channels_of(choice, channels) if choice is not None else []
    told: list[tuple[NotificationEvent, dict[str, Any]]] = []
    ready = select(NotificationEvent).where(NotificationEvent.user_id == user_id, IS_READY)
    for event in session.scalars(ready.order_by(NotificationEvent.id).limit(MOST_EVENTS)).all():
        item = describe_event(session, event, choice) if choice is not None and receiving else None
        if item is None:
            event.planned_at = now
        else:
            told.append((event, item))
    have_waited = any(event.held_at is not None for event, _item in told)
    messages = plan_messages(told, read_sent_times(session, user_id, now), now, have_waited)
    for message in messages:
        items = [item for _event, item in message]
        content = message_content("events", items)
        for channel in receiving:
            session.add(personal_notification(user_id, channel, content, now))
        for event, _item in message:
            event.planned_at = now
    for event, _item in told:
        if event.planned_at is None and event.held_at is None:
            event.held_at = now
    return len(messages) * len(receiving)


def channels_of(
    choice: NotificationChoice, channels: Sequence[NotificationChannel]
) -> list[NotificationChannel]:
    """The channels over which this person is told."""
    if choice.user.state is not UserState.ACTIVE:
        return []
    addresses = {
        NotificationChannel.MAIL: choice.user.email,
        NotificationChannel.PERSONAL_WEBHOOK: choice.webhook_url,
    }
    return [channel for channel, address in addresses.items() if address and channel in channels]


def describe_event(
    session: Session, event: NotificationEvent, choice: NotificationChoice
) -> dict[str, Any] | None:
    """Returns {kind, code, data, details, path}; None if the person does not want the message any more."""
    kinds = [NotificationKind(kind) for kind in choice.kinds]
    if event.sweep_id is not None:
        return describe_sweep_end(session, event.sweep_id, choice.user, kinds)
    if event.kind not in kinds:
        return None
    return {"kind": event.kind.value} | {
        name: event.data[name] for name in ("code", "data", "details", "path")
    }


def describe_sweep_end(
    session: Session, sweep_id: int, user: User, kinds: Sequence[NotificationKind]
) -> dict[str, Any] | None:
    sweep = session.get_one(Sweep, sweep_id)
    states = select(Job.state, func.count()).where(Job.sweep_id == sweep_id).group_by(Job.state)
    counts = {row[0]: row[1] for row in session.execute(states)}
    is_stopped_by_user = (
        sweep.stop_code == "sweep.stopped_by" and (sweep.stop_data or {}).get("by") == user.name
    )
    if not is_sweep_told(kinds, counts, is_stopped_by_user):
        return None
    data = {"sweep": sweep.id, "name": sweep.name, "jobs": sum(counts.values())}
    data |= {
        state.value: counts.get(state, 0) for state in (JobState.FINISHED, JobState.FAILED, JobState.STOPPED)
    }
    details = [[sweep.stop_code, sweep.stop_data or {}]] if sweep.stop_code else []
    kind = NotificationKind.JOB_FAILED if counts.get(JobState.FAILED) else NotificationKind.JOB_ENDED
    return {
        "kind": kind.value,
        "code": "notification.sweep_ended",
        "data": data,
        "details": details,
        "path": f"/sweeps/{sweep.id}",
    }


def read_sent_times(session: Session, user_id: int, now: datetime) -> list[datetime]:
    """Returns the times of the last hour's messages to the person over the busiest channel."""
    rows = session.execute(
        select(Notification.channel, Notification.made_at).where(
            Notification.user_id == user_id,
            Notification.content.is_not(None),
            Notification.made_at > now - HOUR,
        )
    )
    times: dict[NotificationChannel, list[datetime]] = {}
    for channel, made_at in rows:
        times.setdefault(channel, []).append(made_at)
    return max(times.values(), key=len, default=[])


def message_content(kind: str, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "kind": kind,
        "events": list(items[:MOST_IN_DIGEST]),
        "left_out": max(0, len(items) - MOST_IN_DIGEST),
    }


def personal_notification(
    user_id: int, channel: NotificationChannel, content: dict[str, Any], now: datetime
) -> Notification:
    return Notification(user_id=user_id, channel=channel, content=content, made_at=now, next_at=now)


def delete_old_rows(session: Session, now: datetime) -> None:
    session.execute(delete(NotificationEvent).where(NotificationEvent.planned_at < now - EVENTS_KEPT_FOR))
    session.execute(
        delete(Notification).where(
            Notification.content.is_not(None), Notification.made_at < now - MESSAGES_KEPT_FOR
        )
    )


def drop_waiting_events(session: Session, now: datetime) -> None:
    """Drops the events after a restore: people have been told of them since, or they are outdated."""
    session.execute(
        update(NotificationEvent).where(NotificationEvent.planned_at.is_(None)).values(planned_at=now)
    )
