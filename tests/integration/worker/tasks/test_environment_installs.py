"""An environment that a manager asked for is built as an operation; a wrong file says its line on the page."""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cluster import words
from cluster.domain.states import EnvironmentState, OperationState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.images import (
    environment_approvals,
    environment_builds,
    environment_deletion,
    environment_list,
    environment_requests,
    wheels,
)
from cluster.services.images.environment_choice import choose_environment
from cluster.services.images.environment_rows import EnvironmentRequest
from cluster.services.images.start_environments import start_environment
from cluster.services.notebooks import kept_packages
from cluster.services.storage import folders, notebook_folders
from cluster.store.environments import Environment
from cluster.store.operations import Operation
from cluster.store.users import User
from cluster.store.workspaces import Workspace, WorkspaceMember
from tests.builders import a_training, a_user, a_workspace, actor_of, add, an_administrator
from tests.integration.worker.environments.from_requirements.package_folder import add_wheel
from worker.tasks.run import run_claimed


@dataclass
class Lab:
    cluster: Cluster
    manager: User
    workspace: Workspace

    def build(self, requirements: str) -> tuple[Environment, Operation]:
        request = EnvironmentRequest("two", requirements, workspace_ids=[self.workspace.id])
        made = environment_requests.add_environment(self.cluster, actor_of(self.manager), request)
        return self.run(made.id)

    def run(self, key: int) -> tuple[Environment, Operation]:
        operation_id = environment_list.read_environment(
            self.cluster, actor_of(self.manager), key
        ).operation_id
        assert operation_id is not None
        run_claimed(self.cluster, operation_id)
        shown = environment_list.read_environment(self.cluster, actor_of(self.manager), key)
        assert shown.operation is not None
        return shown, shown.operation


@pytest.fixture
def lab(light_cluster: Cluster, tmp_path: Path) -> Lab:
    packages = tmp_path / "packages"
    packages.mkdir()
    tmp_path.chmod(0o755)
    add_wheel(packages, "upper", "2.0", needs="lower")
    add_wheel(packages, "lower", "1.5")
    settings = replace(light_cluster.settings, package_index="none", package_folder=packages)
    cluster = replace(light_cluster, settings=settings)
    manager = a_user(cluster)
    return Lab(cluster, manager, a_workspace(cluster, manager))


def test_it_is_ready_with_what_is_in_it_and_is_deleted_with_its_files(lab: Lab) -> None:
    shown, operation = lab.build("upper\n")
    assert (operation.state, operation.progress) == (OperationState.FINISHED, 1.0), operation.error_data
    assert [step["code"] for step in operation.steps] == ["resolve", "install", "verify", "contents"]
    assert shown.state is EnvironmentState.READY and len(shown.digest) == 64
    assert [line[:2] for line in shown.contents[1:]] == [["lower", "1.5"], ["upper", "2.0"]]
    assert shown.size_bytes and shown.python.count(".") == 2 and "upper==2.0" in (shown.pins or "")
    log = lab.cluster.settings.state_dir / "log" / f"operation-{operation.id}.log"
    assert "uv pip compile" in log.read_text() and "confined_command" not in log.read_text()
    digest = shown.digest
    environment_builds.rebuild_environment(lab.cluster, actor_of(lab.manager), shown.id)
    shown, _ = lab.run(shown.id)
    assert (shown.state, shown.digest) == (EnvironmentState.READY, digest)
    environment_deletion.delete_environment(lab.cluster, actor_of(lab.manager), shown.id)
    with lab.cluster.store.read() as session:
        run_claimed(lab.cluster, max(session.query(Operation.id).all())[0])
    assert not Path(shown.path).exists()


def test_a_file_that_cannot_be_resolved_says_which_line(lab: Lab) -> None:
    shown, operation = lab.build("lower\nno-such-thing>=1\n")
    assert shown.state is EnvironmentState.FAILED
    assert operation.error_code == "environment.package_missing" and operation.error_data is not None
    said = words.sentence(operation.error_code, operation.error_data)
    assert said == "The index has no package no-such-thing (line 2). Check how it is spelled."
    assert "2번째 줄" in words.sentence(operation.error_code, operation.error_data, "ko")


def test_packages_of_a_notebook_are_built_on_its_environment_once_approved(lab: Lab, tmp_path: Path) -> None:
    base, _ = lab.build("upper==2.0\n")
    add_wheel(tmp_path / "packages", "lower", "2.0")
    member = a_user(lab.cluster)
    workspace = lab.workspace
    add(lab.cluster, WorkspaceMember(workspace_id=workspace.id, user_id=member.id))
    training = a_training(lab.cluster, workspace, member, kind=TrainingKind.ADVANCED, environment_id=base.id)
    settings = lab.cluster.settings
    folders.ensure_workspace_folder(settings, workspace.id)
    notebook_folders.ensure_working_copy_folder(settings, workspace.id, training.id, member.id)
    copy = notebook_folders.working_copy_folder(settings, workspace.id, training.id, member.id)
    site = f"lib/python{base.python.rpartition('.')[0]}/site-packages"
    (copy / "packages" / site / "lower-2.0.dist-info").mkdir(parents=True)
    made = kept_packages.ask_for_environment(lab.cluster, actor_of(member), training.id, "kept")
    environment_approvals.approve_environment(lab.cluster, actor_of(lab.manager), made.id)
    shown, operation = lab.run(made.id)
    assert operation.state is OperationState.FINISHED, operation.error_data
    assert [line[:2] for line in shown.contents[1:]] == [["lower", "2.0"], ["upper", "2.0"]]
    with lab.cluster.store.read() as session:
        chosen = choose_environment(lab.cluster, session, training, shown.id)
        assert start_environment(lab.cluster, session, chosen).path == Path(shown.path)
    program = "import upper, lower; print(upper.VERSION, lower.VERSION)"
    python = Path(shown.path) / "bin" / "python"
    assert subprocess.check_output([python, "-I", "-c", program], text=True) == "2.0 2.0\n"


def test_uploaded_wheels_are_found_without_an_index(lab: Lab, tmp_path: Path) -> None:
    settings = replace(lab.cluster.settings, package_folder=None)
    lab.cluster = replace(lab.cluster, settings=settings)
    arriving = tmp_path / "arriving"
    arriving.mkdir()
    for name, version in (("upper", "2.0"), ("lower", "1.5")):
        add_wheel(arriving, name, version)
    settings.storage_dir.mkdir(parents=True, exist_ok=True)
    wheels.add_wheels(
        lab.cluster,
        actor_of(an_administrator(lab.cluster)),
        [(file.name, file) for file in sorted(arriving.iterdir())],
    )
    shown, operation = lab.build("upper\nlower\n")
    assert operation.state is OperationState.FINISHED, operation.error_data
    assert [line[:2] for line in shown.contents[1:]] == [["lower", "1.5"], ["upper", "2.0"]]
