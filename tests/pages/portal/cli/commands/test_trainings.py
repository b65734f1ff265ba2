"""The command lists, makes, edits and deletes what jobs are made from."""

from pathlib import Path

from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_trainings_are_listed_as_a_submission_names_them(run: Run) -> None:
    assert run("training", "list", "-o", "name").stdout.split() == ["vision/digits-lenet"]
    assert "lenet" in run("training", "list", "-o", "table").stdout


def test_a_training_is_made_edited_archived_and_deleted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text("print(1)\n")
    assert (
        run("training", "create", "vision/mine", "--code", str(tmp_path / "code")).stdout == "vision/mine\n"
    )
    run("training", "create", "vision/built-in", "--model", "mlp")
    run("training", "create", "vision/none", expected=2)
    run("training", "create", "nowhere/none", "--model", "mlp", expected=4)
    run("training", "edit", "mine", "--name", "yours", "--visibility", "private")
    run("training", "edit", "yours", expected=2)
    run("training", "archive", "yours")
    assert "vision/yours" not in run("training", "list", "-o", "name").stdout
    run("training", "unarchive", "yours")
    said = run("training", "delete", "yours", "--yes").stdout
    assert "1 versions of code with 9 B" in said and "yours is deleted." in said
    run("training", "delete", "yours", "--yes", expected=4)


def test_the_objective_comes_with_the_command(lab: Lab, run: Run) -> None:
    run("training", "create", "vision/spoken", "--model", "mlp", "--objective", "wer", "--lower-is-better")

    def objective() -> object:
        return lab.client.get("/api/v1/trainings?name=spoken", headers=lab.headers()).json["items"][0][
            "objective"
        ]

    assert objective() == {"metric": "wer", "lower_is_better": True}
    run("training", "edit", "spoken", "--objective", "bleu")
    assert objective() == {"metric": "bleu", "lower_is_better": False}
    run("training", "edit", "spoken", "--description", "of speech")
    assert objective() is not None
    run("training", "edit", "spoken", "--objective", "")
    assert objective() is None
    run("training", "edit", "spoken", "--lower-is-better", expected=2)
