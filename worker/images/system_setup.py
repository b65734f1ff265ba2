"""Set up user, ssh and environment variables in an image, and remove traces of the build machine."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from worker.images.description import ENVIRONMENT_PATH, ImageUser

LOGIN = re.compile(r"://[^/@\s]+@")
"""In an address: a name, often with a password."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# As a plain user; the keys are those that the MPI operator mounts.
# https://github.com/kubeflow/mpi-operator/tree/v0.7.0/build/base
SSHD = """\
Port {port}
PidFile /tmp/sshd.pid
HostKey /home/{name}/.ssh/id_rsa
StrictModes no
UsePAM no
"""
SSH = """\
Host *
    Port {port}
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


def image_variables(variables: Mapping[str, str], user: ImageUser) -> dict[str, str]:
    """What every program in the image has among its environment variables."""
    return {
        "PATH": f"{ENVIRONMENT_PATH}/bin:{SYSTEM_PATH}",
        "LANG": "C.UTF-8",
        "HOME": f"/home/{user.name}",
        **variables,
    }


def set_up_user(root: Path, user: ImageUser, variables: Mapping[str, str]) -> None:
    """The user with its ssh on both sides; no key of the building machine stays."""
    add_system_user(root, user)
    for key in (root / "etc" / "ssh").glob("ssh_host_*"):
        key.unlink()
    home = root / "home" / user.name
    home.mkdir(mode=0o755, parents=True)
    (home / ".sshd_config").write_text(SSHD.format(**vars(user)))
    exports = "".join(
        f"export {name}='{value}'\n" for name, value in image_variables(variables, user).items()
    )
    # Bash reads it too when sshd starts a command, which has nothing of the container's environment.
    (home / ".bashrc").write_text(exports)
    for path in (home, *home.iterdir()):
        shutil.chown(path, user.number, user.number)
    (root / "etc" / "ssh" / "ssh_config.d" / "groundcrew.conf").write_text(SSH.format(**vars(user)))
    (root / "run" / "sshd").mkdir(mode=0o755, exist_ok=True)


def add_system_user(root: Path, user: ImageUser) -> None:
    number, home = user.number, f"/home/{user.name}"
    for name, line in (
        ("passwd", f"{user.name}:x:{number}:{number}::{home}:/bin/bash"),
        ("group", f"{user.name}:x:{number}:"),
        ("shadow", f"{user.name}:*:19000:0:99999:7:::"),
    ):
        with (root / "etc" / name).open("a") as file:
            file.write(f"{line}\n")


def remove_build_traces(root: Path) -> None:
    """Names and logs of the building machine, the word by which it may ask for packages, and what was tried out."""
    for name in ("hostname", "resolv.conf", "machine-id"):
        (root / "etc" / name).unlink(missing_ok=True)
    (root / "etc" / "machine-id").touch()
    for log in (root / "var" / "log").rglob("*"):
        if log.is_file():
            log.unlink()
    for place in ("tmp", "var/tmp"):
        for left in (root / place).glob("*"):
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
    apt = root / "etc" / "apt"
    for sources in (*apt.glob("sources.list"), *apt.glob("sources.list.d/*")):
        sources.write_text(LOGIN.sub("://", sources.read_text()))
