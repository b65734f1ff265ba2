"""The door's folder, which sshd sees as /run/sshd: its configuration, its host key, names of jobs, and programs."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.domain.ssh_logins import SFTP_COMMAND
from cluster.files import safe_files
from cluster.files.atomic import write_atomically
from cluster.services.context import Cluster

SSHD = Path("/usr/sbin/sshd")
NAME_SERVICE = "libnss_extrausers.so.2"
SEEN_AS = "/run/sshd"
"""The path at which sshd finds the folder. OpenSSH wants it for itself, empty and owned by root, as Debian has it."""
NAMES_SEEN_AS = "/var/lib/extrausers"
PROGRAMS = Path(__file__).parent / "programs"
KEYS_USER = "groundcrew-keys"
NAMES_AHEAD, NAMES_BEHIND = 1000, 20_000
"""Logins exist for so many jobs after and before the newest one, so that none says whether its job exists."""
NAME_SERVICE_SWITCH = "passwd: files extrausers\ngroup: files extrausers\nshadow: files\nhosts: files dns\n"


def has_name_service() -> bool:
    """Whether Debian's libnss-extrausers is installed, which reads further names of users from a file."""
    lib = Path("/usr/lib")
    return any(
        folder.is_dir() and (folder / NAME_SERVICE).exists() for folder in (lib, *lib.glob("*-linux-gnu*"))
    )


def missing_packages() -> list[str]:
    """The packages of Debian that a door needs and that are not installed."""
    missing = [] if SSHD.exists() else ["openssh-server"]
    return missing if has_name_service() else [*missing, "libnss-extrausers"]


@dataclass(frozen=True)
class DoorIds:
    """Two uids after those of jobs. No job, no service and no person has them."""

    door: int
    """The user as which sshd runs a session that is signed in. Its processes have a ticket and run no program of a
    person.
    """
    keys: int
    """The user as which sshd asks for keys."""


def door_ids(cluster: Cluster) -> DoorIds:
    first = cluster.settings.job_ids.first_door_id
    return DoorIds(first, first + 1)


@dataclass(frozen=True)
class DoorFolder:
    path: Path

    @property
    def socket(self) -> Path:
        return self.path / "door.sock"

    @property
    def host_key(self) -> Path:
        return self.path / "host_key"

    @property
    def names(self) -> Path:
        return self.path / "names"

    def write(self, listen: list[str], ids: DoorIds) -> None:
        """Makes all files of the folder except the names of jobs and the socket.

        Raises OSError, which is UnsafeFile if others than root could replace the folder, and
        subprocess.CalledProcessError.
        """
        with safe_files.open_folder_path(self.path.parent) as parent:
            safe_files.check_owner(parent, str(self.path.parent), (0,))
            folder = ensure_folder(parent, self.path.name)
            try:
                os.close(ensure_folder(folder, self.names.name))
            finally:
                os.close(folder)
        for name in ("keys.py", "enter.py"):
            write_atomically(self.path / name, (PROGRAMS / name).read_text(), 0o755)
        write_atomically(self.path / "nsswitch.conf", NAME_SERVICE_SWITCH, 0o644)
        write_atomically(self.path / "sshd_config", render_sshd_configuration(listen), 0o644)
        write_atomically(self.path / "start", START_SCRIPT, 0o755)
        if not self.host_key.exists():
            make_host_key(self.host_key)

    def write_names(self, newest_job: int, ids: DoorIds) -> None:
        first = max(1, newest_job - NAMES_BEHIND)
        lines = [f"{KEYS_USER}:x:{ids.keys}:{ids.keys}::/:/usr/sbin/nologin"]
        lines += [
            f"job-{job}:x:{ids.door}:{ids.door}::/:/bin/sh"
            for job in range(first, newest_job + NAMES_AHEAD + 1)
        ]
        write_atomically(self.names / "passwd", "\n".join(lines) + "\n", 0o644, is_synced=False)
        groups = f"groundcrew-ssh:x:{ids.door}:\n{KEYS_USER}:x:{ids.keys}:\n"
        write_atomically(self.names / "group", groups, 0o644, is_synced=False)

    def read_host_key(self) -> str:
        """The public half, without its comment. Raises OSError."""
        return " ".join(self.host_key.with_suffix(".pub").read_text().split()[:2])


def ensure_folder(parent: int, name: str) -> int:
    """Makes a folder that belongs to root and that everybody may enter. Raises OSError."""
    try:
        return safe_files.make_folder(parent, name, 0o755)
    except FileExistsError:
        found = safe_files.open_folder_at(name, parent)
    try:
        safe_files.check_owner(found, name, (0,))
    except OSError:
        os.close(found)
        raise
    return found


START_SCRIPT = f"""#!/bin/sh
# Written by Groundcrew. sshd sees its own names of users in a mount namespace that nothing else on the machine shares.
set -e
folder=$1
mkdir -p {SEEN_AS}
mount --bind "$folder" {SEEN_AS}
mount --bind {SEEN_AS}/nsswitch.conf /etc/nsswitch.conf
mount --bind {SEEN_AS}/names {NAMES_SEEN_AS}
if [ -d /run/nscd ]; then mount -t tmpfs -o size=4k,mode=0755 none /run/nscd; fi
exec {SSHD} -D -e -f {SEEN_AS}/sshd_config
"""


def render_sshd_configuration(listen: list[str]) -> str:
    """The configuration of sshd: it accepts only keys and logins of jobs, and forwards nothing. What a person may do is
    decided inside the job.
    """
    lines = [
        "# Written by Groundcrew.",
        *(f"ListenAddress {address}" for address in listen),
        f"HostKey {SEEN_AS}/host_key",
        "PidFile none",
        "UsePAM no",
        "LogLevel VERBOSE",
        "AllowUsers job-*",
        "PermitRootLogin no",
        "PubkeyAuthentication yes",
        "AuthenticationMethods publickey",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "HostbasedAuthentication no",
        "AuthorizedKeysFile none",
        f"AuthorizedKeysCommand {SEEN_AS}/keys.py %u %f",
        f"AuthorizedKeysCommandUser {KEYS_USER}",
        "DisableForwarding yes",
        "AllowTcpForwarding no",
        "AllowStreamLocalForwarding no",
        "AllowAgentForwarding no",
        "X11Forwarding no",
        "PermitTunnel no",
        "GatewayPorts no",
        "PermitUserRC no",
        "PermitUserEnvironment no",
        "PermitTTY yes",
        "PrintMotd no",
        "PrintLastLog no",
        "UseDNS no",
        "VersionAddendum none",
        f"Subsystem sftp {SFTP_COMMAND}",
        # An agent may hold more keys than OpenSSH's six tries.
        "MaxAuthTries 20",
        "MaxSessions 10",
        "MaxStartups 20:50:60",
        "PerSourceMaxStartups 10",
        "LoginGraceTime 30",
        "ClientAliveInterval 30",
        "ClientAliveCountMax 4",
    ]
    return "\n".join(lines) + "\n"


def make_host_key(path: Path) -> None:
    path.unlink(missing_ok=True)
    run_ssh_keygen("-q", "-t", "ed25519", "-N", "", "-C", "groundcrew", "-f", str(path))


def run_ssh_keygen(*arguments: str) -> str:
    """Raises OSError, subprocess.CalledProcessError."""
    return subprocess.run(
        ["/usr/bin/ssh-keygen", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    ).stdout


def run_ssh_keygen_to_text() -> str:
    """A new private key. Raises OSError, subprocess.CalledProcessError."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        make_host_key(path)
        return path.read_text()
