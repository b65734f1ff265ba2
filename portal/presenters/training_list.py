"""The rows of a list of trainings."""

from collections.abc import Iterable
from typing import NamedTuple

from cluster.domain.states import TrainingKind, Visibility
from cluster.store.trainings import Training
from portal.i18n.shown_moments import ShownMoment, shown_age


class TrainingRow(NamedTuple):
    """`workspace` is None in the list of one workspace."""

    id: int
    name: str
    description: str
    workspace: tuple[int, str] | None
    kind: TrainingKind
    model: str | None
    code_version: int
    visibility: Visibility
    owner: str
    is_mine: bool
    made: ShownMoment | None


def list_training_rows(
    trainings: Iterable[Training], reader_id: int, names_workspace: bool
) -> list[TrainingRow]:
    return [
        TrainingRow(
            each.id,
            each.name,
            each.description,
            (each.workspace_id, each.workspace.name) if names_workspace else None,
            each.kind,
            each.model,
            each.code_version,
            each.visibility,
            each.owner.name,
            each.owner_id == reader_id,
            shown_age(each.created_at),
        )
        for each in trainings
    ]
