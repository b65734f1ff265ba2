"""The program of a notebook prepares its folders once and starts JupyterLab with fixed switches."""

import json
import sys
from pathlib import Path

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
    by_socket = server.server_command(Path("/copy/files"), "/nb/7/", "/socket/jupyter.sock")
    assert {"--ServerApp.sock=/socket/jupyter.sock", "--ServerApp.sock_mode=0660"} <= set(by_socket)
    assert not [word for word in by_socket if word.startswith(("--ServerApp.ip", "--ServerApp.port"))]
    by_port = server.server_command(Path("/copy/files"), "/nb/7/", "")
    assert {"--ServerApp.ip=0.0.0.0", "--ServerApp.port=8888", "--ServerApp.port_retries=0"} <= set(by_port)
    for command in (by_socket, by_port):
        assert command[:4] == [sys.executable, "-I", "-m", "jupyterlab"]
        assert {"--ServerApp.base_url=/nb/7/", "--ServerApp.root_dir=/copy/files"} <= set(command)
        assert "--KernelManager.transport=ipc" in command


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


def test_two_notebooks_share_no_scratch_folder() -> None:
    first, second = server.make_scratch_folder(), server.make_scratch_folder()
    try:
        assert first != second and {path.stat().st_mode & 0o777 for path in (first, second)} == {0o700}
    finally:
        first.rmdir()
        second.rmdir()
