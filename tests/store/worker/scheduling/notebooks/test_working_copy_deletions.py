"""The files of notebooks go with their training, and nothing that they only point at."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.states import JobState
from cluster.services.leases import HeldLease
from cluster.services.training_changes import delete_training
from cluster.store.jobs import Job
from cluster.store.trainings import WorkingCopy
from tests.notebook_lab import NotebookLab
from worker.scheduling import file_deletions
from worker.scheduling.notebooks.working_copy_deletions import WorkingCopyDeletions


@pytest.fixture
def deletions(lab: NotebookLab) -> Iterator[WorkingCopyDeletions]:
    made = WorkingCopyDeletions(lab.cluster)
    yield made
    made.close()


def advance(deletions: WorkingCopyDeletions, held: HeldLease) -> None:
    """Begins, and records what has ended."""
    deletions.advance(held)
    for removal in list(deletions.in_progress.values()):
        removal.exception(timeout=5)
    deletions.advance(held)


def end_and_delete(lab: NotebookLab, job: Job) -> None:
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).state = JobState.STOPPED
    delete_training(lab.cluster, lab.actor(), lab.training.id)


def has_copy(lab: NotebookLab) -> bool:
    with lab.cluster.store.read() as session:
        return session.get(WorkingCopy, (lab.training.id, lab.owner.id)) is not None


def test_the_working_copies_of_a_deleted_training_are_deleted_with_it(
    lab: NotebookLab, held: HeldLease, deletions: WorkingCopyDeletions, tmp_path: Path
) -> None:
    job = lab.start()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("theirs")
    copy = lab.write({"train.py": b"x"})
    (copy / "files" / "link").symlink_to(outside)
    lab.write({"lib/x": b"x"}, lab.member, below="packages")
    advance(deletions, held)
    assert copy.is_dir()
    end_and_delete(lab, job)
    advance(deletions, held)
    assert not copy.parent.exists() and copy.parent.parent.is_dir()
    assert (outside / "kept").read_text() == "theirs"
    assert not has_copy(lab)


def test_a_deletion_that_fails_is_tried_again(
    lab: NotebookLab, held: HeldLease, deletions: WorkingCopyDeletions, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, asked = lab.write({"train.py": b"x"}), list[str]()
    job = lab.start()
    end_and_delete(lab, job)
    remove_tree = file_deletions.remove_tree

    def fail_once(folder: int, name: str) -> None:
        asked.append(name)
        if len(asked) == 1:
            raise OSError("the storage does not answer")
        remove_tree(folder, name)

    monkeypatch.setattr(file_deletions, "remove_tree", fail_once)
    deletions.advance(held)
    for removal in list(deletions.in_progress.values()):
        assert isinstance(removal.exception(timeout=5), OSError)
    assert has_copy(lab)
    advance(deletions, held)
    assert len(asked) == 2 and not copy.parent.exists() and not has_copy(lab)
