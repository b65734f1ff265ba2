"""Running jobs are listed with their workspace and the person who started them."""

import pytest
from sqlalchemy import text

from cluster.domain.states import JobState
from cluster.services.context import Cluster
from tests.builders import a_job, a_training, a_user, a_workspace
from worker.embedded.commands.running_jobs import RunningJobLine, list_running_job_lines


def test_jobs_that_hold_units_are_listed(light_cluster: Cluster) -> None:
    person = a_user(light_cluster, "minji")
    training = a_training(light_cluster, a_workspace(light_cluster, person, name="vision"))
    jobs = {
        state: a_job(light_cluster, training, person, state=state, name=state.value) for state in JobState
    }
    lines = list_running_job_lines(light_cluster.settings)
    running = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
    assert sorted(lines, key=lambda line: line.id) == [
        RunningJobLine(jobs[state].id, state.value, "vision", "minji")
        for state in sorted(running, key=lambda state: jobs[state].id)
    ]


@pytest.mark.parametrize(("language", "word"), [("C.UTF-8", "workspace"), ("ko_KR.UTF-8", "작업 공간")])
def test_a_line_says_what_runs(monkeypatch: pytest.MonkeyPatch, language: str, word: str) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", language)
    line = RunningJobLine(7, "lenet", "vision", "minji").to_text()
    assert all(each in line for each in ("job-7", "lenet", "vision", "minji"))


def test_a_database_of_another_version_has_no_jobs_that_could_be_named(light_cluster: Cluster) -> None:
    training = a_training(light_cluster, a_workspace(light_cluster))
    a_job(light_cluster, training, state=JobState.RUNNING)
    with light_cluster.store.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert list_running_job_lines(light_cluster.settings) == []
