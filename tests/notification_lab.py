"""People who are told of their jobs: an installation with mail and webhooks, and what waits in its outbox."""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import select, update

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.states import NotificationChannel, NotificationKind
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease
from cluster.services.notifications.choices import set_choices
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.alerts import Notification
from cluster.store.jobs import Job, Sweep
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_job, actor_of, add

HOOK = "https://chat.lab.example/in/secret-path"


def with_channels(cluster: Cluster) -> Cluster:
    settings = replace(
        cluster.settings,
        mail_url="smtp://mail.lab.example",
        mail_from="groundcrew@lab.example",
        webhook_hosts=("chat.lab.example",),
    )
    return replace(cluster, settings=settings)


def choose(
    lab: Cluster,
    user: User,
    kinds: Collection[str] = tuple(NotificationKind),
    webhook: str = "",
    wait_hours: int = 4,
) -> None:
    set_choices(lab, actor_of(user), kinds, wait_hours, webhook, f"{user.name}@lab.example")


def messages_to(
    lab: Cluster, user: User, channel: NotificationChannel = NotificationChannel.MAIL
) -> list[list[tuple[str, str]]]:
    """By message the code and the path of each event, in the order in which they were written."""
    query = select(Notification).where(Notification.user_id == user.id, Notification.channel == channel)
    with lab.store.read() as session:
        contents = [row.content or {} for row in session.scalars(query.order_by(Notification.id))]
    return [[(event["code"], event["path"]) for event in content["events"]] for content in contents]


def run(lab: Cluster, held: HeldLease, *outcomes: AttemptOutcome) -> None:
    """Places the waiting jobs, and ends them in the order of their ids."""
    with lab.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=lab.clock()))
    placed = sorted(place_waiting_jobs(lab, held))
    attempts.record_starting(lab, held, dict.fromkeys(placed))
    attempts.record_running(lab, held, {attempt: {"pid": 7} for attempt in placed})
    lab.clock.move(minutes=90)  # type: ignore[attr-defined]
    ends = zip(placed, outcomes, strict=True)
    attempts.record_end(lab, held, *(attempts.AttemptEnd(attempt, outcome) for attempt, outcome in ends))


def a_sweep(lab: Cluster, training: Training, jobs: int) -> list[Job]:
    sweep = Sweep(
        workspace_id=training.workspace_id,
        training_id=training.id,
        user_id=training.owner_id,
        name="rates",
        jobs=jobs,
        stop_on_trouble=False,
        plan={"kind": "list", "values": {}},
        submitted_at=lab.clock(),
    )
    add(lab, sweep)
    return [
        a_job(lab, training, sweep_id=sweep.id, sweep_number=number, name=f"rates-{number}")
        for number in range(1, jobs + 1)
    ]
