"""An archive waits for its task under the number of its version, and the version says how that ended."""

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.states import CodeState, OperationState, TrainingKind
from cluster.services import code_imports, trainings
from cluster.services.context import Cluster
from cluster.services.operations import lifecycle, retries
from cluster.services.storage import folders
from cluster.services.storage.staged_code import staged_code
from cluster.store.operations import Operation
from cluster.store.trainings import CodeVersion, Training
from tests.builders import a_code_version, a_training, a_user, a_workspace, actor_of


class Case:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster, person = cluster, a_user(cluster)
        self.actor = actor_of(person)
        self.training: Training = a_training(
            cluster, a_workspace(cluster, person), kind=TrainingKind.ADVANCED
        )
        a_code_version(cluster, self.training, [("train.py", b"1")])
        trainings.upload_code(cluster, self.actor, self.training.id, [("net.zip", b"PK")])

    def version(self) -> CodeVersion:
        with self.cluster.store.read() as session:
            return session.get_one(CodeVersion, (self.training.id, 2))

    def claim(self) -> Operation:
        operation = lifecycle.claim_operation(self.cluster, self.version().operation_id or 0, "a worker")
        assert operation is not None
        return operation

    def finish(self, operation: Operation) -> None:
        with staged_code(self.cluster.settings, self.training.workspace_id, [("a.py", b"2")]) as staged:
            code_imports.finish_import(self.cluster, operation, staged)


@pytest.fixture
def case(cluster: Cluster) -> Case:
    return Case(cluster)


def test_the_end_makes_it_the_version_of_new_jobs(case: Case) -> None:
    operation = case.claim()
    training, version = code_imports.read_import(case.cluster, operation)
    assert (training.id, version.number, version.base) == (case.training.id, 2, 1)
    case.finish(operation)
    assert (case.version().state, case.version().files) == (CodeState.READY, 1)
    found = trainings.read_training(case.cluster, case.actor, case.training.id)
    assert found.code_version == 2
    with pytest.raises(Conflict):
        case.finish(operation)


def test_a_failure_is_said_by_the_version(case: Case) -> None:
    operation = case.claim()
    code_imports.fail_import(case.cluster, operation, "archive.empty", {})
    assert (case.version().state, case.version().error_code) == (CodeState.FAILED, "archive.empty")
    found = trainings.read_training(case.cluster, case.actor, case.training.id)
    assert found.code_version == 1


def test_one_that_nobody_works_on_any_more_is_superseded(case: Case) -> None:
    operation = case.claim()
    with case.cluster.store.write() as session:
        session.get_one(Operation, operation.id).state = OperationState.INTERRUPTED
    made = trainings.upload_code(case.cluster, case.actor, case.training.id, [("b.py", b"3")])
    assert (made.number, case.version().error_code) == (3, "code.superseded")
    with pytest.raises(Conflict) as conflict:
        retries.retry_operation(case.cluster, case.actor, operation.id)
    assert conflict.value.code == "code.superseded"
    folder = folders.code_folder(case.cluster.settings, case.training.workspace_id, case.training.id, 2)
    assert not folder.exists()
