"""A recovery key of Debian's age, made once for each test that needs one."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import IS_CI


@dataclass(frozen=True)
class RecoveryKey:
    """The public half, and the file with the private one."""

    recipient: str
    file: Path


@pytest.fixture
def recovery_key(tmp_path: Path) -> RecoveryKey:
    """Skips with the reason where age is not installed; in CI that is a failure."""
    return make_recovery_key(tmp_path / "recovery-key")


def make_recovery_key(file: Path) -> RecoveryKey:
    try:
        subprocess.run(["age-keygen", "-o", str(file)], check=True, capture_output=True)
    except FileNotFoundError:
        (pytest.fail if IS_CI else pytest.skip)("age is not installed: apt-get install age")
    said = subprocess.run(["age-keygen", "-y", str(file)], check=True, capture_output=True, text=True)
    return RecoveryKey(said.stdout.strip(), file)
