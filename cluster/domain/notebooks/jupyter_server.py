"""The command line and the environment variables of a notebook's server.

The program is `worker/notebooks/server.py` of the job runtime. It prepares the folders and then becomes JupyterLab.
"""

from collections.abc import Mapping
from dataclasses import dataclass

PORT = 8888
"""The TCP port of a notebook in a pod. On the scheduler's machine it listens on a socket instead."""
SOCKET = "jupyter.sock"
LAUNCHER = "groundcrew_notebooks/server.py"
COMMAND = "jupyterlab"
"""The command of a notebook as pages show it."""
FILES, PACKAGES, HOME = "files", "packages", "home"
"""The folders of a working copy: the person's files, what `pip install` has added, and the home of the programs."""


@dataclass(frozen=True)
class NotebookPlaces:
    """The absolute paths that a notebook gets, as its program finds them."""

    editor_python: str
    """The Python that has JupyterLab."""
    kernel_python: str
    """The Python of the job's environment, in which cells run."""
    runtime: str
    folder: str
    """The working copy's folder, the only one that outlives the job."""
    code: str = ""
    """The version of the code with which a new working copy begins. Empty: the copy begins without files."""
    socket_folder: str = ""
    """The folder of `SOCKET`, on which the server listens. Empty: it listens on `PORT`."""


def base_path(job: int) -> str:
    """The path below which the notebook of this job answers, at every address."""
    return f"/nb/{job}/"


def health_path(job: int) -> str:
    """The path that everybody may open once the server is ready. Its answer contains only the version."""
    return f"{base_path(job)}api"


def notebook_program(places: NotebookPlaces) -> tuple[str, ...]:
    """With `-I` no file and no package of the person can replace a module of the server."""
    return (places.editor_python, "-I", f"{places.runtime}/{LAUNCHER}")


def notebook_environment(
    job: int, token: str, places: NotebookPlaces, before: Mapping[str, str]
) -> dict[str, str]:
    """The variables that differ from those of every job (`before`). The token is in no command line, which everybody
    on the machine could read.
    """
    packages = f"{places.folder}/{PACKAGES}"
    return {
        "HOME": f"{places.folder}/{HOME}",
        "PATH": f"{before['PATH']}:{packages}/bin",
        "SHELL": "/bin/bash",
        "JUPYTER_TOKEN": token,
        "PIP_PREFIX": packages,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_WARN_SCRIPT_LOCATION": "1",
        "GROUNDCREW_CODE": f"{places.folder}/{FILES}",
        "GROUNDCREW_NOTEBOOK_FOLDER": places.folder,
        "GROUNDCREW_NOTEBOOK_BASE": base_path(job),
        "GROUNDCREW_NOTEBOOK_CODE": places.code,
        "GROUNDCREW_NOTEBOOK_SOCKET": f"{places.socket_folder}/{SOCKET}" if places.socket_folder else "",
        "GROUNDCREW_NOTEBOOK_PYTHON": places.kernel_python,
    }
