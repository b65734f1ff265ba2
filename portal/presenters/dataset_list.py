"""The rows of a list of datasets, and the trainings that can begin with one."""

from collections.abc import Iterable
from typing import NamedTuple

from cluster.domain.states import DatasetKind, DatasetState, WorkspaceState
from cluster.services import trainings
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.i18n.shown_moments import ShownMoment, shown_age
from portal.presenters.workspace_page import state_now
from portal.web.request_context import current_actor, current_cluster

TRAININGS_PROPOSED = 3


class DatasetRow(NamedTuple):
    """One dataset. `workspace` is None in the list of one workspace; `classes` is their number, 0 if it is unknown."""

    id: int
    name: str
    state: DatasetState
    kind: DatasetKind
    path: str | None
    archive: str | None
    workspace: tuple[int, str] | None
    files: int | None
    bytes: int | None
    classes: int
    creator: str
    is_mine: bool
    made: ShownMoment | None


def list_dataset_rows(datasets: Iterable[Dataset], reader_id: int, names_workspace: bool) -> list[DatasetRow]:
    return [
        DatasetRow(
            each.id,
            each.name,
            each.state,
            each.kind,
            each.path,
            each.archive,
            (each.workspace_id, each.workspace.name) if names_workspace else None,
            each.files,
            each.bytes,
            len(each.classes or ()),
            each.creator.name,
            each.created_by == reader_id,
            shown_age(each.created_at),
        )
        for each in datasets
    ]


def trainings_to_begin(dataset: Dataset) -> list[Training] | None:
    """The newest trainings that can read the dataset; None if nothing can begin with it now."""
    if dataset.state is not DatasetState.READY or state_now(dataset.workspace) is not WorkspaceState.ACTIVE:
        return None
    cluster, actor = current_cluster(), current_actor()
    return trainings.list_trainings(cluster, actor, dataset.workspace_id, limit=TRAININGS_PROPOSED)
