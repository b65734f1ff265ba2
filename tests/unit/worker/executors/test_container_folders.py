"""Executors whose shims run as the job's user: no foreign number, and nothing of root's through a link of the job's."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from cluster.domain.jobs.unix_ids import JobUnixIds
from cluster.files.safe_files import UnsafeFile
from tests.start_plans import change_plan
from tests.unit.worker.kubernetes.fake_api import USER
from worker.adapters.docker_engine import DockerEngine
from worker.executors import container_folders
from worker.executors.contract import Executor, NotStarted, StartPlan
from worker.executors.docker import DockerExecutor
from worker.executors.kubernetes import KubernetesExecutor

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be led astray")
NO_ENGINE = cast(DockerEngine, None)
"""Nobody is asked before the numbers were looked at."""


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
@pytest.mark.parametrize("who", [{"uid": 0}, {"gid": 0}, {"uid": 999}, {"uid": 2**31}, {"gid": 42}])
def test_a_foreign_number_is_refused_before_anything_is_made(
    plan: StartPlan, executor: KubernetesExecutor, storage: Path, kind: str, who: dict[str, int]
) -> None:
    asked: Executor = (
        executor
        if kind == "kubernetes"
        else DockerExecutor(NO_ENGINE, storage, job_ids=JobUnixIds(USER[0] - 1, USER[1] - 1))
    )
    with pytest.raises(NotStarted, match="number_outside"):
        asked.start(change_plan(plan, nodes=plan.placement.nodes[:1], **who))
    assert not plan.folder.exists()


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    folder.mkdir(mode=0o700)
    (folder / "secret").write_text("the master's own")
    return folder


def code_of(folder: Path) -> Path:
    code = folder / "workspaces" / "1" / "code" / "3" / "1"
    code.mkdir(parents=True)
    (code / "train.py").write_text("pass")
    return code


@only_root
@pytest.mark.parametrize("part", ["out", "control"])
def test_what_stands_for_a_jobs_folder_is_never_given_away(plan: StartPlan, victim: Path, part: str) -> None:
    plan.folder.mkdir(parents=True)
    (plan.folder / part).symlink_to(victim)
    before = victim.stat()
    try:
        container_folders.prepare_folders(plan, USER)
    except UnsafeFile:
        assert part == "out"
    after = victim.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert [path.name for path in victim.iterdir()] == ["secret"]


@only_root
@pytest.mark.parametrize(
    "put",
    [
        lambda out, victim: (out / "work").symlink_to(victim),
        lambda out, victim: (out / "work").mkdir(),
        lambda out, victim: (out / "work").symlink_to(victim / "not there"),
    ],
)
def test_code_for_several_pods_is_not_copied_to_where_the_job_says(
    plan: StartPlan, victim: Path, tmp_path: Path, put: Callable[[Path, Path], object]
) -> None:
    container_folders.prepare_folders(plan, USER)
    put(plan.out, victim)
    container_folders.ensure_code_copy(plan, code_of(tmp_path), USER)
    assert [path.name for path in victim.iterdir()] == ["secret"]
    assert victim.stat().st_uid == 0
    assert not [path for path in plan.folder.iterdir() if path.suffix == ".tmp"]


@only_root
@pytest.mark.parametrize("part", ["code", "code/3", "code/3/1"])
def test_code_that_a_service_has_made_a_link_is_not_read(
    plan: StartPlan, victim: Path, tmp_path: Path, part: str
) -> None:
    """Root reads everything: a job would be given what only root may see."""
    code = code_of(tmp_path)
    place = tmp_path / "workspaces" / "1" / part
    place.rename(tmp_path / "aside")
    inside = victim / Path(*code.parts[len(place.parts) :])
    inside.mkdir(parents=True, exist_ok=True)
    (inside / "secret").write_text("the master's own")
    place.symlink_to(victim)
    container_folders.prepare_folders(plan, USER)
    with pytest.raises(UnsafeFile):
        container_folders.ensure_code_copy(plan, code, USER)
    assert not (plan.out / "work").exists()


def test_the_plan_of_a_container_says_what_its_shim_cannot_change(plan: StartPlan) -> None:
    container_folders.prepare_folders(plan, USER, {"address": "gc-7-1"})
    written = json.loads((plan.folder / "control" / "plan.json").read_text())
    assert (written["uid"], written["gid"], written["out_is_ready"]) == (None, None, True)
    assert (written["container"], written["address"]) == (plan.container.image, "gc-7-1")
    assert (plan.folder / "control").stat().st_uid == USER[0]
    assert sorted(path.name for path in plan.folder.iterdir()) == ["control", "out"]
