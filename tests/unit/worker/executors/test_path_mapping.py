"""Under which paths a program finds this machine's files: by what its executor can do."""

from pathlib import Path

import pytest

from cluster.domain.executors import ExecutorKind
from worker.executors.path_mapping import path_mapping_of

RUNTIME, DATA, ATTEMPT = Path("/state/runtime/1"), Path("/data/digits"), Path("/storage/jobs/7/1")


@pytest.mark.parametrize(
    ("kind", "runtime", "data", "attempt", "mounted"),
    [
        (ExecutorKind.PROCESS, str(RUNTIME), str(DATA), str(ATTEMPT), set()),
        (ExecutorKind.SIMULATED, str(RUNTIME), str(DATA), str(ATTEMPT), set()),
        (
            ExecutorKind.DOCKER,
            "/groundcrew/runtime",
            "/groundcrew/dataset",
            "/groundcrew/attempt",
            {"/groundcrew/runtime", "/groundcrew/dataset", "here"},
        ),
        # What runs inside and its environment come with the pod.
        (
            ExecutorKind.KUBERNETES,
            "/groundcrew/runtime",
            "/groundcrew/dataset",
            "/groundcrew/attempt",
            {"/groundcrew/dataset"},
        ),
    ],
)
def test_each_kind_shows_files_in_its_own_place(
    kind: ExecutorKind, runtime: str, data: str, attempt: str, mounted: set[str], tmp_path: Path
) -> None:
    view = path_mapping_of(kind.capabilities)
    environment = view.map_environment(tmp_path)
    assert str(view.map_runtime(RUNTIME)) == runtime
    assert str(view.map_path(DATA, "dataset")) == data
    assert str(view.map_attempt(ATTEMPT)) == attempt
    here = {str(tmp_path): "here"}
    assert {here.get(str(mount.target), str(mount.target)) for mount in view.mounts} == mounted
    assert (environment == tmp_path) is (kind is not ExecutorKind.KUBERNETES)


def test_a_sandbox_has_to_show_whatever_a_process_was_told_of() -> None:
    view = path_mapping_of(ExecutorKind.PROCESS.capabilities)
    view.map_runtime(RUNTIME)
    view.map_path(DATA, "dataset")
    assert getattr(view, "visible") == [RUNTIME, DATA]  # noqa: B009 - of this mapping alone.


def test_an_environment_that_is_not_there_is_not_mounted(tmp_path: Path) -> None:
    view = path_mapping_of(ExecutorKind.DOCKER.capabilities)
    assert view.map_environment(tmp_path / "missing") == tmp_path / "missing"
    assert view.mounts == []
