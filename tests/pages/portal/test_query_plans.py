"""At full size no page looks at more than a page's worth of a table that grows, on either database."""

from pathlib import Path

import pytest

from tests.bench.page_costs.query_plans import Walk, postgresql_walks, sqlite_walks
from tests.databases import PostgresqlServer
from tests.pages.portal.query_walks import POSTGRESQL, SQLITE

pytestmark = pytest.mark.long


def test_no_page_walks_through_a_table_on_sqlite(tmp_path: Path) -> None:
    expect(sqlite_walks(tmp_path), SQLITE)


def test_no_page_walks_through_a_table_on_postgresql(postgresql: PostgresqlServer, tmp_path: Path) -> None:
    expect(postgresql_walks(postgresql, tmp_path), POSTGRESQL)


def expect(walks: list[Walk], known: set[str]) -> None:
    """Those that are known and no others: what was mended is taken off the list."""
    further = {str(walk): f"{walk.cost} rows, {walk.how}" for walk in walks if str(walk) not in known}
    assert further == {}
    assert known - {str(walk) for walk in walks} == set(), (
        "take these out of tests/pages/portal/query_walks.py"
    )
