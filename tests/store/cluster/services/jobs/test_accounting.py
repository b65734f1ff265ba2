"""A month's use by workspace and user: what was held in it, to the second, and who may read it."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from cluster.domain.errors import NotFound
from cluster.domain.jobs.accounting import CalendarMonth
from cluster.domain.states import AttemptState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import accounting
from cluster.services.jobs.accounting import MonthlyUsage
from cluster.store.jobs import Attempt, Job, JobEvent
from cluster.store.nodes import Allocation, Node
from cluster.store.trainings import Training
from cluster.store.users import User
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, actor_of, add, an_administrator
from tests.conftest import Clock

NOVEMBER = CalendarMonth(2026, 11)


class Lab:
    """Seoul's November begins nine hours before UTC's."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.node: Node = a_node(cluster, 4)
        self.manager, self.minji = a_user(cluster, "jisoo"), a_user(cluster, "minji")
        self.vision = a_training(cluster, a_workspace(cluster, self.manager, (self.minji,), name="vision"))
        self.speech = a_training(cluster, a_workspace(cluster, members=(self.minji,), name="speech"))

    def run(
        self,
        training: Training,
        user: User,
        begun_at: datetime,
        ended_at: datetime | None,
        units: int = 1,
        state: JobState = JobState.FINISHED,
        **used: float,
    ) -> Job:
        """A job that held units from the first to the last moment."""
        job = a_job(self.cluster, training, user, units, state, fence=1, submitted_at=begun_at)
        attempt = Attempt(
            job_id=job.id,
            number=1,
            state=AttemptState.ENDED if ended_at else AttemptState.RUNNING,
            node_id=self.node.id,
            created_at=begun_at,
            started_at=begun_at,
            ended_at=ended_at,
            allocations=[
                Allocation(unit_id=unit.id, begun_at=begun_at, ended_at=ended_at)
                for unit in self.node.units[:units]
            ],
            **used,
        )
        add(self.cluster, attempt)
        return job

    def lines(self, reader: User, month: CalendarMonth = NOVEMBER) -> list[MonthlyUsage]:
        return accounting.read_monthly_usage(self.cluster, actor_of(reader), month)


@pytest.fixture
def lab(cluster: Cluster, clock: Clock) -> Lab:
    clock.now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    return Lab(cluster)


def at(day: int, hour: float = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, tzinfo=UTC) + timedelta(hours=hour)


def test_a_month_is_what_was_held_in_it(lab: Lab) -> None:
    zone = lab.cluster.settings.zone
    begins, ends = NOVEMBER.starts_at(zone), NOVEMBER.ends_at(zone)
    hour = timedelta(hours=1)
    lab.run(lab.vision, lab.minji, begins - 2 * hour, begins + hour, 2)  # 2 unit hours of 6
    lab.run(lab.vision, lab.minji, at(10), at(10, 0.5), cpu_seconds=60.0, unit_seconds_used=900.0)
    lab.run(
        lab.vision, lab.minji, at(11), at(11, 1), state=JobState.FAILED, max_memory_bytes=7, cpu_seconds=1.5
    )
    lab.run(lab.vision, lab.minji, begins - 5 * hour, begins - hour)  # October's
    lab.run(lab.vision, lab.minji, ends + hour, ends + 2 * hour)  # December's
    (line,) = lab.lines(lab.minji)
    assert (line.workspace, line.user, line.jobs) == ("vision", "minji", 3)
    assert line.booked_seconds == pytest.approx(3600 * 3.5, abs=0.01)
    assert (line.finished, line.failed, line.stopped) == (2, 1, 0)
    assert (line.cpu_seconds, line.used_seconds, line.max_memory_bytes) == (61.5, 900.0, 7)


def test_what_still_runs_counts_up_to_now_and_a_long_one_in_every_month(lab: Lab) -> None:
    lab.run(lab.vision, lab.minji, at(20, 11), None, 2, JobState.RUNNING)
    zone = lab.cluster.settings.zone
    long = lab.run(lab.speech, lab.minji, at(1, month=9), at(5, month=12), 1)
    lines = {line.workspace: line for line in lab.lines(lab.minji)}
    assert lines["vision"].booked_seconds == pytest.approx(2 * 3600, abs=0.01)
    assert (lines["vision"].jobs, lines["vision"].cpu_seconds) == (1, None)
    span = (min(NOVEMBER.ends_at(zone), lab.cluster.clock()) - NOVEMBER.starts_at(zone)).total_seconds()
    assert lines["speech"].booked_seconds == pytest.approx(span, abs=0.01)
    assert lines["speech"].finished == 0, long.id
    october = {line.workspace: line for line in lab.lines(lab.minji, CalendarMonth(2026, 10))}
    assert october["speech"].booked_seconds == pytest.approx(31 * 86400, abs=0.01)
    assert "vision" not in october
    assert accounting.read_first_month(lab.cluster) == NOVEMBER


