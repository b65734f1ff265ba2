"""The command adds, lists and removes SSH keys, and sends no private key."""

from pathlib import Path

import pytest

from tests.pages.portal.command_lab import Run

KEY = Path("tests/data/ssh_keys/ed25519.pub")
FINGERPRINT = "SHA256:oIDs0K3tISddEqvQVs7KLkjtiwIYjiiPcStPoOm9/IY"


def test_a_key_is_added_listed_and_removed(run: Run) -> None:
    assert FINGERPRINT in run("ssh-key", "add", str(KEY), "--name", "laptop").output
    assert FINGERPRINT in run("ssh-key", "list").stdout
    assert "laptop is removed." in run("ssh-key", "remove", FINGERPRINT).output
    run("ssh-key", "remove", "laptop", expected=4)


def test_a_key_of_this_account_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "ssh-keygen" in run("ssh-key", "add", expected=2).output
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519.pub").write_text(KEY.read_text())
    assert FINGERPRINT in run("ssh-key", "add").output


def test_a_private_key_stays_here(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "id_ed25519"
    file.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert "is a private key" in run("ssh-key", "add", str(file), expected=2).output
