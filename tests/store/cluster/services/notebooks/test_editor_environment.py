"""JupyterLab is built once by each version, and a failed build is asked for again."""

from pathlib import Path

from cluster.services.context import Cluster
from cluster.services.notebooks import editor_environment
from cluster.services.operations.lifecycle import claim_operation
from cluster.services.people.users import service_actor
from tests.conftest import RecordingBell

PATH = Path("/cache/editor-1")


def ensure(cluster: Cluster, is_built: bool, path: Path = PATH) -> None:
    editor_environment.ensure_editor(cluster, service_actor(cluster), path, is_built)


def read(cluster: Cluster) -> tuple[Path | None, int | None]:
    with cluster.store.read() as session:
        return editor_environment.load_editor(session), editor_environment.load_editor_build(session)


def test_a_missing_one_is_asked_for_once_and_is_there_after_its_build(
    cluster: Cluster, bell: RecordingBell
) -> None:
    assert read(cluster) == (None, None)
    for _ in range(2):
        ensure(cluster, is_built=False)
    path, operation_id = read(cluster)
    assert path is None and operation_id is not None and len(bell.enqueued) == 1
    operation = claim_operation(cluster, operation_id, "a test")
    assert operation is not None
    editor_environment.finish_editor_build(cluster, operation_id, operation.fence, PATH)
    assert read(cluster) == (PATH, operation_id)


def test_a_failed_build_is_asked_for_again(cluster: Cluster, bell: RecordingBell) -> None:
    ensure(cluster, is_built=False)
    _, operation_id = read(cluster)
    assert operation_id is not None
    operation = claim_operation(cluster, operation_id, "a test")
    assert operation is not None
    editor_environment.fail_editor_build(cluster, operation_id, operation.fence, "environment.no_network", {})
    assert read(cluster) == (None, operation_id)
    ensure(cluster, is_built=False)
    assert read(cluster)[1] != operation_id and len(bell.enqueued) == 2


def test_one_that_is_in_the_cache_needs_no_build(cluster: Cluster, bell: RecordingBell) -> None:
    ensure(cluster, is_built=True)
    assert read(cluster) == (PATH, None) and bell.enqueued == []
