"""Ground for real runs: a storage folder that the jobs' own users may enter, and the installed runtime."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

INSIDE = Path(__file__).parents[2] / "worker" / "inside"


@pytest.fixture
def ground() -> Iterator[Path]:
    """Not pytest's own folder: only its owner may enter that one."""
    folder = Path(tempfile.mkdtemp(prefix="gc-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def runtime(ground: Path) -> Path:
    """What jobs import, installed where their users can read it."""
    target = ground / "runtime"
    shutil.copytree(INSIDE, target, ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
    return target
