"""Names and labels of our objects in Kubernetes follow from numbers alone."""

from pathlib import Path

from worker.kubernetes import object_names


def test_a_run_has_the_name_of_its_job_and_attempt() -> None:
    name = object_names.run_name(12, 3)
    found = object_names.RUN_NAME.fullmatch(name)
    assert found is not None
    assert (int(found[1]), int(found[2])) == (12, 3)


def test_a_folder_tells_workspace_job_and_attempt() -> None:
    folder = object_names.attempt_path(Path("/storage"), 4, 12, 3)
    assert folder == Path("/storage/workspaces/4/jobs/12/3")
    assert object_names.workspace_of_folder(folder) == 4
    assert object_names.attempt_key_of_folder(folder) == (12, 3)


def test_labels_select_what_they_mark() -> None:
    labels = object_names.attempt_labels("site-1", 4, 12, 3)
    assert (labels[object_names.JOB], labels[object_names.ATTEMPT]) == ("12", "3")
    assert (labels[object_names.WORKSPACE], labels[object_names.INSTALLATION]) == ("4", "site-1")
    assert object_names.label_selector(part="run", job="12") == "groundcrew.io/part=run,groundcrew.io/job=12"
    assert object_names.workspace_namespace(4) == f"{object_names.NAMESPACE_PREFIX}4"
