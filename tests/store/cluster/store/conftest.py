"""An empty database of each kind, for what makes its own tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import PostgresqlServer


@pytest.fixture
def empty_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if database_kind == "sqlite":
        yield f"sqlite:///{tmp_path}/groundcrew.db"
        return
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    with server.empty() as url:
        yield url
