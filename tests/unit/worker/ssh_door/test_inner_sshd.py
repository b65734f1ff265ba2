"""The sshd inside a job reads files of its session alone; its shell has the variables of the job's program."""

import subprocess
from pathlib import Path

from worker.ssh_door.inner_sshd import CONFIGURATION, render_inner_files, render_shell


def test_a_shell_has_every_variable_as_it_is(tmp_path: Path) -> None:
    variables = {"MARK": 'it\'s "here" $HOME `id`\n;', "PATH": "/usr/bin:/bin", "not a name": "x", "A-B": "x"}
    shell = tmp_path / "shell"
    shell.write_text(render_shell(variables))
    done = subprocess.run(
        ["/bin/sh", str(shell), "-c", 'printf %s "$MARK"'], env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout == variables["MARK"]
    assert "A-B" not in shell.read_text()


def test_keys_are_the_persons_and_no_agent_is_forwarded() -> None:
    files = render_inner_files(["ssh-ed25519 AAAA", "ssh-rsa BBBB"], {})
    assert files["authorized_keys"] == "ssh-ed25519 AAAA\nssh-rsa BBBB\n"
    for line in (
        "AllowAgentForwarding no",
        "GatewayPorts no",
        "PermitUserEnvironment no",
        "PasswordAuthentication no",
    ):
        assert line in files[CONFIGURATION].splitlines()
