"""The command lists what trainings read."""

from pathlib import Path

from cluster.services.storage import folders
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


def test_the_files_of_a_dataset_are_listed_and_fetched(lab: Lab, run: Run, tmp_path: Path) -> None:
    folder = folders.dataset_folder(lab.cluster.settings, lab.dataset)
    (folder / "zero").mkdir(parents=True)
    (folder / "zero" / "0001.png").write_bytes(b"\0" * 600)
    assert run("dataset", "files", "digits", "-o", "name").stdout.split() == ["zero"]
    assert run("dataset", "files", "vision/digits", "zero", "-o", "name").stdout.split() == ["0001.png"]
    into = ("-d", str(tmp_path / "here"))
    assert run("dataset", "pull", "digits", *into).stdout.startswith("1 files with 600 B fetched")
    assert (tmp_path / "here/zero/0001.png").stat().st_size == 600
    assert "1 were here already" in run("dataset", "pull", "digits", "zero", *into).stdout
    run("dataset", "files", "digits", "nothing", expected=4)
