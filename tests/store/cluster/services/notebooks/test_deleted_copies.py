"""The working copies of deleted trainings are listed until their files are gone."""

from dataclasses import replace

import pytest

from cluster.domain.states import JobState
from cluster.services.leases import HeldLease, LeaseLost
from cluster.services.notebooks.deleted_copies import (
    UnwantedCopies,
    list_unwanted_copies,
    record_copies_deleted,
)
from cluster.services.training_changes import delete_training
from cluster.store.jobs import Job
from tests.notebook_lab import NotebookLab


def delete(lab: NotebookLab) -> None:
    job = lab.start()
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).state = JobState.STOPPED
    delete_training(lab.cluster, lab.actor(), lab.training.id)


def test_they_are_listed_until_their_files_are_gone(lab: NotebookLab, held: HeldLease) -> None:
    assert list_unwanted_copies(lab.cluster, 10) == []
    delete(lab)
    assert list_unwanted_copies(lab.cluster, 10) == [UnwantedCopies(lab.training.id, lab.workspace.id)]
    assert list_unwanted_copies(lab.cluster, 0) == []
    record_copies_deleted(lab.cluster, held, lab.training.id)
    assert list_unwanted_copies(lab.cluster, 10) == []


def test_who_lost_the_lease_records_nothing(lab: NotebookLab, held: HeldLease) -> None:
    delete(lab)
    with pytest.raises(LeaseLost):
        record_copies_deleted(lab.cluster, replace(held, fence=held.fence - 1), lab.training.id)
    assert list_unwanted_copies(lab.cluster, 10) != []
