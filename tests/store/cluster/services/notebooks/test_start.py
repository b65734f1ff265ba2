"""A notebook is submitted like every job, once for each person and training."""

from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.states import JobKind, JobState, TrainingKind
from cluster.services.notebooks.editor_environment import ensure_editor
from cluster.services.notebooks.start import start_notebook
from cluster.services.people.users import service_actor
from cluster.store.jobs import Job
from cluster.store.trainings import WorkingCopy
from tests.builders import a_job, a_training, a_user, actor_of
from tests.notebook_lab import NotebookLab


def test_it_waits_in_the_queue_on_one_unit_with_the_newest_code(lab: NotebookLab) -> None:
    job = lab.job(lab.start())
    assert (job.kind, job.state, job.units, job.code_version) == (JobKind.NOTEBOOK, JobState.WAITING, 1, 1)
    assert lab.row(job).token and lab.row(job).ready_attempt is None
    with lab.cluster.store.read() as session:
        copy = session.get_one(WorkingCopy, (lab.training.id, lab.owner.id))
    assert copy.code_version == 1


def test_a_second_click_leads_to_the_same_one_and_another_person_gets_another(lab: NotebookLab) -> None:
    first = lab.start()
    assert lab.start().id == first.id
    theirs = lab.start(lab.member)
    assert theirs.id != first.id and lab.row(theirs).token != lab.row(first).token


def test_after_its_end_a_new_one_goes_on_with_the_same_files(lab: NotebookLab) -> None:
    first = lab.start()
    with lab.cluster.store.write() as session:
        session.get_one(Job, first.id).state = JobState.STOPPED
    assert lab.start().id != first.id


def test_the_database_forbids_a_second_living_one(lab: NotebookLab) -> None:
    lab.start()
    with pytest.raises(IntegrityError):
        a_job(lab.cluster, lab.training, lab.owner, kind=JobKind.NOTEBOOK)


def test_who_does_not_see_the_training_starts_nothing(lab: NotebookLab) -> None:
    with pytest.raises((NotFound, Forbidden)):
        lab.start(a_user(lab.cluster))


def test_a_built_in_model_has_no_files_to_edit(lab: NotebookLab) -> None:
    lenet = a_training(lab.cluster, lab.workspace, lab.owner, kind=TrainingKind.BUILT_IN)
    with pytest.raises(Refused) as refused:
        start_notebook(lab.cluster, actor_of(lab.owner), lenet.id)
    assert refused.value.code == "notebook.of_built_in"


def test_without_jupyterlab_it_says_so(lab: NotebookLab) -> None:
    ensure_editor(lab.cluster, service_actor(lab.cluster), Path("/other"), is_built=False)
    with pytest.raises(Refused) as refused:
        lab.start()
    assert (refused.value.field, refused.value.code) == ("notebook", "notebook.no_editor")


def test_a_training_for_notebooks_begins_without_code(lab: NotebookLab) -> None:
    empty = a_training(lab.cluster, lab.workspace, lab.owner, kind=TrainingKind.NOTEBOOK, code_version=0)
    assert start_notebook(lab.cluster, actor_of(lab.owner), empty.id).code_version == 0
