"""An image keeps no key, name or password of the machine that built it."""

from pathlib import Path

import pytest

from worker.images.description import ImageUser
from worker.images.system_setup import image_variables, remove_build_traces, set_up_user

MPIUSER = ImageUser("mpiuser", 1000, 2222)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in (("etc/hostname", "builder"), ("dev/null", ""), ("opt/groundcrew/lib.py", "x = 1")):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    return root


def test_no_key_name_or_password_of_the_building_machine_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.chown", lambda *_: None)
    for name in (
        "etc/ssh/ssh_host_rsa_key",
        "etc/ssh/ssh_config.d/x",
        "var/log/dpkg.log",
        "run/x",
        "etc/machine-id",
        "tmp/ompi.builder.1000/pid.22/contact.txt",
        "var/tmp/pip.log",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("builder")
    (root / "etc/apt/sources.list.d").mkdir(parents=True)
    (root / "etc/apt/sources.list").write_text("deb http://lab:secret@deb.example/debian bookworm main\n")
    (root / "etc/apt/sources.list.d/own.sources").write_text("URIs: https://lab@deb.example/own\n")
    (root / "tmp/link").symlink_to(root / "opt")
    set_up_user(root, MPIUSER, {"TF_USE_LEGACY_KERAS": "1"})
    remove_build_traces(root)
    left = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert not left & {"etc/ssh/ssh_host_rsa_key", "var/log/dpkg.log", "etc/hostname"}
    assert not [name for name in left if name.startswith(("tmp/", "var/tmp/"))]
    assert (root / "opt/groundcrew/lib.py").exists()
    assert (root / "etc/apt/sources.list").read_text() == "deb http://deb.example/debian bookworm main\n"
    assert (root / "etc/apt/sources.list.d/own.sources").read_text() == "URIs: https://deb.example/own\n"
    assert (root / "etc/machine-id").read_text() == ""
    assert "mpiuser:x:1000:1000::/home/mpiuser:/bin/bash" in (root / "etc/passwd").read_text()
    assert "Port 2222" in (root / "home/mpiuser/.sshd_config").read_text()
    assert "export TF_USE_LEGACY_KERAS='1'" in (root / "home/mpiuser/.bashrc").read_text()
    assert image_variables({}, MPIUSER)["PATH"].startswith("/opt/groundcrew/training/bin:")
