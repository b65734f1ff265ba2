"""The end of a control plane's certificates is read from the files themselves, each version of a file once."""

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from worker.adapters import control_plane_certificates
from worker.adapters.control_plane_certificates import read_expiry_dates


def make(path: Path, days: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", "/dev/null", "-out", str(path), "-subj", "/CN=here", "-days", str(days)]
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def test_each_certificate_says_when_it_ends(tmp_path: Path) -> None:
    make(tmp_path / "apiserver.crt", 20)
    make(tmp_path / "etcd" / "server.crt", 300)
    (tmp_path / "broken.crt").write_text("nothing")
    ends = read_expiry_dates(tmp_path)
    assert sorted(ends) == ["apiserver", "etcd-server"]
    left = datetime.fromisoformat(ends["apiserver"]) - datetime.now(UTC)
    assert timedelta(days=19) < left <= timedelta(days=20)


def test_a_file_is_read_once_and_again_when_it_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "apiserver.crt", 20)
    first = read_expiry_dates(tmp_path)
    monkeypatch.setattr(control_plane_certificates, "read_expiry_by_openssl", lambda path: "asked again")
    assert read_expiry_dates(tmp_path) == first
    os.utime(tmp_path / "apiserver.crt", ns=(1, 1))
    assert read_expiry_dates(tmp_path) == {"apiserver": "asked again"}


def test_a_machine_without_a_control_plane_says_nothing(tmp_path: Path) -> None:
    assert read_expiry_dates(tmp_path / "nowhere") == {}
