"""The command shows the queue."""

import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result
from sqlalchemy import update
from werkzeug.serving import make_server

from cluster.domain.states import JobState
from cluster.store.jobs import Attempt
from cluster.store.nodes import Unit
from portal.cli import main
from portal.cli.output import local_datetime
from tests.builders import a_job, holding
from tests.pages.portal.rest_lab import Lab

Run = Callable[..., Result]


@pytest.fixture
def run(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    server = make_server("127.0.0.1", 0, lab.client.application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    token = lab.headers()["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GROUNDCREW_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("GROUNDCREW_TOKEN", token)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*arguments: str, expected: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == expected, result.output
        return result

    # The portal's log would land in what the command has written: both share this process.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield invoke
    structlog.reset_defaults()
    server.shutdown()
    thread.join(10)
    server.server_close()


def test_the_queue_is_told_by_state(lab: Lab, run: Run) -> None:
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    runs = a_job(lab.cluster, lab.training, lab.member, 2, JobState.RUNNING)
    attempt = holding(lab.cluster, runs, units)
    ends_at = lab.cluster.clock() + timedelta(minutes=30)
    told = {"progress": 0.5, "expected_end_at": ends_at, "earliest_end_at": ends_at, "latest_end_at": ends_at}
    with lab.cluster.store.write() as session:
        session.execute(update(Attempt).where(Attempt.id == attempt.id).values(**told))
    waits = a_job(lab.cluster, lab.training, lab.member)
    running = run("queue", "--state", "running").stdout
    assert f"job-{runs.id}" in running and "50 %" in running and f"job-{waits.id}" not in running
    waiting = run("queue", "--state", "waiting").stdout
    assert f"job-{waits.id}" in waiting and f"job-{runs.id} ends" in waiting
    assert f"job-{waits.id}" not in run("queue", "--state", "held").stdout


def test_a_queue_that_goes_on_says_what_there_is_more_of(lab: Lab, run: Run) -> None:
    with lab.cluster.store.read() as session:
        units = list(session.query(Unit))
    for unit in units[:2]:
        holding(lab.cluster, a_job(lab.cluster, lab.training, lab.member, 1, JobState.RUNNING), [unit])
        a_job(lab.cluster, lab.training, lab.member)
    for state, said in (("running", "More jobs run"), ("waiting", "More jobs wait")):
        assert said in run("queue", "--state", state, "--limit", "1").stderr


def test_a_moment_of_another_day_says_which() -> None:
    now = datetime.now().astimezone()
    later = (now + timedelta(days=400)).astimezone()
    assert local_datetime(now.isoformat()) == f"{now:%H:%M}"
    assert local_datetime(later.isoformat()) == f"{later:%Y-%m-%d %H:%M}"
    assert local_datetime(None) == ""
