"""One build of a cache at a time; a disk that fills up meanwhile is named as one that was full before."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from worker.environments.build_lock import LOCK, disk_full_as_no_space, hold_build_lock
from worker.environments.build_steps import BuildStep
from worker.environments.errors import NoSpaceForBuild


class GivenUp(Exception):
    """What a report may raise."""


def test_a_build_waits_for_another_and_says_so(tmp_path: Path) -> None:
    reports: list[tuple[str, float, str]] = []

    def report(*told: object) -> None:
        reports.append(told)  # type: ignore[arg-type]
        raise GivenUp

    with (
        hold_build_lock(tmp_path, lambda *_: pytest.fail("nobody else builds")),
        pytest.raises(GivenUp),
        hold_build_lock(tmp_path, report),
    ):
        pytest.fail("two builds at once")
    assert reports == [(BuildStep.WAIT, 0.0, "")]


def test_the_mark_names_the_very_file_and_the_lock_goes_with_the_block(tmp_path: Path) -> None:
    with hold_build_lock(tmp_path, lambda *_: None) as mark:
        status = (tmp_path / LOCK).stat()
        assert mark == f"{tmp_path / LOCK}:{status.st_dev}:{status.st_ino}"
    with (tmp_path / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_became_full_is_named_with_its_free_bytes(tmp_path: Path, number: int) -> None:
    with pytest.raises(NoSpaceForBuild) as failed, disk_full_as_no_space(tmp_path, tmp_path / "log"):
        raise OSError(number, os.strerror(number))
    assert failed.value.data["path"] == str(tmp_path) and failed.value.data["needed"] is None
    assert failed.value.data["free"] > 0 and failed.value.data["log"] == str(tmp_path / "log")


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), disk_full_as_no_space(tmp_path, tmp_path / "log"):
        raise PermissionError
    before = NoSpaceForBuild("environment.no_space", needed=2, free=1, path="/", log="")
    with pytest.raises(NoSpaceForBuild) as failed, disk_full_as_no_space(tmp_path, tmp_path / "log"):
        raise before
    assert failed.value is before


def test_a_command_that_found_the_disk_full_is_told_what_is_free(tmp_path: Path) -> None:
    with pytest.raises(NoSpaceForBuild) as failed, disk_full_as_no_space(tmp_path, tmp_path / "log"):
        raise NoSpaceForBuild("environment.no_space", line="No space left on device", log="")
    assert failed.value.data["free"] > 0
