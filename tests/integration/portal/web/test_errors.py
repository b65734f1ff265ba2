"""The database's disk is really full: pages are still read, refusals name the disk, and the ballast makes room."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from structlog.testing import capture_logs

from cluster.domain.states import JobState
from cluster.event_bus import RedisEventBus, connect_redis
from cluster.services.context import Cluster
from cluster.services.people import sessions
from cluster.services.storage import ballast, disk_space
from cluster.store.engine import Store
from cluster.store.jobs import Job
from portal import create_app
from tests.builders import a_job, a_training, a_user, a_workspace
from tests.conftest import Clock
from tests.integration.conftest import settings_on
from tests.machine.small_disk import MIB, fill, small_disk


@dataclass
class FullHouse:
    state: Path
    cluster: Cluster
    browser: FlaskClient
    job: Job
    clock: Clock

    def state_of_job(self) -> JobState:
        with self.cluster.store.read() as session:
            return session.get_one(Job, self.job.id).state


@pytest.fixture(params=[True, False], ids=["stays open", "opened each time"])
def house(request: pytest.FixtureRequest, migrated_file: Path) -> Iterator[FullHouse]:
    """A member with a job that waits, on a disk of 24 MiB; nobody listens behind the bell."""
    with ExitStack() as stack:
        state = stack.enter_context(small_disk(24))
        settings = settings_on(state, migrated_file, f"unix://{state}/nobody.sock")
        settings = replace(settings, disk_reserve_bytes=8 * MIB)
        clock = Clock()
        cluster = Cluster(
            Store(settings.database_url), RedisEventBus(connect_redis(settings.redis_url)), settings, clock
        )
        stack.callback(cluster.store.close)
        if request.param:
            cluster.store.hold_open()
        member = a_user(cluster, "minjun")
        job = a_job(cluster, a_training(cluster, a_workspace(cluster, member)), member)
        ballast.ensure_ballast(settings, disk_space.read_monitored_disks(settings))
        assert (state / ballast.BALLAST).stat().st_blocks * 512 == MIB
        browser = create_app(cluster, testing=True).test_client()
        token = sessions.begin_session(cluster, member.id, "192.0.2.1", "a test")
        browser.set_cookie(f"gc_session_{settings.port}", token)
        browser.set_cookie("gc_language", "en")
        yield FullHouse(state, cluster, browser, job, clock)


@pytest.mark.parametrize("house", [True], indirect=True)
def test_a_page_is_read_although_its_visit_cannot_be_noted(house: FullHouse) -> None:
    house.clock.move(minutes=5)
    fill(house.state / "filler")
    page = house.browser.get(f"/jobs/{house.job.id}")
    assert page.status_code == 200 and f"job-{house.job.id}" in page.text


def test_a_refusal_names_the_disk_and_the_next_try_succeeds(house: FullHouse) -> None:
    fill(house.state / "filler")
    stop = f"/jobs/{house.job.id}/stop"
    with capture_logs() as lines:
        refused = [house.browser.post(stop) for _ in range(1)]
    assert [answer.status_code for answer in refused] == [503]
    assert str(house.state) in refused[0].text and "is full" in refused[0].text
    assert "Part of the installation" not in refused[0].text
    errors = [line for line in lines if line["log_level"] == "error"]
    assert [line["event"] for line in errors] == ["the disk is full"]
    assert errors[0]["mount"] == str(house.state) and errors[0]["route"] == "/jobs/<int:job_id>/stop"
    # The ballast has been given to the database.
    assert not (house.state / ballast.BALLAST).exists()
    assert house.browser.post(stop).status_code == 303
    assert house.state_of_job() is JobState.STOPPED


def test_without_any_room_left_it_still_says_why_and_how_to_go_on(house: FullHouse) -> None:
    ballast.release_ballast(house.cluster.settings)
    fill(house.state / "filler")
    for _ in range(2):
        answer = house.browser.post(f"/jobs/{house.job.id}/stop", headers={"HX-Request": "true"})
        assert answer.status_code == 503
        assert str(house.state) in answer.text
        assert answer.headers["Retry-After"] == "5"
    (house.state / "filler").unlink()
    assert house.browser.post(f"/jobs/{house.job.id}/stop").status_code == 303
