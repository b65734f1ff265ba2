"""The command saves its configuration for one user."""

import os
from pathlib import Path

import pytest

from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab


def test_login_keeps_address_and_token_for_this_user_alone(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lab: Lab
) -> None:
    url, token = os.environ["GROUNDCREW_URL"], os.environ["GROUNDCREW_TOKEN"]
    monkeypatch.delenv("GROUNDCREW_URL")
    monkeypatch.delenv("GROUNDCREW_TOKEN")
    said = run("login", "--url", url + "/", stdin=token + "\n").output
    assert said.startswith("Saved to")
    saved = tmp_path / "config" / "groundcrew" / "config.toml"
    assert saved.stat().st_mode & 0o777 == 0o600
    assert "vision" in run("workspace", "list").stdout
