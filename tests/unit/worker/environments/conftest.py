"""Fixtures of environment builds: stand-ins for the tools that a build runs."""

import shutil
from collections.abc import Iterator

import pytest

from tests.unit.worker.environments.fake_tools import Site, make_site


@pytest.fixture
def site() -> Iterator[Site]:
    made = make_site()
    yield made
    shutil.rmtree(made.folder)
