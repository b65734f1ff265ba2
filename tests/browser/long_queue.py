"""A busy cluster with very many jobs in its queue, written straight into the rows."""

from datetime import timedelta
from random import Random

from sqlalchemy import select, update

from cluster.domain.states import DatasetState, EnvironmentState, JobState, UnitKind
from cluster.services.context import Cluster
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job, Sweep
from cluster.store.nodes import Node, Unit
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.bench.bulk_rows import NAME, fill
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    add,
    an_administrator,
    holding,
)
from tests.queue_reports import report_queue

LABS = ("vision-lab", "robotics", "speech", "nlp-24", "course-dl", "bio-seg")
PEOPLE = ("seoyeon", "taeyang", "haneul", "park", "minjun", "dohyun")
OTHERS = 194
"""Workspaces besides these, so that there are 200 lines."""
MINUTES = (8, 32, 75, 167, 240, 330)


def fill_cluster(cluster: Cluster, count: int) -> User:
    """Four nodes of eight GPUs, six labs and many small lines with `count` more jobs; the administrator."""
    digest = Environment(name="default", digest="d", state=EnvironmentState.READY, created_at=cluster.clock())
    add(cluster, digest, InstallationFact(name="default_environment", value={"digest": "d"}))
    chief = an_administrator(cluster, "hjkim")
    units = [unit for n in range(1, 5) for unit in a_node(cluster, 8, f"gpu{n:02}", UnitKind.GPU).units]
    with cluster.store.write() as session:  # Nobody speaks for them while the page is looked at.
        session.execute(update(Node).values(heartbeat_at=cluster.clock() + timedelta(hours=1)))
    trainings = [
        a_training(cluster, a_workspace(cluster, a_user(cluster, person), units=8, name=lab))
        for lab, person in zip(LABS, PEOPLE, strict=True)
    ]
    run_on(cluster, trainings, units)
    wait_for_reasons(cluster, trainings)
    others = a_line_of(cluster, chief)
    fill(cluster, [training.id for training in others], count, units=1)
    spread_in_time(cluster)
    report_queue(cluster)
    return chief


def a_line_of(cluster: Cluster, chief: User) -> list[Training]:
    places = [a_workspace(cluster, chief, units=2, name=f"student-{n:03}") for n in range(1, OTHERS + 1)]
    return [a_training(cluster, place, chief) for place in places]


def run_on(cluster: Cluster, trainings: list[Training], units: list[Unit]) -> None:
    """Every GPU is in use; most jobs say how far they are."""
    now, sizes = cluster.clock(), (8, 4, 4, 8, 4, 2)
    for training, size, minutes in zip(trainings, sizes, MINUTES, strict=True):
        mine, units = units[:size], units[size:]
        began = now - timedelta(minutes=70)
        attempt = holding(cluster, a_job(cluster, training, units=size, state=JobState.RUNNING), mine)
        tell(cluster, attempt, 70 / (70 + minutes), minutes)
        with cluster.store.write() as session:
            session.execute(update(Attempt).where(Attempt.id == attempt.id).values(started_at=began))
            session.execute(update(Job).where(Job.id == attempt.job_id).values(started_at=began))
    last = a_job(cluster, trainings[0], units=len(units), state=JobState.RUNNING, time_limit_seconds=21_600)
    holding(cluster, last, units)


def tell(cluster: Cluster, attempt: Attempt, part: float, minutes: int) -> None:
    """As the scheduler notes what a job says of its way."""
    ends = [cluster.clock() + timedelta(minutes=minutes * share) for share in (1, 0.9, 1.15)]
    values = dict(zip(("expected_end_at", "earliest_end_at", "latest_end_at"), ends, strict=True))
    with cluster.store.write() as session:
        session.execute(update(Attempt).where(Attempt.id == attempt.id).values(progress=part, **values))


def wait_for_reasons(cluster: Cluster, trainings: list[Training]) -> None:
    """One case each of what the sentences can say."""
    now = cluster.clock()
    vision, robotics, speech, nlp, course, bio = trainings
    place = workspace_of(cluster, robotics)
    making = a_dataset(cluster, place, name="grasps-2026", state=DatasetState.PREPARING)
    sweep = Sweep(
        workspace_id=course.workspace_id, training_id=course.id, user_id=course.owner_id, name="digits-mlp",
        plan={"kind": "grid", "values": {}}, jobs=40, most_at_once=1, submitted_at=now,
    )  # fmt: skip
    add(cluster, sweep)
    with cluster.store.write() as session:
        session.execute(update(Job).where(Job.training_id == course.id).values(sweep_id=sweep.id))
    a_job(cluster, vision, units=4, time_limit_seconds=7200)
    a_job(cluster, robotics, units=2, dataset_id=making.id)
    a_job(cluster, speech, units=4, time_limit_seconds=3600)
    a_job(cluster, nlp, units=8, time_limit_seconds=14_400)
    for number in range(2):
        a_job(cluster, course, units=1, sweep_id=sweep.id, sweep_number=number + 2)
    a_job(cluster, bio, units=8, held_at=now - timedelta(minutes=146), held_by=bio.owner_id)


def workspace_of(cluster: Cluster, training: Training) -> Workspace:
    with cluster.store.read() as session:
        return session.get_one(Workspace, training.workspace_id)


def spread_in_time(cluster: Cluster) -> None:
    """Who waits was not submitted all at once."""
    random, now = Random(7), cluster.clock()
    with cluster.store.write() as session:
        waiting = select(Job.id).where(Job.state == JobState.WAITING, Job.name != NAME)
        for job_id in session.scalars(waiting):
            moment = now - timedelta(minutes=random.randint(20, 180))
            session.execute(update(Job).where(Job.id == job_id).values(submitted_at=moment))
        few = select(Job.id).where(Job.name == NAME).order_by(Job.id).limit(OTHERS)
        for number, job_id in enumerate(session.scalars(few)):
            moment = now - timedelta(minutes=140 - number / 2)
            session.execute(update(Job).where(Job.id == job_id).values(submitted_at=moment))
