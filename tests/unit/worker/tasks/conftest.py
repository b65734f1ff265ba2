"""The mail server of the tests of notices and of messages to a person."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.worker.tasks.notice_receivers import Postbox, a_postbox
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    ensure_authority(folder, "Mail of the tests")
    ensure_certificate(folder, ["127.0.0.1"])
    return folder


@pytest.fixture
def postbox(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Postbox, str]]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "authority.pem"))
    with a_postbox(certificates) as box:
        yield box
