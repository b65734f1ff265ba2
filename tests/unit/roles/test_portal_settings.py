"""The files with settings say the same to systemd, which reads them for the services, and to sh, for the commands."""

import subprocess
from pathlib import Path

from tests.unit.roles.rendering import render

COMMAND = {"command_name": "console", "secrets_of": "repair", "command_user": "groundcrew-repair"}
TRICKY = "https://hooks.lab.example/in?room=7&key=$(touch /tmp/pwn) 'x' #y"


def test_a_value_reaches_a_command_as_it_was_written(tmp_path: Path) -> None:
    secrets = {"redis-tasks": "a", "audit-key": "b", "credential-key": "c"}
    text = render(
        "portal",
        "service.env",
        portal_service="tasks",
        portal_secrets={"secrets": secrets},
        portal_webhook_url=TRICKY,
        portal_webhook_secret="",
    )
    file = tmp_path / "tasks.env"
    file.write_text(text)
    read = subprocess.run(
        [
            "sh",
            "-c",
            f'set -ea; . {file}; printf "%s|%s" "$GROUNDCREW_WEBHOOK_URL" "$GROUNDCREW_WEBHOOK_SECRET"',
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout == f"{TRICKY}|"
    assert read.stderr == ""


def test_the_portal_may_read_what_a_console_of_a_careful_root_writes(tmp_path: Path) -> None:
    text = render("portal", "groundcrew-command", groundcrew_configuration=str(tmp_path), **COMMAND)
    for name, content in (
        ("console", text),
        ("groundcrew.env", ""),
        ("repair.env", ""),
        ("setpriv", "#!/bin/sh\numask"),
    ):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    typed = f"umask 077; PATH={tmp_path}:$PATH exec sh {tmp_path}/console"
    said = subprocess.run(["sh", "-c", typed], capture_output=True, text=True, check=True).stdout
    assert int(said, 8) == 0o027
