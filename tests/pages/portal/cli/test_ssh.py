"""The command keeps SSH keys, and writes entries for ssh, which OpenSSH itself reads as they are meant."""

import subprocess
from pathlib import Path

import pytest

from cluster.services.ssh.door_state import SshDoorState, record_door_state
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab

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


HOST_KEY = " ".join(Path("tests/data/ssh_keys/ed25519.pub").read_text().split()[:2])


def test_a_closed_door_says_why(run: Run) -> None:
    assert "No SSH door runs here" in run("ssh-config", expected=5).output


def test_entries_are_written_once(
    lab: Lab, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    record_door_state(lab.cluster, SshDoorState(True, 2222, HOST_KEY))
    folder = tmp_path / ".ssh"
    folder.mkdir()
    (folder / "config").write_text("Host lab\n    User minji\n")
    for _ in range(2):
        assert "Written to" in run("ssh-config").output
    assert (folder / "config").read_text().splitlines() == [
        "Include groundcrew_config",
        "",
        "Host lab",
        "    User minji",
    ]
    assert (folder / "groundcrew_known_hosts").read_text() == f"groundcrew-door {HOST_KEY}\n"
    shown = subprocess.run(
        ["ssh", "-F", str(folder / "groundcrew_config"), "-G", "job-42"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "user job\n" in shown and "proxycommand ssh -q %n@groundcrew-door groundcrew-sshd" in shown
    assert "Host job-*" in run("ssh-config", "--print").stdout
