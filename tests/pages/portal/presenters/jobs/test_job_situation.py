"""The situation of a job in one phrase: why it waits, when it ends, or how it has ended."""

import pytest

from cluster.domain.states import JobState
from cluster.services.jobs import queries
from portal.presenters.jobs.job_situation import divergence_text, situation
from tests.builders import a_job, actor_of
from tests.pages.portal.pages_lab import Lab


@pytest.mark.parametrize(
    ("state", "end_code", "end_data", "phrase"),
    [
        (JobState.WAITING, None, None, "The scheduler looks at it"),
        (JobState.RUNNING, None, None, ""),
        (JobState.FAILED, "exit.command_not_found", {"command": "train.py"}, "not found"),
        (JobState.FINISHED, "exit.finished", {"not_finite": ["loss"]}, "loss"),
    ],
)
def test_the_state_of_a_job_has_a_phrase(
    lab: Lab, state: JobState, end_code: str | None, end_data: dict[str, object] | None, phrase: str
) -> None:
    job = a_job(lab.cluster, lab.lenet, state=state, end_code=end_code, end_data=end_data)
    lines = queries.list_jobs(lab.cluster, actor_of(lab.administrator))
    (line,) = [line for line in lines if line.id == job.id]
    with lab.app.test_request_context("/jobs", headers={"Cookie": "gc_language=en"}):
        said = situation(line, None)
        assert bool(divergence_text(line)) == (state is JobState.FINISHED)
    assert (phrase in said) if phrase else said == "", said
