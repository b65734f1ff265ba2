"""The program of a notebook: prepares the folders of its person, then runs JupyterLab.

    python3 -I groundcrew_notebooks/server.py

It runs as the job's user, in the environment that has JupyterLab. Cells run in the job's own environment: the kernel is
started by kernel.py with GROUNDCREW_NOTEBOOK_PYTHON. Everything that has to outlive the job lies in
GROUNDCREW_NOTEBOOK_FOLDER: files, packages, home and settings.
"""

import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PORT = 8888
AUTOSAVE_SECONDS = 30
"""The interval between two saves. A stop of the notebook loses at most what was typed since the last one."""
READ_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
SLOW_MODULE = "rfc3987_syntax"
"""jsonschema imports it for the format `iri`, which no schema of Jupyter has, and does not need it. It compiles a
grammar at each import, which took longer than all other imports of JupyterLab together.
"""
TEMPORARY = Path("/tmp")
SERVER_SETTINGS = {
    "ServerApp.allow_remote_access": "True",
    "ServerApp.open_browser": "False",
    # No other user of the machine reaches a kernel: its sockets are files in the job's own /tmp.
    "KernelManager.transport": "ipc",
    # No request may leave the site: not for news, newer versions or a list of extensions.
    "LabApp.news_url": "None",
    "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    "LabApp.extension_manager": "readonly",
}
LAB_SETTINGS = {
    "@jupyterlab/docmanager-extension:plugin": {"autosave": True, "autosaveInterval": AUTOSAVE_SECONDS},
    # Without it JupyterLab drops a cell that is run before the kernel has started, and says nothing.
    "@jupyterlab/notebook-extension:tracker": {"enableKernelInitNotification": True},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}

PAGE_SETTINGS = {"buildAvailable": False, "buildCheck": False}
"""The files of JupyterLab belong to the services, so that nobody can build another one. Without this setting the server
checks for most of a second whether that is needed, while the page is loading.
"""


def prepare_folders(folder: Path, code: str) -> None:
    """Creates what is missing. The files begin as a copy of the code, which appears whole or not at all."""
    for name in ("home", "packages", "settings"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    files = folder / "files"
    if not files.is_dir():
        unfinished = folder / "files.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        if code:
            copy_tree(Path(code), unfinished)
        unfinished.rename(files)


def make_scratch_folder(folder: Path) -> Path:
    """Makes the folder for what is lost with the notebook: sockets, connection files, and databases that shared storage
    would damage. Without a sandbox /tmp belongs to the whole machine, and another notebook has a folder of its own.

    Removes what a killed notebook with the same working copy has left. A working copy has one notebook at a time.
    """
    prefix = f"jupyter-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}-"
    for left in TEMPORARY.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=TEMPORARY))


def copy_tree(source: Path, target: Path) -> None:
    """Copies folders and regular files without their modes, because the source can only be read."""
    for entry in os.scandir(source):
        place = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            place.mkdir()
            copy_tree(Path(entry.path), place)
        elif entry.is_file(follow_symlinks=False):
            shutil.copyfile(entry.path, place)


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def kernel_specification(here: Path, python: str, libraries: list[str]) -> dict[str, object]:
    """`libraries` are the folders in which the kernel looks for packages before those of its environment."""
    own = [path for path in sys.path if path.endswith("site-packages")]
    return {
        "argv": [python, str(here / "kernel.py"), "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "metadata": {"debugger": True},
        "env": {
            "PYTHONPATH": os.pathsep.join(libraries),
            "GROUNDCREW_EDITOR_LIBRARIES": os.pathsep.join(own),
            "GROUNDCREW_EDITOR_VERSION": f"{sys.version_info[0]}.{sys.version_info[1]}",
        },
    }


def packages_of(folder: Path, python: str) -> Path:
    """The folder into which pip installs for this interpreter below its prefix."""
    asked = subprocess.run([python, "-I", "-c", READ_VERSION], stdout=subprocess.PIPE, check=True, text=True)
    return folder / "packages" / "lib" / f"python{asked.stdout.strip()}" / "site-packages"


def server_switches(files: Path, base: str, socket: str) -> list[str]:
    settings = SERVER_SETTINGS | {"ServerApp.root_dir": str(files), "ServerApp.base_url": base}
    if socket:
        settings |= {"ServerApp.sock": socket, "ServerApp.sock_mode": "0660"}
    else:
        # Nobody would find the server on another port.
        settings |= {"ServerApp.ip": "0.0.0.0", "ServerApp.port": str(PORT), "ServerApp.port_retries": "0"}
    return [f"--{name}={value}" for name, value in sorted(settings.items())]


def run_jupyterlab(switches: list[str]) -> None:
    """Returns or raises SystemExit once JupyterLab has ended."""
    sys.modules[SLOW_MODULE] = None  # type: ignore[assignment]
    sys.argv = ["jupyterlab", *switches]
    runpy.run_module("jupyterlab", run_name="__main__", alter_sys=True)


def main() -> None:
    here, variables = Path(__file__).resolve().parent, os.environ
    folder, python = Path(variables["GROUNDCREW_NOTEBOOK_FOLDER"]), variables["GROUNDCREW_NOTEBOOK_PYTHON"]
    prepare_folders(folder, variables.get("GROUNDCREW_NOTEBOOK_CODE", ""))
    packages = packages_of(folder, python)
    # A folder that appears while Python runs would not be searched for modules.
    packages.mkdir(parents=True, exist_ok=True)
    libraries = [str(packages), str(here.parent)]
    kernel = kernel_specification(here, python, libraries)
    scratch = make_scratch_folder(folder)
    write_json(scratch / "data" / "kernels" / "python3" / "kernel.json", kernel)
    write_json(folder / "settings" / "labconfig" / "default_setting_overrides.json", LAB_SETTINGS)
    write_json(scratch / "config" / "labconfig" / "page_config.json", PAGE_SETTINGS)
    variables.update(
        JUPYTER_CONFIG_PATH=str(scratch / "config"),
        JUPYTER_CONFIG_DIR=str(folder / "settings"),
        JUPYTER_DATA_DIR=str(scratch / "data"),
        JUPYTER_RUNTIME_DIR=str(scratch / "runtime"),
        IPYTHONDIR=str(scratch / "ipython"),
        PYTHONPATH=os.pathsep.join(libraries),
    )
    socket = variables.get("GROUNDCREW_NOTEBOOK_SOCKET", "")
    if socket:
        Path(socket).unlink(missing_ok=True)
    os.chdir(folder / "files")
    try:
        run_jupyterlab(server_switches(folder / "files", variables["GROUNDCREW_NOTEBOOK_BASE"], socket))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
