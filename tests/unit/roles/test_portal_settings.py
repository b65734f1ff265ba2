"""The files with settings say the same to systemd, which reads them for the services, and to sh, for the commands."""

import subprocess
from pathlib import Path

from tests.unit.roles.rendering import render

TRICKY = "https://hooks.lab.example/in?room=7&key=$(touch /tmp/pwn) 'x' #y"


def test_a_value_reaches_a_command_as_it_was_written(tmp_path: Path) -> None:
    secrets = {"redis-tasks": "a", "audit-key": "b"}
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
