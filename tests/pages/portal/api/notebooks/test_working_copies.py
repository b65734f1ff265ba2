"""The files of a notebook become a version over REST."""

from cluster.domain.states import TrainingKind
from portal.api.notebooks import working_copies
from tests.builders import a_training
from tests.pages.portal.rest_lab import Lab


def test_without_files_it_says_what_to_do(lab: Lab) -> None:
    own = a_training(lab.cluster, lab.workspace, lab.member, kind=TrainingKind.ADVANCED)
    address = f"/api/v1/trainings/{own.id}/working-copy/save"
    answer = lab.client.post(address, json={}, headers=lab.headers())
    assert answer.status_code == 422 and answer.json["errors"][0]["code"] == "notebook.no_files"
    wrong = lab.client.post(address, json={"overwrite": "perhaps"}, headers=lab.headers())
    assert wrong.status_code == 422 and wrong.json["errors"][0]["pointer"] == "/overwrite"
    assert set(working_copies.SaveBody().fields) == {"overwrite"}
