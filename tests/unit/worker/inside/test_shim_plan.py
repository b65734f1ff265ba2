"""As root the shim reads a plan that root alone can have written, for a user of the installation."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cluster.files.safe_files import UnsafeFile
from worker.inside import shim_plan
from worker.inside.shim_plan import (
    MIN_UID,
    check_job_ids,
    check_owned_by_root,
    read_start_plan,
    read_trusted_file,
    read_trusted_plan,
)

IS_ROOT = os.geteuid() == 0
IDS = {"uid_base": 100_000, "gid_base": 200_000, "count": 100}


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o755)
    (folder / "job-ids.json").write_text(json.dumps(IDS))
    monkeypatch.setattr(shim_plan, "HERE", str(folder))
    return folder


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs" / "7" / "1"
    (folder / "control").mkdir(parents=True)
    (folder / "control" / "plan.json").write_text(json.dumps({"uid": 100_007, "gid": 200_003}))
    return folder


def test_a_plan_of_ours_is_read(runtime: Path, attempt: Path) -> None:
    assert read_start_plan(str(attempt)) == {"uid": 100_007, "gid": 200_003}
    descriptor = os.open(attempt, os.O_RDONLY)
    assert json.loads(read_trusted_plan(descriptor)) == {"uid": 100_007, "gid": 200_003}
    os.close(descriptor)


@pytest.mark.parametrize("content", ["", "no json"])
def test_a_broken_plan_is_an_error(runtime: Path, attempt: Path, content: str) -> None:
    (attempt / "control" / "plan.json").write_text(content)
    with pytest.raises(ValueError):
        read_start_plan(str(attempt))


def test_no_link_is_followed(runtime: Path, attempt: Path, tmp_path: Path) -> None:
    plan = attempt / "control" / "plan.json"
    plan.rename(tmp_path / "plan.json")
    plan.symlink_to(tmp_path / "plan.json")
    with pytest.raises(OSError):
        read_start_plan(str(attempt))


@pytest.mark.skipif(not IS_ROOT, reason="only root asks whose files they are")
@pytest.mark.parametrize("part", ["", "control", "control/plan.json"])
@pytest.mark.parametrize("change", ["owner", "mode"])
def test_what_another_user_could_have_written_is_refused(
    runtime: Path, attempt: Path, part: str, change: str
) -> None:
    path = attempt / part
    if change == "owner":
        os.chown(path, 1234, 1234)
    else:
        path.chmod(path.stat().st_mode | 0o022)
    with pytest.raises(UnsafeFile):
        read_start_plan(str(attempt))


@pytest.mark.parametrize(("euid", "is_refused"), [(0, True), (1000, False)])
def test_only_root_asks_whose_a_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, euid: int, is_refused: bool
) -> None:
    (tmp_path / "one").write_text("{}")
    (tmp_path / "one").chmod(0o666)
    monkeypatch.setattr(shim_plan.os, "geteuid", lambda: euid)
    folder = os.open(tmp_path, os.O_RDONLY)
    file = os.open(tmp_path / "one", os.O_RDONLY)
    try:
        if is_refused:
            with pytest.raises(UnsafeFile):
                check_owned_by_root(file, "one")
            with pytest.raises(UnsafeFile):
                read_trusted_file(folder, "one")
        else:
            check_owned_by_root(file, "one")
            assert read_trusted_file(folder, "one") == b"{}"
    finally:
        os.close(folder)
        os.close(file)


@pytest.mark.parametrize(
    ("plan", "is_one_of_ours"),
    [
        ({"uid": 100_001, "gid": 200_099}, True),
        ({"uid": 100_000, "gid": 200_001}, False),
        ({"uid": 100_100, "gid": 200_001}, False),
        ({"uid": 100_001, "gid": 200_100}, False),
        ({"uid": 0, "gid": 200_001}, False),
        ({"uid": "100001", "gid": 200_001}, False),
        ({"gid": 200_001}, False),
        ({}, False),
    ],
)
def test_root_becomes_a_user_of_the_installation_and_nobody_else(
    runtime: Path, plan: dict[str, Any], is_one_of_ours: bool
) -> None:
    if is_one_of_ours:
        check_job_ids(plan)
        return
    with pytest.raises(UnsafeFile, match=r"plan\.json"):
        check_job_ids(plan)


def test_services_of_the_machine_are_never_users_of_jobs(runtime: Path) -> None:
    (runtime / "job-ids.json").write_text(json.dumps({"uid_base": 0, "gid_base": 0, "count": 2000}))
    check_job_ids({"uid": MIN_UID, "gid": MIN_UID})
    with pytest.raises(UnsafeFile):
        check_job_ids({"uid": MIN_UID - 1, "gid": MIN_UID})
