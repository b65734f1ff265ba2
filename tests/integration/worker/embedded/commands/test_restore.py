"""A fresh machine, a backup and `make restore`: people sign in again, nothing starts, the access log is whole."""

import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.states import JobState
from cluster.services.alerts.scheduler_stats import SCHEDULER_STATS_FACT
from cluster.services.audit.seals import check_audit, read_newest_seal, seal_entries
from cluster.services.context import Cluster
from cluster.services.people import credentials, sessions
from cluster.settings import Settings
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job
from cluster.store.users import User
from tests.builders import a_job, a_node, a_training, a_workspace, an_administrator, holding
from tests.conftest import Clock
from tests.installation import Installation, an_installation
from worker.backups.audit_anchors import anchors_in_backups
from worker.backups.dump import make_backup
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file

PASSWORD = "a long enough password"


@pytest.fixture
def backup(light_cluster: Cluster, clock: Clock) -> Path:
    """Of a machine that is gone: somebody was signed in, one job ran there and one waited."""
    lost = light_cluster
    (lost.settings.state_dir / "database").mkdir()
    person = an_administrator(lost, "hjkim")
    with lost.store.write() as session:
        session.get_one(User, person.id).password_hash = credentials.hash_password(PASSWORD)
    training = a_training(lost, a_workspace(lost, person, units=2))
    job = a_job(lost, training, state=JobState.RUNNING, fence=1, name="running")
    holding(lost, job, a_node(lost, name="gone").units[:1])
    a_job(lost, training, name="waiting")
    sessions.sign_in(lost, "hjkim", PASSWORD, "192.0.2.7", "a browser")
    lost.clock.move(minutes=2)  # type: ignore[attr-defined]
    seal_entries(lost)
    return lost.settings.backups / str(
        make_backup(lost.settings, lost.clock(), read_newest_seal(lost))["name"]
    )


def opened(installation: Installation) -> Cluster:
    return open_cluster(Settings.from_environment(read_settings_file(installation.places.settings_file)))


def wait_for_a_look(cluster: Cluster) -> None:
    """Until the scheduler has written down how long its looks take: it has had many by then."""
    deadline = time.monotonic() + 120
    while True:
        with cluster.store.read() as session:
            if session.get(InstallationFact, SCHEDULER_STATS_FACT) is not None:
                return
        assert time.monotonic() < deadline, "the scheduler does not look"
        time.sleep(0.5)


@pytest.mark.long
def test_a_fresh_machine_lives_on_from_a_backup(backup: Path) -> None:
    with an_installation() as fresh:
        done = fresh.make("restore", str(backup))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "count as lost: 1" in done.stdout and "Start it with: make up" in done.stdout
        fresh.up()
        assert fresh.health() == "ok"
        refused = fresh.make("restore", str(backup))
        assert (refused.returncode, refused.stderr.strip()) == (
            1,
            "Groundcrew is still running. First: make down",
        )
        cluster = opened(fresh)
        with closing(cluster.store):
            wait_for_a_look(cluster)
            assert sessions.sign_in(cluster, "hjkim", PASSWORD, "192.0.2.8", "a browser")
            with cluster.store.read() as session:
                jobs = {job.name: job for job in session.scalars(select(Job))}
                assert (jobs["running"].state, jobs["running"].end_code) == (JobState.FAILED, "exit.restored")
                assert jobs["waiting"].state is JobState.WAITING and jobs["waiting"].held_at is not None
                assert [each.number for each in session.scalars(select(Attempt))] == [1]
            assert check_audit(cluster, anchors_in_backups(cluster.settings)).violation is None
        assert fresh.make("down", "--yes").returncode == 0
