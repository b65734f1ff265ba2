"""From which checkpoint a job goes on: the newest complete one of its newest attempt that has any."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from cluster.domain.jobs.resume_points import ResumePoint
from cluster.services.jobs.live_attempts import LiveAttempt
from cluster.services.jobs.resume_points import MOST_ATTEMPTS
from cluster.services.storage import folders
from cluster.settings import Settings
from worker.executors.path_mapping import ContainerPaths, HostPaths
from worker.scheduling.starts.resume_points import (
    find_continue_point,
    find_recorded_resume_point,
    find_resume_point,
    map_checkpoints,
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path, tmp_path / "cache", "", "", "")


def attempt(number: int, resume_from: str | None = None) -> LiveAttempt:
    fields = {"workspace_id": 1, "job_id": 7, "number": number, "resume_from": resume_from}
    return cast(LiveAttempt, SimpleNamespace(**fields))


def continuing(job_id: int | None, key: str | None) -> LiveAttempt:
    fields = {"workspace_id": 1, "job_id": 9, "continues_job_id": job_id, "continues_from": key}
    return cast(LiveAttempt, SimpleNamespace(**fields))


def leave(settings: Settings, number: int, epoch: int, size: int = 7, has_note: bool = True) -> None:
    folder = folders.attempt_folder(settings, 1, 7, number) / "out" / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"epoch-{epoch:04d}.h5"
    file.write_bytes(b"w" * size)
    if has_note:
        note = {"epoch": epoch, "step": 10 * epoch, "file": file.name}
        file.with_suffix(".json").write_text(json.dumps(note))


@pytest.mark.parametrize(
    ("left", "found"),
    [
        ([], None),
        ([(1, 3, 7, True)], "1/epoch-0003.h5"),
        ([(1, 3, 7, True), (1, 12, 7, True)], "1/epoch-0012.h5"),
        ([(1, 12, 7, True), (2, 3, 7, True)], "2/epoch-0003.h5"),  # The newest attempt goes first.
        ([(1, 3, 7, True), (2, 4, 0, True)], "1/epoch-0003.h5"),  # Nothing was written yet.
        ([(1, 3, 7, True), (2, 4, 7, False)], "1/epoch-0003.h5"),  # The note is written last.
    ],
)
def test_the_newest_complete_checkpoint_of_the_newest_attempt_is_found(
    settings: Settings, left: list[tuple[int, int, int, bool]], found: str | None
) -> None:
    for number, epoch, size, has_note in left:
        leave(settings, number, epoch, size, has_note)
    point = find_resume_point(settings, attempt(3), 2)
    assert (point.key if point else None) == found


def test_only_the_last_attempts_are_looked_at(settings: Settings) -> None:
    leave(settings, 1, 3)
    assert find_resume_point(settings, attempt(MOST_ATTEMPTS + 1), MOST_ATTEMPTS) is not None
    assert find_resume_point(settings, attempt(MOST_ATTEMPTS + 2), MOST_ATTEMPTS + 1) is None


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (None, None),
        ("no key", None),
        ("1/epoch-0003.h5", ResumePoint(1, "epoch-0003.h5", 3, 30)),
        ("1/epoch-0009.h5", ResumePoint(2, "epoch-0004.h5", 4, 40)),  # It is gone: the newest that is there.
    ],
)
def test_the_checkpoint_that_the_row_names_goes_first(
    settings: Settings, named: str | None, found: ResumePoint | None
) -> None:
    leave(settings, 1, 3)
    leave(settings, 2, 4)
    assert find_recorded_resume_point(settings, attempt(3, named)) == found


@pytest.mark.parametrize(
    ("job_id", "key", "found"),
    [
        (None, None, None),
        (7, "1/epoch-0003.h5", ResumePoint(1, "epoch-0003.h5", 3, 30, 7)),
        (7, "1/epoch-0009.h5", None),  # Another one is not what the person has chosen.
        (8, "1/epoch-0003.h5", None),
    ],
)
def test_another_job_is_continued_from_the_named_checkpoint_alone(
    settings: Settings, job_id: int | None, key: str | None, found: ResumePoint | None
) -> None:
    leave(settings, 1, 3)
    assert find_continue_point(settings, continuing(job_id, key)) == found


def test_the_program_finds_a_copy_of_another_job_s_checkpoint_beside_its_own_folder() -> None:
    point = ResumePoint(1, "epoch-0003.h5", 3, 30, job=7)
    assert map_checkpoints(Path("/storage/jobs/9/1"), point, HostPaths()) == "/storage/jobs/9/1/former"


def test_the_program_finds_the_former_attempt_s_folder_and_no_link_in_it() -> None:
    point, container = ResumePoint(1, "epoch-0003.h5", 3, 30), ContainerPaths()
    folder = Path("/storage/jobs/7/2")
    assert map_checkpoints(folder, point, HostPaths()) == "/storage/jobs/7/1/out/checkpoints"
    assert map_checkpoints(folder, point, container) == "/groundcrew/former/checkpoints"
    assert [mount.source for mount in container.mounts] == [Path("/storage/jobs/7/1/out")]
