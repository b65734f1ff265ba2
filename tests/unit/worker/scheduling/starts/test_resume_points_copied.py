"""The checkpoint of another job is copied by descriptors: no link, no second name, nobody else's file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.domain.jobs.resume_points import ResumePoint
from worker.executors.contract import NotStarted, PlacementPlan, ProgramPlan, StartPlan
from worker.scheduling.starts.resume_points import COPIED, copy_checkpoint

POINT = ResumePoint(2, "epoch-0003.weights.h5", 3, 30, job=7)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    folder = tmp_path / "workspaces/1/jobs/7/2/out/checkpoints"
    folder.mkdir(parents=True)
    (folder / POINT.file).write_bytes(b"weights")
    (folder / "epoch-0003.json").write_text('{"epoch": 3}')
    (folder / "epoch-0004.weights.h5").write_bytes(b"unfinished")
    return folder


def copy(storage: Path) -> Path:
    jobs = storage / "workspaces/1/jobs"
    plan = StartPlan(9, 1, jobs / "9/1", ProgramPlan(("true",), {}), PlacementPlan())
    copy_checkpoint(storage, jobs / "7/2", plan, POINT)
    return jobs / "9/1" / COPIED


def test_the_file_and_its_note_are_copied(tmp_path: Path, checkpoints: Path) -> None:
    copied = copy(tmp_path)
    assert sorted(path.name for path in copied.iterdir()) == ["epoch-0003.json", POINT.file]
    assert (copied / POINT.file).read_bytes() == b"weights"
    assert (copied / POINT.file).stat().st_ino != (checkpoints / POINT.file).stat().st_ino


def test_a_second_copy_replaces_the_first(tmp_path: Path, checkpoints: Path) -> None:
    copy(tmp_path)
    (checkpoints / POINT.file).write_bytes(b"other")
    assert (copy(tmp_path) / POINT.file).read_bytes() == b"other"


def put_link(file: Path, secret: Path) -> None:
    file.unlink()
    file.symlink_to(secret)


def put_second_name(file: Path, secret: Path) -> None:
    file.unlink()
    os.link(secret, file)


def put_pipe(file: Path, secret: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def put_folder(file: Path, secret: Path) -> None:
    file.unlink()
    file.mkdir()


def put_linked_folder(file: Path, secret: Path) -> None:
    aside = secret.parent / "aside"
    file.parent.rename(aside)
    file.parent.symlink_to(aside)


def put_linked_attempt(file: Path, secret: Path) -> None:
    out, aside = file.parent.parent, secret.parent / "aside"
    out.rename(aside)
    out.symlink_to(aside)


@pytest.mark.parametrize(
    "put", [put_link, put_second_name, put_pipe, put_folder, put_linked_folder, put_linked_attempt]
)
def test_what_leads_elsewhere_is_not_copied(
    tmp_path: Path, checkpoints: Path, put: Callable[[Path, Path], None]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of somebody else")
    put(checkpoints / POINT.file, secret)
    with pytest.raises(NotStarted) as problem:
        copy(tmp_path)
    assert (problem.value.code, problem.value.data["job"]) == ("start.checkpoint_gone", 7)
    copied = tmp_path / "workspaces/1/jobs/9/1" / COPIED
    assert not copied.exists() or not list(copied.iterdir())


def test_a_note_that_is_a_link_is_left_out(tmp_path: Path, checkpoints: Path) -> None:
    note = checkpoints / "epoch-0003.json"
    note.unlink()
    note.symlink_to("/etc/passwd")
    assert [path.name for path in copy(tmp_path).iterdir()] == [POINT.file]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_owner_than_its_folder_is_not_copied(tmp_path: Path, checkpoints: Path) -> None:
    os.chown(checkpoints / POINT.file, 4711, 4711)
    with pytest.raises(NotStarted):
        copy(tmp_path)
