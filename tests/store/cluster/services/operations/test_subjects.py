"""What an operation is about goes back to its beginning when the operation is requested again."""

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.states import DatasetState, OperationKind
from cluster.services.context import Cluster
from cluster.services.operations.subjects import restart_subject
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from tests.builders import a_dataset, a_workspace


def an_operation(kind: OperationKind, subject_id: int) -> Operation:
    return Operation(kind=kind, subject_id=subject_id)


def test_a_failed_dataset_is_prepared_again(cluster: Cluster) -> None:
    dataset = a_dataset(cluster, a_workspace(cluster), state=DatasetState.FAILED, error_code="archive.empty")
    with cluster.store.write() as session:
        restart_subject(session, an_operation(OperationKind.DATASET_IMPORT, dataset.id))
        again = session.get_one(Dataset, dataset.id)
        assert (again.state, again.error_code) == (DatasetState.PREPARING, None)


def test_a_failed_dataset_whose_name_another_one_has_is_not_tried_again(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    failed = a_dataset(cluster, workspace, "cells", state=DatasetState.FAILED)
    a_dataset(cluster, workspace, "cells")
    with pytest.raises(Conflict, match="dataset.name_in_use"), cluster.store.write() as session:
        restart_subject(session, an_operation(OperationKind.DATASET_IMPORT, failed.id))


def test_a_repair_is_not_tried_again_by_its_operation(cluster: Cluster) -> None:
    with pytest.raises(Conflict, match="repair.ask_again"), cluster.store.write() as session:
        restart_subject(session, an_operation(OperationKind.REPAIR, 1))
