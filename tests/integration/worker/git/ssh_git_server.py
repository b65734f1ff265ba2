"""A git server with ssh on this machine: Debian's sshd, and a file of deploy keys that may read repositories."""

import getpass
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.free_ports import free_port
from tests.integration.worker.git.git_server import Origin, run_git

SSHD = "/usr/sbin/sshd"
CONFIGURATION = """
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/deploy_keys
ForceCommand git-shell -c "$SSH_ORIGINAL_COMMAND"
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
DisableForwarding yes
PermitTTY no
"""


@dataclass
class SshGitServer:
    folder: Path
    port: int
    address: str = "127.0.0.1"

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    def url(self, name: str) -> str:
        return f"ssh://{getpass.getuser()}@{self.host}{self.folder}/{name}"

    def make_origin(self, name: str) -> Origin:
        path = self.folder / name
        path.mkdir()
        run_git(path, "init", "--quiet")
        return Origin(path)

    def add_deploy_key(self, public_key: str) -> None:
        with (self.folder / "deploy_keys").open("a") as keys:
            keys.write(f"{public_key.strip()}\n")


@contextmanager
def serve_git_by_ssh(folder: Path, address: str = "127.0.0.1") -> Iterator[SshGitServer]:
    server = SshGitServer(folder, free_port(), address)
    key = folder / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (folder / "deploy_keys").touch()
    configuration = folder / "sshd_config"
    configuration.write_text(CONFIGURATION.format(address=address, port=server.port, folder=folder))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    log = folder / "sshd.log"
    with log.open("wb") as output:
        sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", str(configuration)], stderr=output)
    try:
        until = time.monotonic() + 10
        while "Server listening" not in log.read_text():
            assert sshd.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        yield server
    finally:
        sshd.terminate()
        sshd.wait(10)
