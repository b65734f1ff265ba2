"""All moves of a module share these fixtures: Redis, and the services' processes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adversaries.stage import SERVICE, Services, copy_tree
from tests.integration.conftest import redis_server


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    """The services may speak to it, and jobs may not."""
    folder = Path(tempfile.mkdtemp(prefix="gc-adversary-redis-"))
    with redis_server(folder / "run" / "redis.sock") as url:
        for path in (folder, folder / "run", folder / "run" / "redis.sock"):
            os.chown(path, SERVICE, SERVICE)
        yield url
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The product's files and the moves', where every user may read them."""
    folder = Path(tempfile.mkdtemp(prefix="gc-adversary-tree-"))
    yield copy_tree(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def services(tree: Path) -> Iterator[dict[int, Services]]:
    """By their user: those of servers, and those of `make up`."""
    started = {user: Services(user, tree) for user in (SERVICE, 0)}
    yield started
    for each in started.values():
        each.close()
