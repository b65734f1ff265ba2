"""How many statements a page executes and how many rows it fetches, in a small installation and in a large one.

python -m tests.bench.page_costs.page_statements      prints a table and the ratchet of the test
"""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flask import Flask

from portal.recent_values import RecentValues
from portal.shared_objects import share_object
from tests.bench.full_size.database_file import write_rows
from tests.bench.full_size.sizes import InstallationSize
from tests.bench.page_costs.addresses import addresses, user_of
from tests.bench.page_costs.filled_portal import filled_portal, log_warnings_only
from tests.bench.page_costs.statement_tally import tallied

SMALL = InstallationSize(
    people=12, administrators=2, workspaces=3, trainings=11, jobs=30, audit_entries=10, nodes=4,
    operations=10, repair_runs=10,
)  # fmt: skip
LARGE = InstallationSize(
    people=203, administrators=2, workspaces=101, trainings=501, jobs=1_000, audit_entries=1_000, nodes=64,
    operations=1_000, repair_runs=1_000,
)  # fmt: skip
"""A thousand rows of what has pages, 512 units."""


@dataclass(frozen=True)
class PageCost:
    """`small` is the number of statements in the small installation, the rest is from the large one."""

    small: int
    statements: int
    rows: int


def read_page_costs(
    folder: Path, fill: Callable[[Path, InstallationSize], None] = write_rows
) -> dict[str, PageCost]:
    """By role and name of the page. Raises AssertionError where a page does not answer."""
    app, found = None, []
    for size in (SMALL, LARGE):
        place = folder / str(size.jobs)
        place.mkdir()
        fill(place / "groundcrew.db", size)
        counts, app = count_statements(f"sqlite:///{place}/groundcrew.db", place, size, app)
        found.append(counts)
    small, large = found
    return {name: PageCost(small[name][0], *large[name]) for name in large}


def count_statements(
    url: str, folder: Path, size: InstallationSize, app: Flask | None
) -> tuple[dict[str, tuple[int, int]], Flask]:
    """(statements, rows) by page, and the application for the next installation.

    What is the same for everybody is read once a second by a process for all its pages, and is not counted.
    """
    with filled_portal(url, folder, size, app) as portal, tallied(portal.cluster.store) as tally:
        counts, recent = {}, RecentValues(math.inf)
        share_object(portal.app, RecentValues, recent)
        for address in addresses(size):
            portal.get(address)
            recent.forget(user_of(size, address.role))
            tally.take()
            status = portal.get(address)
            assert status == 200, f"{address}: {address.path}: {status}"
            taken = tally.take()
            counts[str(address)] = len(taken), sum(statement.rows for statement in taken)
        return counts, portal.app


def main() -> None:
    log_warnings_only()
    with tempfile.TemporaryDirectory() as folder:
        costs = read_page_costs(Path(folder))
    print(f"{'page':<50} {'small':>6} {'large':>6} {'rows':>8}")
    for name, cost in costs.items():
        print(f"{name:<50} {cost.small:>6} {cost.statements:>6} {cost.rows:>8,}")
    print("\nMOST = {")
    for name, cost in costs.items():
        print(f'    "{name}": ({cost.statements}, {cost.rows}),')
    print("}")


if __name__ == "__main__":
    main()
