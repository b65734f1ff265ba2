"""The authority is made once; the portal's certificate whenever names, authority or time ask for it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from worker.adapters.portal_certificates import (
    CertificateFailed,
    ensure_authority,
    ensure_certificate,
    is_address,
    is_certificate_valid,
    is_valid_for,
    read_certificate_names,
    run_openssl,
    subject_alternative_names,
)

NAMES = ("lab.example", "192.0.2.7", "fd00::7")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert ensure_authority(tmp_path, "Groundcrew of the lab")
    assert ensure_certificate(tmp_path, NAMES)
    return tmp_path


def test_what_is_valid_is_not_made_again(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert not ensure_authority(folder, "Groundcrew of the lab")
    assert not ensure_certificate(folder, NAMES)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert set(before) == {"authority.pem", "authority.key", "portal.pem", "portal.key"}


def test_keys_are_for_nobody_else_and_the_chain_ends_with_the_authority(folder: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"authority.pem": 0o644, "authority.key": 0o600, "portal.pem": 0o644, "portal.key": 0o600}
    assert (folder / "portal.pem").read_text().endswith((folder / "authority.pem").read_text())
    purpose = run_openssl(["x509", "-in", str(folder / "portal.pem"), "-noout", "-ext", "basicConstraints"])
    assert "CA:FALSE" in purpose.stdout


def test_the_certificate_says_its_names(folder: Path) -> None:
    assert read_certificate_names(folder) == list(NAMES)


def without_key(folder: Path) -> None:
    (folder / "portal.key").unlink()


def with_another_authority(folder: Path) -> None:
    for name in ("authority.pem", "authority.key"):
        (folder / name).unlink()
    assert ensure_authority(folder, "another one")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (without_key, NAMES),
        (with_another_authority, NAMES),
        (lambda folder: None, NAMES[:2]),
        (lambda folder: None, (*NAMES, "other.example")),
    ],
    ids=["no key", "another authority", "a name less", "a name more"],
)
def test_the_certificate_is_made_again_where_it_would_not_do(
    folder: Path, change: Callable[[Path], None], names: tuple[str, ...]
) -> None:
    change(folder)
    assert ensure_certificate(folder, names)
    assert is_certificate_valid(folder, folder / "portal.pem", names)


def test_a_certificate_is_renewed_before_its_end(folder: Path) -> None:
    certificate = folder / "portal.pem"
    assert is_valid_for(certificate, timedelta(days=396))
    assert not is_valid_for(certificate, timedelta(days=398))
    assert not is_valid_for(folder / "missing.pem", timedelta())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("192.0.2.7", True), ("fd00::7", True), ("lab.example", False), ("999.1.1.1", False)],
)
def test_addresses_and_names_are_told_apart(name: str, expected: bool) -> None:
    assert is_address(name) is expected
    assert subject_alternative_names([name]) == f"{'IP' if expected else 'DNS'}:{name}"


def test_a_failure_says_the_last_words_of_openssl(tmp_path: Path) -> None:
    with pytest.raises(CertificateFailed, match="openssl x509: "):
        read_certificate_names(tmp_path)
    assert run_openssl(["x509", "-in", str(tmp_path / "none")], must=False).returncode != 0
