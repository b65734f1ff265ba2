"""What sshd is told, and the names that it alone sees."""

from pathlib import Path

import pytest

from worker.ssh_door import layout
from worker.ssh_door.layout import DoorFolder, DoorIds

IDS = DoorIds(1_148_576, 1_148_577)


def test_sshd_takes_keys_alone_and_forwards_nothing() -> None:
    lines = layout.render_sshd_configuration(["127.0.0.1:2222"]).splitlines()
    settings = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
    assert settings["ListenAddress"] == "127.0.0.1:2222"
    refused = [name for name in settings if "Password" in name or "Forwarding" in name or "Permit" in name]
    answers = {name: settings[name] for name in refused}
    assert answers.pop("DisableForwarding") == "yes" and answers.pop("PermitTTY") == "yes"
    assert set(answers.values()) == {"no"} and len(answers) >= 9
    assert settings["AllowUsers"] == "job-*" and settings["AuthorizedKeysFile"] == "none"
    assert "AcceptEnv" not in settings and settings["UsePAM"] == "no"


def test_names_stand_for_numbers_and_not_for_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "NAMES_BEHIND", 5)
    monkeypatch.setattr(layout, "NAMES_AHEAD", 3)
    folder = DoorFolder(tmp_path)
    folder.names.mkdir()
    folder.write_names(100, IDS)
    rows = [line.split(":") for line in (folder.names / "passwd").read_text().splitlines()]
    assert [row[0] for row in rows] == ["groundcrew-keys", *(f"job-{n}" for n in range(95, 104))]
    assert {row[2] for row in rows} == {str(IDS.door), str(IDS.keys)}
    assert all(int(row[2]) >= 500 for row in rows), "libnss-extrausers ignores smaller ones"


def test_a_host_key_has_a_public_half_without_a_comment(tmp_path: Path) -> None:
    folder = DoorFolder(tmp_path)
    layout.make_host_key(folder.host_key)
    assert folder.read_host_key().split()[0] == "ssh-ed25519" and len(folder.read_host_key().split()) == 2
    assert folder.host_key.stat().st_mode & 0o777 == 0o600
    assert layout.run_ssh_keygen_to_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
