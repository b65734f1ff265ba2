"""A backup is encrypted to a recovery key, and only its private half brings it back."""

from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from tests.recovery_key import RecoveryKey, make_recovery_key
from tests.recovery_key import recovery_key as recovery_key
from worker.backups.encryption import (
    EncryptionFailed,
    decrypted_backup,
    delete_unfinished_copies,
    encrypted_copy,
)

NAME = "groundcrew-20261120-030000.sql.zst"


@pytest.fixture
def elsewhere(tmp_path: Path, recovery_key: RecoveryKey) -> Path:
    """An encrypted copy with its manifest, as the other machine has it."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / NAME).write_bytes(b"rows with password hashes")
    with encrypted_copy(here / NAME, recovery_key.recipient) as encrypted:
        assert b"password" not in encrypted.read_bytes()
        (there / encrypted.name).write_bytes(encrypted.read_bytes())
    assert [each.name for each in here.iterdir()] == [NAME]
    (there / f"{NAME}.json").write_text("{}")
    return there / f"{NAME}.age"


def test_the_private_half_brings_it_back_and_leaves_nothing(
    elsewhere: Path, recovery_key: RecoveryKey
) -> None:
    before = sorted(elsewhere.parent.iterdir())
    with decrypted_backup(elsewhere, recovery_key.file) as plain:
        assert plain.name == NAME and plain.read_bytes() == b"rows with password hashes"
        assert plain.with_name(f"{NAME}.json").read_text() == "{}"
        assert plain.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(elsewhere.parent.iterdir()) == before


def test_another_key_does_not(elsewhere: Path, tmp_path: Path) -> None:
    other = make_recovery_key(tmp_path / "other-key")
    with pytest.raises(Refused) as refused, decrypted_backup(elsewhere, other.file):
        pass
    assert refused.value.code == "restore.not_decrypted" and "no identity" in refused.value.data["said"]


def test_one_flipped_bit_is_found(elsewhere: Path, recovery_key: RecoveryKey) -> None:
    content = bytearray(elsewhere.read_bytes())
    content[-3] ^= 1
    elsewhere.write_bytes(content)
    with pytest.raises(Refused) as refused, decrypted_backup(elsewhere, recovery_key.file):
        pass
    assert refused.value.code == "restore.not_decrypted"


@pytest.mark.parametrize(("gone", "code"), [(".age", "restore.no_file"), (".json", "restore.no_manifest")])
def test_what_is_missing_is_named(elsewhere: Path, recovery_key: RecoveryKey, gone: str, code: str) -> None:
    (elsewhere.parent / f"{NAME}{gone}").unlink()
    with pytest.raises(Refused) as refused, decrypted_backup(elsewhere, recovery_key.file):
        pass
    assert refused.value.code == code


def test_without_age_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for ending in ("", ".age", ".json"):
        (tmp_path / f"{NAME}{ending}").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EncryptionFailed) as failed, encrypted_copy(tmp_path / NAME, "age1"):
        pass
    assert failed.value.problem.code == "copying.no_age"
    with pytest.raises(Refused) as refused, decrypted_backup(tmp_path / f"{NAME}.age", tmp_path / "key"):
        pass
    assert refused.value.code == "restore.no_age"


def test_what_a_killed_night_has_left_goes(tmp_path: Path) -> None:
    (tmp_path / ".copy-killed").mkdir()
    (tmp_path / ".copy-killed" / "half.age").touch()
    delete_unfinished_copies(tmp_path)
    assert list(tmp_path.iterdir()) == []
