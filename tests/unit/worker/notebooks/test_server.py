"""The program of a notebook prepares its folders once and starts JupyterLab with fixed switches."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.notebooks import server


def test_files_begin_as_a_copy_and_are_never_copied_again(tmp_path: Path) -> None:
    code, folder = tmp_path / "code", tmp_path / "copy"
    (code / "net").mkdir(parents=True)
    (code / "net" / "model.py").write_text("x = 1")
    (code / "link.py").symlink_to("/etc/passwd")
    (code / "net" / "model.py").chmod(0o400)
    folder.mkdir()
    server.prepare_folders(folder, str(code))
    model = folder / "files" / "net" / "model.py"
    model.write_text("x = 2")
    assert not (folder / "files" / "link.py").exists()
    server.prepare_folders(folder, str(code))
    assert model.read_text() == "x = 2"
    assert {path.name for path in folder.iterdir()} == {"files", "home", "packages", "settings"}


def test_an_interrupted_copy_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "files.unfinished").mkdir()
    (tmp_path / "files.unfinished" / "half.py").touch()
    server.prepare_folders(tmp_path, "")
    assert list((tmp_path / "files").iterdir()) == []


def test_it_listens_on_its_socket_alone_or_on_its_port_alone() -> None:
    by_socket = server.server_switches(Path("/copy/files"), "/nb/7/", "/socket/jupyter.sock")
    assert {"--ServerApp.sock=/socket/jupyter.sock", "--ServerApp.sock_mode=0660"} <= set(by_socket)
    assert not [word for word in by_socket if word.startswith(("--ServerApp.ip", "--ServerApp.port"))]
    by_port = server.server_switches(Path("/copy/files"), "/nb/7/", "")
    assert {"--ServerApp.ip=0.0.0.0", "--ServerApp.port=8888", "--ServerApp.port_retries=0"} <= set(by_port)
    for switches in (by_socket, by_port):
        assert {"--ServerApp.base_url=/nb/7/", "--ServerApp.root_dir=/copy/files"} <= set(switches)
        assert "--KernelManager.transport=ipc" in switches


def test_kernels_run_in_the_jobs_environment_with_the_persons_packages_first(tmp_path: Path) -> None:
    packages = server.packages_of(tmp_path, sys.executable)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    assert packages == tmp_path / "packages" / "lib" / version / "site-packages"
    made = server.kernel_specification(Path("/runtime/groundcrew_notebooks"), "/env/bin/python", ["/p", "/r"])
    assert made["argv"] == [
        "/env/bin/python", "/runtime/groundcrew_notebooks/kernel.py", "-f", "{connection_file}",
    ]  # fmt: skip
    assert isinstance(made["env"], dict) and made["env"]["PYTHONPATH"] == "/p:/r"
    server.write_json(tmp_path / "a" / "b.json", made)
    assert json.loads((tmp_path / "a" / "b.json").read_text()) == made


def test_two_notebooks_share_no_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "TEMPORARY", tmp_path)
    first, second = (server.make_scratch_folder(Path(f"/copies/{name}")) for name in ("first", "second"))
    assert {path.stat().st_mode & 0o777 for path in (first, second)} == {0o700}
    (first / "runtime").mkdir()
    again = server.make_scratch_folder(Path("/copies/first"))
    assert sorted(tmp_path.iterdir()) == sorted([again, second]), "what a killed notebook left is removed"


JUPYTERLAB = """import json, os, sys
with open(os.environ["ASKED"], "w") as file:
    json.dump([sys.argv[1:], os.environ["JUPYTER_DATA_DIR"]], file)
try:
    import rfc3987_syntax
except ImportError:
    sys.exit(7)
"""


def test_jupyterlab_runs_without_the_slow_module_and_leaves_nothing_in_tmp(tmp_path: Path) -> None:
    """A package of that name stands for JupyterLab; the launcher is the real one."""
    library, folder, asked = tmp_path / "library", tmp_path / "copy", tmp_path / "asked"
    (library / "jupyterlab").mkdir(parents=True)
    (library / "jupyterlab" / "__main__.py").write_text(JUPYTERLAB)
    (library / "jupyterlab" / "__init__.py").touch()
    (library / f"{server.SLOW_MODULE}.py").touch()
    folder.mkdir()
    variables = {
        "PYTHONPATH": str(library), "PATH": os.environ["PATH"], "ASKED": str(asked),
        "GROUNDCREW_NOTEBOOK_FOLDER": str(folder), "GROUNDCREW_NOTEBOOK_PYTHON": sys.executable,
        "GROUNDCREW_NOTEBOOK_BASE": "/nb/7/", "GROUNDCREW_NOTEBOOK_SOCKET": str(tmp_path / "jupyter.sock"),
    }  # fmt: skip
    ended = subprocess.run([sys.executable, server.__file__], env=variables, check=False)
    switches, scratch = json.loads(asked.read_text())
    assert ended.returncode == 7, "the module could be imported"
    assert "--ServerApp.base_url=/nb/7/" in switches
    assert scratch.startswith("/tmp/jupyter-") and not Path(scratch).parent.exists()
