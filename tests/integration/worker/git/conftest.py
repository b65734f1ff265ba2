"""A git server for each test, in a folder that the user without rights may enter."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.worker.git.git_server import GitServer, serve_git


@pytest.fixture
def git_server() -> Iterator[GitServer]:
    folder = Path(tempfile.mkdtemp(prefix="gc-git-server-"))
    try:
        with serve_git(folder) as server:
            yield server
    finally:
        shutil.rmtree(folder)
