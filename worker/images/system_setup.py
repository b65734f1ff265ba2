"""Set up user, ssh and environment variables in an image, and remove traces of the build machine."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from worker.images.description import ENVIRONMENT_PATH, ImageUser

LOGIN = re.compile(r"://[^/@\s]+@")
"""The user name, often with a password, in an address."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The ssh server runs as a plain user, with the keys that the MPI operator mounts.
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
    """The environment variables of every program in the image."""
    return {
        "PATH": f"{ENVIRONMENT_PATH}/bin:{SYSTEM_PATH}",
        "LANG": "C.UTF-8",
        "HOME": f"/home/{user.name}",
        **variables,
    }


def set_up_user(root: Path, user: ImageUser, variables: Mapping[str, str]) -> None:
    """Creates the user with an ssh server and client. The host keys of the building machine are deleted."""
    add_system_user(root, user)
    for key in (root / "etc" / "ssh").glob("ssh_host_*"):
        key.unlink()
    home = root / "home" / user.name
    home.mkdir(mode=0o755, parents=True)
    (home / ".sshd_config").write_text(SSHD.format(**vars(user)))
    exports = "".join(
        f"export {name}='{value}'\n" for name, value in image_variables(variables, user).items()
    )
    # sshd starts a command without the container's environment; bash then reads this file.
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
    """Deletes the building machine's names and logs, its password for packages, and the files of the self-test."""
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
