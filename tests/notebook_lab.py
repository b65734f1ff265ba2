"""A training with code in a workspace, and its notebooks as rows and folders."""

from dataclasses import dataclass
from pathlib import Path

from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState, TrainingKind
from cluster.services.context import Cluster
from cluster.services.notebooks.editor_environment import ensure_editor
from cluster.services.notebooks.start import start_notebook
from cluster.services.people.users import service_actor
from cluster.services.storage import folders, notebook_folders
from cluster.store.jobs import Job, Notebook
from cluster.store.nodes import Node
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.builders import a_code_version, a_node, a_training, a_user, a_workspace, actor_of, holding

CODE = [("net/model.py", b"x = 1\n"), ("train.py", b"print(1)\n")]


@dataclass
class NotebookLab:
    cluster: Cluster
    owner: User
    member: User
    workspace: Workspace
    training: Training
    node: Node

    def start(self, person: User | None = None) -> Job:
        return start_notebook(self.cluster, self.actor(person), self.training.id)

    def actor(self, person: User | None = None) -> Actor:
        return actor_of(person or self.owner)

    def run(self, job: Job) -> int:
        """As the scheduler leaves it once the shim runs; the attempt's id."""
        with self.cluster.store.write() as session:
            row = session.get_one(Job, job.id)
            row.state, row.fence = JobState.RUNNING, 1
        job.fence = 1
        return holding(self.cluster, job, [self.node.units[0]]).id

    def row(self, job: Job) -> Notebook:
        with self.cluster.store.read() as session:
            return session.get_one(Notebook, job.id)

    def job(self, job: Job) -> Job:
        with self.cluster.store.read() as session:
            return session.get_one(Job, job.id)

    def write(self, files: dict[str, bytes], person: User | None = None, below: str = "files") -> Path:
        """Files in the person's working copy, as a notebook would leave them."""
        person, training = person or self.owner, self.training
        settings = self.cluster.settings
        folders.ensure_workspace_folder(settings, training.workspace_id)
        notebook_folders.ensure_working_copy_folder(settings, training.workspace_id, training.id, person.id)
        copy = notebook_folders.working_copy_folder(settings, training.workspace_id, training.id, person.id)
        for path, content in files.items():
            place = copy / below / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return copy


def make_notebook_lab(cluster: Cluster) -> NotebookLab:
    """JupyterLab counts as installed."""
    ensure_editor(cluster, service_actor(cluster), Path("/editor"), is_built=True)
    owner, member = a_user(cluster), a_user(cluster)
    workspace = a_workspace(cluster, owner, (member,), units=4)
    training = a_training(cluster, workspace, owner, kind=TrainingKind.ADVANCED)
    a_code_version(cluster, training, CODE)
    return NotebookLab(cluster, owner, member, workspace, training, a_node(cluster, units=4))
