"""What was held and used on each of the last days, to the second, in a workspace and on a node."""

from datetime import UTC, date, datetime, timedelta

import pytest

from cluster.domain.states import AttemptState, JobState
from cluster.services.context import Cluster
from cluster.services.nodes.daily_usage import DAYS_SHOWN, DailyUsage, read_node_days, read_workspace_days
from cluster.store.jobs import Attempt
from cluster.store.nodes import Allocation, Node
from cluster.store.trainings import Training
from tests.builders import a_job, a_node, a_training, a_user, a_workspace, add
from tests.conftest import Clock

HOUR = 3600.0


class Lab:
    """Two workspaces on two nodes. Seoul's day begins nine hours before UTC's."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.nodes: list[Node] = [a_node(cluster, 4, name=name) for name in ("gpu01", "gpu02")]
        self.user = a_user(cluster, "minji")
        self.vision = a_training(cluster, a_workspace(cluster, members=(self.user,), name="vision"))
        self.speech = a_training(cluster, a_workspace(cluster, members=(self.user,), name="speech"))

    def run(
        self,
        training: Training,
        begun_at: datetime,
        ended_at: datetime | None,
        units: tuple[int, int] = (1, 0),
        used: float | None = None,
    ) -> None:
        """An attempt on so many units of each node."""
        state = JobState.FINISHED if ended_at else JobState.RUNNING
        job = a_job(
            self.cluster, training, self.user, sum(units), state, submitted_at=begun_at, ended_at=ended_at
        )
        held = [unit for node, count in zip(self.nodes, units, strict=True) for unit in node.units[:count]]
        attempt = Attempt(
            job_id=job.id,
            number=1,
            state=AttemptState.ENDED if ended_at else AttemptState.RUNNING,
            node_id=self.nodes[0].id,
            created_at=begun_at,
            started_at=begun_at,
            ended_at=ended_at,
            unit_seconds_used=used,
            allocations=[Allocation(unit_id=unit.id, begun_at=begun_at, ended_at=ended_at) for unit in held],
        )
        add(self.cluster, attempt)

    def days_of(self, training: Training) -> dict[int, DailyUsage]:
        return busy(read_workspace_days(self.cluster, training.workspace_id))


def busy(days: tuple[DailyUsage, ...]) -> dict[int, DailyUsage]:
    return {day.day.day: day for day in days if day.held_seconds or day.used_seconds}


@pytest.fixture
def lab(cluster: Cluster, clock: Clock) -> Lab:
    clock.now = at(20, 12)
    return Lab(cluster)


def at(day: int, hour: float = 0) -> datetime:
    return datetime(2026, 11, day, tzinfo=UTC) + timedelta(hours=hour)


def test_the_last_fourteen_days_are_told_in_order_busy_or_not(lab: Lab) -> None:
    days = read_workspace_days(lab.cluster, lab.vision.workspace_id)
    assert [day.day for day in days] == [
        date(2026, 11, 7) + timedelta(days=more) for more in range(DAYS_SHOWN)
    ]
    assert {(day.held_seconds, day.used_seconds) for day in days} == {(0.0, 0.0)}


def test_an_attempt_counts_on_each_day_for_as_long_as_it_held_its_units_then(lab: Lab) -> None:
    lab.run(lab.vision, at(17, 12), at(19, 18), units=(2, 0), used=2 * 27 * HOUR)
    found = lab.days_of(lab.vision)
    # Midnight in Seoul is 15 o'clock.
    assert {day: found[day].held_seconds / HOUR for day in found} == pytest.approx(
        {17: 6, 18: 48, 19: 48, 20: 6}
    )
    assert {day: found[day].used_seconds / HOUR for day in found} == pytest.approx(
        {17: 3, 18: 24, 19: 24, 20: 3}
    )


def test_what_was_held_before_the_first_day_does_not_count(lab: Lab) -> None:
    lab.run(lab.vision, at(1), at(6, 14), used=HOUR)
    lab.run(lab.vision, at(5, 15), at(6, 16), used=HOUR)
    assert {
        day: found.held_seconds / HOUR for day, found in lab.days_of(lab.vision).items()
    } == pytest.approx({7: 1})


def test_a_living_attempt_is_held_until_now_and_its_use_is_not_known_yet(lab: Lab) -> None:
    lab.run(lab.vision, at(20, 2), None)
    found = lab.days_of(lab.vision)[20]
    assert (found.held_seconds, found.used_seconds) == (pytest.approx(10 * HOUR), 0)


def test_a_workspace_has_its_own_jobs_and_a_node_its_share_of_a_gang(lab: Lab) -> None:
    lab.run(lab.vision, at(20, 2), at(20, 4), units=(3, 1), used=6 * HOUR)
    lab.run(lab.speech, at(20, 3), at(20, 4), units=(0, 1), used=HOUR)
    assert lab.days_of(lab.vision)[20].held_seconds == pytest.approx(8 * HOUR)
    assert lab.days_of(lab.speech)[20].held_seconds == pytest.approx(HOUR)
    shares = [busy(read_node_days(lab.cluster, node.id))[20] for node in lab.nodes]
    assert [share.held_seconds / HOUR for share in shares] == pytest.approx([6, 3])
    assert [share.used_seconds / HOUR for share in shares] == pytest.approx([4.5, 2.5])
