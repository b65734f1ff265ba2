"""The configuration of an sshd inside a job, which runs as the job's user and forwards to where the job can connect."""

import shlex
from collections.abc import Mapping, Sequence

from worker.ssh_door.layout import run_ssh_keygen_to_text

FOLDER = "/etc/ssh"
CONFIGURATION = "inner_config"
SHELL = f"{FOLDER}/shell"
SETTINGS = f"""# Written by Groundcrew for one session in one job.
HostKey {FOLDER}/host_key
PidFile none
UsePAM no
StrictModes no
LogLevel ERROR
PubkeyAuthentication yes
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile {FOLDER}/authorized_keys
AllowTcpForwarding yes
AllowStreamLocalForwarding yes
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
GatewayPorts no
PermitUserRC no
PermitUserEnvironment no
PrintMotd no
PrintLastLog no
UseDNS no
Subsystem sftp internal-sftp
"""


def render_inner_files(public_keys: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """{name: content}. The host key is made for this session, because the door's own key protects the connection
    already.
    """
    return {
        CONFIGURATION: SETTINGS,
        "authorized_keys": "".join(f"{key}\n" for key in public_keys),
        "host_key": run_ssh_keygen_to_text(),
        "shell": render_shell(variables),
    }


def render_shell(variables: Mapping[str, str]) -> str:
    """A login shell that has the variables of the job's program, as sshd gives none."""
    exports = [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(variables.items())
        if name.isidentifier()
    ]
    return "\n".join(["#!/bin/sh", *exports, 'exec /bin/bash "$@"']) + "\n"
