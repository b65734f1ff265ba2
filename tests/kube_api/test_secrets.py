"""etcd has the cluster's secrets encrypted, and so has every snapshot and each of its copies."""

import base64
from pathlib import Path

from tests.kubernetes.api_server import ApiServer, encryption_of, write_encryption
from worker.kubernetes.object_kinds import object_head

SECRET, PLAIN = "calm-birds-sleep-at-noon", "calm-birds-wake-at-noon"


def is_written(folder: Path, text: str) -> bool:
    """In the database or in the journal, into which everything goes first."""
    return any(text.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_etcd_has_no_secret_in_plain_text(server: ApiServer, namespace: str) -> None:
    encoded = base64.b64encode(SECRET.encode()).decode()
    server.api.create(object_head("Secret", "key", namespace) | {"data": {"key": encoded}})
    server.api.create(object_head("ConfigMap", "note", namespace) | {"data": {"note": PLAIN}})
    found = server.api.get("Secret", "key", namespace)
    assert found and found["data"]["key"] == encoded
    assert is_written(server.folder / "etcd", PLAIN)
    assert not is_written(server.folder / "etcd", SECRET)
    assert not is_written(server.folder / "etcd", encoded)


def test_the_key_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    write_encryption(tmp_path)
    key = encryption_of(tmp_path).read_bytes()
    assert encryption_of(tmp_path).stat().st_mode & 0o777 == 0o600
    write_encryption(tmp_path)
    assert encryption_of(tmp_path).read_bytes() == key
