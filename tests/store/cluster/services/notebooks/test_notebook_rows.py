"""Everybody who sees a training sees that its notebooks run; the list shows a person's own."""

import pytest

from cluster.domain.errors import NotFound
from cluster.domain.states import JobState
from cluster.services.notebooks import notebook_rows
from cluster.store.jobs import Job, Notebook
from tests.builders import a_job, a_user
from tests.notebook_lab import NotebookLab


def test_it_is_ready_once_jupyter_has_answered_in_this_attempt(lab: NotebookLab) -> None:
    job = lab.start()
    attempt = lab.run(job)
    for ready, expected in ((None, False), (1, True), (7, False)):
        with lab.cluster.store.write() as session:
            session.get_one(Notebook, job.id).ready_attempt = ready
        state = notebook_rows.read_notebook(lab.cluster, lab.actor(lab.member), job.id)
        assert (state.is_ready, state.is_live) == (expected, True)
    with lab.cluster.store.read() as session:
        ((found, its, _),) = notebook_rows.list_running(session)
        assert (found.id, its.id) == (job.id, attempt)
        assert notebook_rows.list_living_attempts(session) == [(job.id, 1)]
        assert list(notebook_rows.load_tokens(session, [job.id])) == [job.id]


def test_other_jobs_and_other_people_have_none(lab: NotebookLab) -> None:
    plain = a_job(lab.cluster, lab.training, lab.owner)
    mine = lab.start()
    with pytest.raises(NotFound):
        notebook_rows.read_notebook(lab.cluster, lab.actor(), plain.id)
    with pytest.raises(NotFound):
        notebook_rows.read_notebook(lab.cluster, lab.actor(a_user(lab.cluster)), mine.id)


def test_the_list_has_ones_own_that_live(lab: NotebookLab) -> None:
    mine, theirs = lab.start(), lab.start(lab.member)
    own = notebook_rows.list_own_notebooks(lab.cluster, lab.actor())
    assert [state.job.id for state in own] == [mine.id]
    with lab.cluster.store.write() as session:
        session.get_one(Job, theirs.id).state = JobState.STOPPED
        assert notebook_rows.find_live_notebook(session, lab.member.id, lab.training.id) is None
    assert notebook_rows.list_own_notebooks(lab.cluster, lab.actor(lab.member)) == []
