"""The start plan of a notebook: JupyterLab with its folders to write, and the token in no command line."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.services.notebooks.editor_environment import ensure_editor
from cluster.services.people.users import service_actor
from cluster.services.storage import folders, notebook_folders
from cluster.store.jobs import Attempt, Job
from tests.builders import a_job, holding
from tests.notebook_lab import NotebookLab
from worker.executors.contract import NotStarted, StartPlan
from worker.executors.path_mapping import HostPaths
from worker.scheduling.notebooks.notebook_program import NotebookPlan, plan_notebook
from worker.scheduling.starts.start_plan_builder import build_start_plan
from worker.scheduling.starts.start_rows import read_start_rows

RUNTIME = Path("/runtime")


def plan_of(lab: NotebookLab, attempt_id: int) -> StartPlan:
    return build_start_plan(lab.cluster, RUNTIME, attempt_id)


def on(lab: NotebookLab, executor: ExecutorKind) -> NotebookLab:
    settings = replace(
        lab.cluster.settings, executor=executor, docker_image="image:1", kubernetes_image="image:1"
    )
    return replace(lab, cluster=replace(lab.cluster, settings=settings))


def test_as_a_process_it_writes_its_copy_and_its_socket(lab: NotebookLab) -> None:
    job = lab.start()
    plan = plan_of(lab, lab.run(job))
    assert plan.program.argv[-3:] == ("/editor/bin/python", "-I", "/runtime/groundcrew_notebooks/server.py")
    variables = plan.program.environment
    assert variables["JUPYTER_TOKEN"] == lab.row(job).token
    assert lab.row(job).token not in " ".join(plan.program.argv)
    settings = lab.cluster.settings
    copy = notebook_folders.working_copy_folder(settings, job.workspace_id, job.training_id, lab.owner.id)
    assert variables["GROUNDCREW_NOTEBOOK_FOLDER"] == str(copy)
    assert variables["GROUNDCREW_NOTEBOOK_SOCKET"] == str(notebook_folders.socket_path(settings, job.id, 1))
    code = folders.code_folder(settings, job.workspace_id, job.training_id, 1)
    assert variables["GROUNDCREW_NOTEBOOK_CODE"] == str(code)
    assert plan.program.code is None and plan.program.ranks == 1
    if plan.sandbox is not None:
        socket = notebook_folders.socket_folder(settings, job.id, 1)
        assert plan.sandbox.written == (copy, socket) and code in plan.sandbox.shown


def test_after_a_lost_node_the_next_attempt_has_the_same_files_and_a_socket_of_its_own(
    lab: NotebookLab,
) -> None:
    job = lab.start()
    attempt = lab.run(job)
    first = plan_of(lab, attempt).program.environment
    with lab.cluster.store.write() as session:
        session.get_one(Job, job.id).fence = session.get_one(Attempt, attempt).number = 2
    second = plan_of(lab, attempt).program.environment
    for name in ("GROUNDCREW_NOTEBOOK_FOLDER", "PIP_PREFIX", "HOME", "GROUNDCREW_NOTEBOOK_BASE"):
        assert second[name] == first[name]
    sockets = [str(notebook_folders.socket_path(lab.cluster.settings, job.id, number)) for number in (1, 2)]
    assert [each["GROUNDCREW_NOTEBOOK_SOCKET"] for each in (first, second)] == sockets


def test_in_a_container_both_are_mounted_to_write_and_nothing_else_is(lab: NotebookLab) -> None:
    lab = on(lab, ExecutorKind.DOCKER)
    job = lab.start()
    plan = plan_of(lab, lab.run(job))
    written = {mount.target for mount in plan.container.mounts if mount.is_writable}
    assert written == {Path("/groundcrew/notebook"), Path("/groundcrew/socket")}
    assert plan.program.environment["GROUNDCREW_NOTEBOOK_SOCKET"] == "/groundcrew/socket/jupyter.sock"
    assert Path("/groundcrew/code") in {mount.target for mount in plan.container.mounts}


def test_in_a_pod_it_listens_on_a_port_and_runs_the_images_jupyterlab(lab: NotebookLab) -> None:
    lab = on(lab, ExecutorKind.KUBERNETES)
    job = lab.start()
    plan = plan_of(lab, lab.run(job))
    assert plan.placement.gang == "notebook"
    assert plan.program.environment["GROUNDCREW_NOTEBOOK_SOCKET"] == ""
    assert plan.program.argv[-3] == plan.program.argv[0]
    assert {mount.target for mount in plan.container.mounts if mount.is_writable} == {
        Path("/groundcrew/notebook")
    }


def test_without_jupyterlab_it_does_not_begin(lab: NotebookLab) -> None:
    attempt = lab.run(lab.start())
    ensure_editor(lab.cluster, service_actor(lab.cluster), Path("/other"), is_built=False)
    with pytest.raises(NotStarted) as problem:
        plan_of(lab, attempt)
    assert problem.value.code == "start.no_editor"


def test_its_folders_are_made_before_it_begins_and_those_of_no_other_job(lab: NotebookLab) -> None:
    job, settings = lab.start(), lab.cluster.settings
    settings.state_dir.mkdir(exist_ok=True)
    folders.ensure_workspace_folder(settings, job.workspace_id)
    plain = a_job(lab.cluster, lab.training, lab.owner, command=["train.py"])
    other = holding(lab.cluster, plain, [lab.node.units[1]]).id
    attempt = lab.run(job)
    rows = read_start_rows(lab.cluster, [attempt, other])
    notebook_folders.ensure_notebook_folders(settings, rows.attempts[other])
    assert not settings.notebook_sockets.exists()
    notebook_folders.ensure_notebook_folders(settings, rows.attempts[attempt])
    assert notebook_folders.socket_folder(settings, job.id, 1).is_dir()
    view = HostPaths()
    assert plan_notebook(settings, rows.attempts[other], rows, view, Path("/python"), "/runtime") is None
    notebook = plan_notebook(settings, rows.attempts[attempt], rows, view, Path("/python"), "/runtime")
    assert isinstance(notebook, NotebookPlan) and notebook.command[0] == "/editor/bin/python"
    assert plan_of(lab, other).program.environment.keys().isdisjoint({"JUPYTER_TOKEN", "PIP_PREFIX"})


@pytest.mark.parametrize(
    ("executor", "packages", "wheels"),
    [
        (ExecutorKind.PROCESS, "{packages}", "{wheels}"),
        (ExecutorKind.DOCKER, "/groundcrew/packages", "/groundcrew/wheels"),
        (ExecutorKind.KUBERNETES, "", "/groundcrew/wheels"),
    ],
)
def test_pip_finds_the_wheels_of_the_site_that_everybody_may_read(
    lab: NotebookLab, tmp_path: Path, executor: ExecutorKind, packages: str, wheels: str
) -> None:
    places = {"packages": tmp_path / "packages", "wheels": folders.wheels_folder(lab.cluster.settings)}
    for place in places.values():
        place.mkdir(parents=True, mode=0o755)
    settings = replace(lab.cluster.settings, package_index="none", package_folder=places["packages"])
    lab = on(replace(lab, cluster=replace(lab.cluster, settings=settings)), executor)
    attempt = lab.run(lab.start())
    expected = [text.format(**places) for text in (packages, wheels) if text]
    variables = plan_of(lab, attempt).program.environment
    assert variables["PIP_NO_INDEX"] == "1" and variables.get("PIP_FIND_LINKS", "").split() == expected
    places["packages"].chmod(0o750)
    assert plan_of(lab, attempt).program.environment["PIP_FIND_LINKS"].split() == expected[-1:]
