"""A ground for each kind of database, made once: every run puts it back to its beginning."""

from collections.abc import Iterator

import pytest

from tests.crash import installation as grounds
from tests.crash.installation import Ground
from tests.crash.scenario.main_scenario import SHORT
from tests.crash.sweep import warm_up
from tests.databases import PostgresqlServer


@pytest.fixture(scope="session")
def sqlite_ground() -> Iterator[Ground]:
    with grounds.sqlite_ground() as ground:
        warm_up(ground, SHORT)
        yield ground


@pytest.fixture(scope="session")
def postgresql_ground(postgresql: PostgresqlServer) -> Iterator[Ground]:
    with grounds.postgresql_ground(postgresql) as ground:
        warm_up(ground, SHORT)
        yield ground


@pytest.fixture(params=["sqlite", "postgresql"])
def ground(request: pytest.FixtureRequest) -> Ground:
    found: Ground = request.getfixturevalue(f"{request.param}_ground")
    return found
