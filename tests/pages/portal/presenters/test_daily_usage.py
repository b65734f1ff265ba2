"""The bars of the last days: their heights, what each says in both languages, and the pages that have them."""

from datetime import date, timedelta

import pytest
from flask import g
from sqlalchemy import select

from cluster.domain.states import AttemptState, JobState
from cluster.services.nodes.daily_usage import DailyUsage
from cluster.store.jobs import Attempt
from cluster.store.nodes import Allocation, Unit
from cluster.store.trainings import Training
from portal.presenters.daily_usage import draw_daily_usage
from tests.builders import a_job, add
from tests.pages.portal.filled_portal import House
from tests.pages.portal.pages_lab import Lab

QUIET = DailyUsage(date(2026, 11, 18), 0, 0)


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "11-19: 48.0 h booked, 12.0 h used"), ("ko", "11-19: 예약 48.0시간, 실제 사용 12.0시간")],
)
def test_each_bar_is_as_high_as_its_hours_and_says_them(lab: Lab, language: str, words: str) -> None:
    days = [
        QUIET,
        DailyUsage(date(2026, 11, 19), 48 * 3600, 12 * 3600),
        DailyUsage(date(2026, 11, 20), 60, 0),
    ]
    with lab.app.test_request_context(headers={"Accept-Language": language}):
        chart = draw_daily_usage(days)
    assert chart is not None
    assert [(bar.day, bar.held, bar.used) for bar in chart.bars] == [
        ("18", 0, 0),
        ("19", 100, 25),
        ("20", 1, 0),
    ]
    assert chart.bars[1].words == words
    assert (chart.held_hours, chart.used_hours, chart.other_zone) == ("48.0", "12.0", "")


@pytest.mark.parametrize(
    ("zone", "told"),
    [("Europe/Berlin", "Asia/Seoul"), ("Asia/Seoul", ""), ("ROK", ""), ("Asia/Tokyo", "")],
)
def test_a_reader_whose_clock_is_another_is_told_whose_days_they_are(lab: Lab, zone: str, told: str) -> None:
    """The installation is in Seoul, a zone that has two names, and whose clocks are those of Tokyo."""
    with lab.app.test_request_context():
        g.time_zone = zone
        chart = draw_daily_usage([DailyUsage(date(2026, 11, 19), 60, 0)])
    assert chart is not None and chart.other_zone == told


@pytest.mark.parametrize(
    ("seconds", "hours"),
    [(0, "0"), (5, "< 0.01"), (30, "0.01"), (5400, "1.50"), (36_000, "10.0"), (4_500_000, "1,250.0")],
)
def test_a_few_seconds_are_not_said_to_be_no_hours(lab: Lab, seconds: float, hours: str) -> None:
    with lab.app.test_request_context():
        chart = draw_daily_usage([DailyUsage(date(2026, 11, 19), 36_000_000, seconds)])
    assert chart is not None and chart.used_hours == hours


def test_days_on_which_nothing_was_held_have_no_graph(lab: Lab) -> None:
    with lab.app.test_request_context():
        assert draw_daily_usage([QUIET] * 14) is None


@pytest.mark.parametrize(
    ("language", "title"),
    [("en", "CPU slot hours of the last 14 days"), ("ko", "지난 14일의 CPU 슬롯 시간")],
)
def test_the_pages_of_a_workspace_and_of_a_node_have_the_days_of_their_units(
    house: House, language: str, title: str
) -> None:
    member, headers = house.visitor("member"), {"Accept-Language": language}
    with house.cluster.store.read() as session:
        training = session.get_one(Training, house.ids["training_id"])
        unit = session.scalars(select(Unit).order_by(Unit.id)).first()
    assert unit is not None
    ran = timedelta(hours=6)
    ended_at = house.cluster.clock() - timedelta(days=3)
    job = a_job(house.cluster, training, None, 1, JobState.FINISHED, submitted_at=ended_at, ended_at=ended_at)
    add(
        house.cluster,
        Attempt(
            job_id=job.id, number=1, state=AttemptState.ENDED, node_id=unit.node_id, created_at=ended_at - ran,
            ended_at=ended_at, unit_seconds_used=3600.0,
            allocations=[Allocation(unit_id=unit.id, begun_at=ended_at - ran, ended_at=ended_at)],
        ),
    )  # fmt: skip
    for path in (f"/workspaces/{training.workspace_id}", f"/nodes/{unit.node_id}"):
        page = member.get(path, headers=headers).text
        assert title in page
        assert page.count('class="day-bar"') == 14
