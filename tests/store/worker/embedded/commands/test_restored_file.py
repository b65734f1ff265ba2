"""An encrypted copy of a backup is put back with the private half of the recovery key, and without it by nobody."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.store.users import User
from tests.builders import a_user
from tests.recovery_key import RecoveryKey
from tests.recovery_key import recovery_key as recovery_key
from tests.store.restore_setup import backed_up
from tests.store.restore_setup import lab as lab
from worker.backups.encryption import encrypted_copy
from worker.embedded.commands.restored_file import RestoreRequest, restore_file


@pytest.fixture
def elsewhere(lab: Cluster, tmp_path: Path, recovery_key: RecoveryKey) -> Path:
    """The encrypted copy with its manifest; somebody was added since it was made."""
    file, folder = backed_up(lab), tmp_path / "elsewhere"
    folder.mkdir()
    with encrypted_copy(file, recovery_key.recipient) as encrypted:
        shutil.copy(encrypted, folder)
    shutil.move(f"{file}.json", folder)
    file.unlink()
    a_user(lab, "later")
    lab.store.close()
    return folder / f"{file.name}.age"


def names(lab: Cluster) -> set[str]:
    with lab.store.read() as session:
        return set(session.scalars(select(User.name)))


def test_the_private_half_of_the_key_puts_it_back(
    lab: Cluster, elsewhere: Path, recovery_key: RecoveryKey
) -> None:
    assert "later" in names(lab)
    lab.store.close()
    done = restore_file(lab.settings, RestoreRequest(elsewhere, False, recovery_key.file))
    assert done.rows > 0 and done.pre_restore_copy is not None
    assert "hjkim" in names(lab) and "later" not in names(lab)
    assert {each.name for each in elsewhere.parent.iterdir()} == {
        elsewhere.name,
        elsewhere.name.replace(".age", ".json"),
    }


def test_without_it_nothing_is_changed(lab: Cluster, elsewhere: Path) -> None:
    with pytest.raises(Refused) as refused:
        restore_file(lab.settings, RestoreRequest(elsewhere, False))
    assert refused.value.code == "restore.encrypted"
    assert "later" in names(lab)
