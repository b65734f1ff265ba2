"""A row of a list of datasets names its workspace where the list is of several, and marks what is the reader's."""

from cluster.services import datasets
from portal.presenters.dataset_list import list_dataset_rows
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


def test_rows_name_their_workspace_only_in_the_list_of_all(lab: Lab) -> None:
    rows = datasets.list_datasets(lab.cluster, actor_of(lab.administrator))
    owner = rows[0].created_by
    with lab.app.test_request_context():
        everywhere = list_dataset_rows(rows, owner, names_workspace=True)
        here = list_dataset_rows(rows, -1, names_workspace=False)
    assert {row.workspace for row in everywhere} == {(lab.workspace.id, lab.workspace.name)}
    assert {row.workspace for row in here} == {None}
    assert [row.id for row in here] == [row.id for row in rows]
    assert everywhere[0].is_mine and not any(row.is_mine for row in here)
