"""Pages execute a bounded number of statements and fetch what they show, in a small installation and in a large one."""

import shutil
from pathlib import Path

import pytest

from tests.bench.full_size.database_file import fill_file
from tests.bench.full_size.sizes import InstallationSize
from tests.bench.page_costs.page_statements import PageCost, read_page_costs
from tests.pages.portal.page_cost_limits import GROWING, MOST_ROWS, MOST_STATEMENTS, ROWS, STATEMENTS

PRINTED_BY = "python -m tests.bench.page_costs.page_statements prints all figures"


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> dict[str, PageCost]:
    def fill(file: Path, size: InstallationSize) -> None:
        shutil.copy(migrated_file, file)
        fill_file(file, size)

    return read_page_costs(tmp_path_factory.mktemp("costs"), fill)


def test_no_page_executes_more_statements_than_before(costs: dict[str, PageCost]) -> None:
    more = {
        name: (cost.small, cost.statements)
        for name, cost in costs.items()
        if max(cost.small, cost.statements) > STATEMENTS.get(name, MOST_STATEMENTS)
    }
    assert more == {}, PRINTED_BY


def test_no_further_page_executes_more_statements_the_larger_the_installation_is(
    costs: dict[str, PageCost],
) -> None:
    growing = {name for name, cost in costs.items() if cost.statements > cost.small}
    assert growing - GROWING == set(), PRINTED_BY


def test_no_page_fetches_more_rows_than_before(costs: dict[str, PageCost]) -> None:
    more = {name: cost.rows for name, cost in costs.items() if cost.rows > ROWS.get(name, MOST_ROWS)}
    assert more == {}, PRINTED_BY


def test_limits_name_pages_that_there_are_and_no_page_that_needs_none(costs: dict[str, PageCost]) -> None:
    assert (set(STATEMENTS) | GROWING | set(ROWS)) - set(costs) == set()
    kept = {name for name in STATEMENTS if max(costs[name].small, costs[name].statements) <= MOST_STATEMENTS}
    kept |= {name for name in GROWING if costs[name].statements <= costs[name].small}
    kept |= {name for name in ROWS if costs[name].rows <= MOST_ROWS}
    assert kept == set(), "take these out of tests/pages/portal/page_cost_limits.py: they are good now"
