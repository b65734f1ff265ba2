"""Parses what a person asks of the SSH door: the login names a job, and the command is what runs there."""

import re
from dataclasses import dataclass
from enum import StrEnum

LOGIN = re.compile(r"job-([1-9]\d{0,8})", re.ASCII)
SFTP_COMMAND = "groundcrew-sftp"
"""The name under which sshd asks for its subsystem sftp."""
INNER_COMMAND = "groundcrew-sshd"
"""Asks for an sshd inside the job, which forwards ports there. `groundcrew ssh-config` writes it as a ProxyCommand."""
TERMINAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]{0,63}", re.ASCII)
DEFAULT_TERMINAL = "xterm"
SHELL = "/bin/bash"
SFTP_SERVER = "/usr/lib/openssh/sftp-server"
SSHD = "/usr/sbin/sshd"
INNER_CONFIGURATION = "/etc/ssh/inner_config"


class SshSessionKind(StrEnum):
    """The kind of a session. INNER is an sshd in the job, through which an editor works."""

    SHELL = "shell"
    COMMAND = "command"
    SFTP = "sftp"
    INNER = "inner"


@dataclass(frozen=True)
class SshRequest:
    """A request of a session: what it runs as the job's user."""

    kind: SshSessionKind
    argv: tuple[str, ...]


def parse_ssh_login(login: str) -> int | None:
    """The number of the job in `job-42`, else None."""
    found = LOGIN.fullmatch(login)
    return int(found[1]) if found and int(found[1]) < 2**31 else None


def ssh_login_of(job_id: int) -> str:
    return f"job-{job_id}"


def parse_ssh_request(command: str) -> SshRequest:
    """The program of a session by the command that the person's ssh sent; empty is a shell."""
    if not command:
        return SshRequest(SshSessionKind.SHELL, (SHELL,))
    if command == SFTP_COMMAND:
        return SshRequest(SshSessionKind.SFTP, (SFTP_SERVER,))
    if command == INNER_COMMAND:
        return SshRequest(SshSessionKind.INNER, (SSHD, "-i", "-e", "-f", INNER_CONFIGURATION))
    return SshRequest(SshSessionKind.COMMAND, (SHELL, "-c", command))


def terminal_name(told: str | None) -> str | None:
    """The TERM of a session with a terminal; None for one without."""
    if told is None:
        return None
    return told if TERMINAL.fullmatch(told) else DEFAULT_TERMINAL


def ssh_client_address(connection: str) -> str:
    """The client's address: the first word of SSH_CONNECTION."""
    words = connection.split()
    return words[0][:64] if words else ""
