"""A bundle is signed with the site's key, which is made once."""

from pathlib import Path

import pytest

from tests.unit.worker.small_bundle import a_bundle
from worker.bundle import check
from worker.bundle.build_cache import CollectingFailed
from worker.bundle.signing import ensure_signing_key, sign_bundle


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    key = tmp_path / "config" / "bundle-signing-key"
    ensure_signing_key(key)
    before = key.read_bytes()
    ensure_signing_key(key)
    assert key.read_bytes() == before
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700


def test_the_signature_is_of_the_key_that_stands_beside_it(tmp_path: Path) -> None:
    bundle, key = tmp_path / "bundle", tmp_path / "key"
    a_bundle(bundle, {"files/a_1.yaml": "a"})
    fingerprint = sign_bundle(bundle, key)
    signer = check.check_signature(bundle, check.read_manifest_bytes(bundle), None)
    assert check.fingerprint_of(signer) == fingerprint
    assert signer == check.parse_public_key(key.with_suffix(".pub").read_text())


def test_what_is_no_key_signs_nothing(tmp_path: Path) -> None:
    bundle, key = tmp_path / "bundle", tmp_path / "key"
    a_bundle(bundle, {"files/a_1.yaml": "a"})
    before = (bundle / "manifest.json.sig").read_bytes()
    key.write_text("no key")
    key.chmod(0o600)
    with pytest.raises(CollectingFailed, match="ssh-keygen"):
        sign_bundle(bundle, key)
    assert (bundle / "manifest.json.sig").read_bytes() == before
