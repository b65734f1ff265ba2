"""The command lists what trainings read."""

from tests.builders import a_dataset
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_datasets_are_listed_as_a_submission_names_them(run: Run) -> None:
    assert run("dataset", "list", "-o", "name").stdout.split() == ["digits"]
    assert "Dataset" in run("dataset", "list", "-o", "table").stdout


def test_a_dataset_is_renamed_and_deleted_by_its_name(lab: Lab, run: Run) -> None:
    a_dataset(lab.cluster, lab.workspace, name="mine", created_by=lab.member.id)
    run("dataset", "rename", "vision/mine", "yours")
    run("dataset", "delete", "yours", "--yes")
    assert run("dataset", "list", "-o", "name").stdout.split() == ["digits"]
    run("dataset", "delete", "yours", "--yes", expected=4)