def test_administrators_read_all_managers_their_workspace_everybody_their_own(lab: Lab) -> None:
    lab.run(lab.vision, lab.minji, at(10), at(10, 1))
    lab.run(lab.vision, lab.manager, at(10), at(10, 1))
    lab.run(lab.speech, lab.minji, at(10), at(10, 1))

    def seen(reader: User) -> list[tuple[str, str]]:
        return [(line.workspace, line.user) for line in lab.lines(reader)]

    assert seen(an_administrator(lab.cluster)) == [
        ("speech", "minji"),
        ("vision", "jisoo"),
        ("vision", "minji"),
    ]
    assert seen(lab.manager) == [("vision", "jisoo"), ("vision", "minji")]
    assert seen(lab.minji) == [("speech", "minji"), ("vision", "minji")]
    assert seen(a_user(lab.cluster)) == []
    only = accounting.read_monthly_usage(lab.cluster, actor_of(lab.minji), NOVEMBER, lab.speech.workspace_id)
    assert [line.workspace for line in only] == ["speech"]


def test_a_job_that_was_tried_twice_is_one_job(lab: Lab) -> None:
    job = lab.run(lab.vision, lab.minji, at(10), at(10, 1), cpu_seconds=1.0)
    again = Attempt(
        job_id=job.id,
        number=2,
        state=AttemptState.ENDED,
        node_id=lab.node.id,
        created_at=at(11),
        ended_at=at(11, 1),
        cpu_seconds=2.0,
        allocations=[Allocation(unit_id=lab.node.units[0].id, begun_at=at(11), ended_at=at(11, 1))],
    )
    add(lab.cluster, again)
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).fence = 2
    (line,) = lab.lines(lab.minji)
    assert (line.jobs, line.finished, line.cpu_seconds) == (1, 1, 3.0)
    assert line.booked_seconds == pytest.approx(7200, abs=0.01)


def test_a_jobs_account_has_its_seconds_and_its_units(lab: Lab) -> None:
    job = lab.run(lab.vision, lab.minji, at(10, 1), at(10, 3), 2)
    with lab.cluster.store.write() as session:
        row = session.get_one(Job, job.id)
        row.submitted_at, row.ended_at = at(10), at(10, 3)
    for moment, state in (
        (at(10), "waiting"),
        (at(10, 1), "starting"),
        (at(10, 1.5), "running"),
        (at(10, 3), "finished"),
    ):
        add(lab.cluster, JobEvent(job_id=job.id, at=moment, state=state, code="job.submitted"))
    found = accounting.read_job_usage(lab.cluster, actor_of(lab.minji), job.id)
    assert found.seconds_in_states == {
        JobState.WAITING: 3600,
        JobState.STARTING: 1800,
        JobState.RUNNING: 5400,
    }
    assert found.booked_seconds == 4 * 3600
    with pytest.raises(NotFound):
        accounting.read_job_usage(lab.cluster, actor_of(a_user(lab.cluster)), job.id)


def test_a_month_is_found_by_index(light_cluster: Cluster) -> None:
    """None of the large tables is read from end to end. (PostgreSQL reads what is small as a whole.)"""
    zone = light_cluster.settings.zone
    begins, ends = NOVEMBER.starts_at(zone), NOVEMBER.ends_at(zone)
    with light_cluster.store.read() as session:
        for query in (
            accounting.held_in_month(begins, ends, begins),
            accounting.ended_in_month(begins, ends),
        ):
            compiled = query.compile(session.get_bind(), compile_kwargs={"literal_binds": True})
            plan = [row[3] for row in session.execute(text(f"EXPLAIN QUERY PLAN {compiled}"))]
            assert not [
                step for step in plan if step.startswith(("SCAN allocations", "SCAN attempts", "SCAN jobs"))
            ]
