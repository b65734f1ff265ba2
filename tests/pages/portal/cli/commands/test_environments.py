"""The command lists, adds, shows and deletes environments, and submits jobs in them."""

from pathlib import Path

from cluster.domain.states import TrainingKind
from cluster.store.workspaces import Workspace
from tests.builders import a_training, an_environment
from tests.pages.portal.api.notebooks.test_working_copies import write_packages
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab

CONTENTS = [["python", "3.11.2", ""], ["tensorflow-cpu", "2.18", ""], ["horovod", "0.28.1", ""]]


def test_they_are_listed_and_shown_with_what_is_in_them(lab: Lab, run: Run) -> None:
    an_environment(lab.cluster, "tf-2.18", [lab.workspace], CONTENTS)
    assert run("environment", "list", "-o", "name").stdout.split() == ["default", "tf-2.18"]
    shown = run("environment", "show", "tf-2.18", "-o", "table").stdout
    assert "tensorflow-cpu 2.18" in shown and "vision" in shown
    assert run("environment", "show", "default", "-o", "name").stdout == "default\n"
    run("environment", "show", "none", expected=4)


def test_a_job_and_a_training_choose_one_by_its_name(lab: Lab, run: Run) -> None:
    made = an_environment(lab.cluster, "tf-2.18", contents=CONTENTS)
    run("job", "submit", "-t", "digits-lenet", "-d", "digits", "--environment", "tf-2.18")
    run("training", "edit", "digits-lenet", "--environment", "tf-2.18")
    run("job", "submit", "-t", "digits-lenet", "-d", "digits", "-e", "default")
    jobs = lab.client.get("/api/v1/jobs", headers=lab.headers()).json["items"]
    assert [job["environment_id"] for job in jobs] == [None, made.id]
    run("job", "submit", "-t", "digits-lenet", "-d", "digits", "-e", "none", expected=4)


def test_a_member_may_add_and_delete_none(lab: Lab, run: Run, tmp_path: Path) -> None:
    an_environment(lab.cluster, "tf-2.18", [lab.workspace])
    file = tmp_path / "requirements.txt"
    file.write_text("numpy\n")
    assert (
        "may add an environment"
        in run("environment", "add", "mine", str(file), "-w", "vision", expected=3).stderr
    )
    run("environment", "delete", "tf-2.18", "--yes", expected=3)
    assert run("environment", "list", "-o", "name").stdout.split() == ["default", "tf-2.18"]


def test_packages_of_a_notebook_are_asked_for_and_wait(lab: Lab, run: Run) -> None:
    own = a_training(lab.cluster, lab.workspace, lab.member, name="own", kind=TrainingKind.ADVANCED)
    write_packages(lab, own)
    assert "waits for the approval" in run("notebook", "environment", "vision/own", "kept").stdout
    assert "may approve or decline" in run("environment", "approve", "kept", expected=3).stderr
    run("environment", "decline", "kept", expected=3)
    with lab.cluster.store.write() as session:
        workspace = session.get_one(Workspace, lab.workspace.id)
        manager, workspace.manager_id = workspace.manager_id, lab.member.id
    assert "is being built: op-" in run("environment", "approve", "kept").stdout
    with lab.cluster.store.write() as session:
        session.get_one(Workspace, lab.workspace.id).manager_id = manager
    run("notebook", "environment", "vision/own", "unwanted")
    with lab.cluster.store.write() as session:
        session.get_one(Workspace, lab.workspace.id).manager_id = lab.member.id
    assert run("environment", "decline", "unwanted").stdout == "unwanted is declined.\n"
    assert "is being built: op-" in run("notebook", "environment", "vision/own", "more").stdout
