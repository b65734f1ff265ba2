"""Plans the program of a notebook: its folders, its variables and its command."""

from dataclasses import dataclass, replace
from pathlib import Path

from cluster.domain.environments.package_index import pip_sources
from cluster.domain.notebooks import jupyter_server
from cluster.domain.notebooks.jupyter_server import NotebookPlaces
from cluster.domain.states import JobKind
from cluster.services.storage import folders, notebook_folders
from cluster.settings import Settings
from cluster.store.jobs import Attempt
from worker.executors.contract import NotStarted
from worker.executors.path_mapping import PathMapping
from worker.scheduling.starts.start_rows import StartRows


@dataclass(frozen=True)
class NotebookPlan:
    """The values that distinguish the program of a notebook from that of another job."""

    places: NotebookPlaces
    token: str
    pip_sources: dict[str, str]

    @property
    def command(self) -> tuple[str, ...]:
        return jupyter_server.notebook_program(self.places)


def plan_notebook(
    settings: Settings, attempt: Attempt, loaded: StartRows, view: PathMapping, python: Path, runtime: str
) -> NotebookPlan | None:
    """Returns None for any other job. Shows through `view` what the notebook needs. Raises NotStarted without
    JupyterLab.
    """
    job = attempt.job
    if job.kind is not JobKind.NOTEBOOK:
        return None
    in_image = settings.executor.capabilities.has_environment_in_image
    if not in_image and loaded.editor is None:
        raise NotStarted("start.no_editor")
    editor = (
        python if loaded.editor is None or in_image else view.map_environment(loaded.editor) / "bin/python"
    )
    copy = notebook_folders.working_copy_folder(settings, job.workspace_id, job.training_id, job.user_id)
    places = NotebookPlaces(
        editor_python=str(editor),
        kernel_python=str(python),
        runtime=runtime,
        folder=str(view.map_writable(copy, "notebook")),
        code=map_first_code(settings, attempt, view),
    )
    if settings.executor.capabilities.is_local:
        socket = notebook_folders.socket_folder(settings, job.id, attempt.number)
        places = replace(places, socket_folder=str(view.map_writable(socket, "socket")))
    sources = pip_sources(settings.package_index, map_package_folders(settings, view))
    return NotebookPlan(places, loaded.notebook_tokens.get(job.id, ""), sources)


def map_package_folders(settings: Settings, view: PathMapping) -> list[str]:
    """The folders of wheels that everybody may read. A pod's node has the uploaded wheels with the storage, and no
    other file of the master.
    """
    found = {"wheels": folders.wheels_folder(settings)}
    if settings.executor.capabilities.is_local and settings.package_folder:
        found = {"packages": settings.package_folder} | found
    return [str(view.map_path(place, name)) for name, place in found.items() if is_readable(place)]


def is_readable(folder: Path) -> bool:
    """Whether every user may list the folder, because pip fails at a folder that it may not list."""
    return folder.is_dir() and folder.stat().st_mode & 0o005 == 0o005


def map_first_code(settings: Settings, attempt: Attempt, view: PathMapping) -> str:
    job = attempt.job
    if not job.code_version:
        return ""
    code = folders.code_folder(settings, job.workspace_id, job.training_id, job.code_version)
    return str(view.map_path(code, "code"))


def notebook_variables(attempt: Attempt, plan: NotebookPlan, variables: dict[str, str]) -> dict[str, str]:
    own = jupyter_server.notebook_environment(attempt.job_id, plan.token, plan.places, variables)
    return variables | plan.pip_sources | own
