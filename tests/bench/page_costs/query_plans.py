"""Which statements of which pages walk through a table that grows, in a database of full size after ANALYZE.

python -m tests.bench.page_costs.query_plans [--database postgresql]

A statement walks a table where it looks at more than WALKED rows of it to make one page: a plan alone does not say
that, because the newest rows of a whole table are also a scan, which ends after a page.
"""

import argparse
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import event

from cluster.store.alerts import Notification
from cluster.store.audit import AuditEntry, AuditSeal
from cluster.store.jobs import Attempt, Job, JobEvent, Sweep
from cluster.store.leases import IdempotentAnswer
from cluster.store.nodes import Allocation
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from cluster.store.users import FailedSignIn, SignInSession
from tests.bench.full_size.database_file import copy_full_size
from tests.bench.full_size.postgresql_template import full_size_database
from tests.bench.full_size.sizes import FULL, InstallationSize
from tests.bench.page_costs.addresses import Address, addresses
from tests.bench.page_costs.filled_portal import FilledPortal, filled_portal, log_warnings_only
from tests.bench.page_costs.statement_tally import tallied
from tests.databases import PostgresqlServer, postgresql_server

GROWING = tuple(
    row.__tablename__
    for row in (
        *(Job, Attempt, Allocation, JobEvent, Sweep, AuditEntry, AuditSeal, Operation),
        *(RepairRun, SignInSession, FailedSignIn, IdempotentAnswer, Notification),
    )
)
"""What an installation has the more of the older it is."""
WALKED = 5_000
"""Rows."""
WALKED_STEPS = 40_000
"""Of SQLite's machine, which does not count rows: a page of fifty with all that belongs to them takes fewer."""
STEPS_PER_ROW = 3
"""Of a scan that takes no row."""
SCAN = re.compile(r"(SCAN|SEARCH) (\w+)")


@dataclass(frozen=True)
class Walk:
    """One statement of a page that looks at too much."""

    page: str
    table: str
    how: str
    """What the database says of it."""
    cost: int
    """Rows; on SQLite estimated from steps."""

    def __str__(self) -> str:
        return f"{self.page}: {self.table}"


def sqlite_walks(folder: Path, size: InstallationSize = FULL) -> list[Walk]:
    file = folder / "groundcrew.db"
    copy_full_size(file, size)
    found: list[Walk] = []
    with (
        filled_portal(f"sqlite:///{file}", folder, size) as portal,
        tallied(portal.cluster.store) as tally,
        closing(sqlite3.connect(file)) as plain,
    ):
        for address in addresses(size):
            tally.take()
            get(portal, address)
            for statement in tally.take():
                if statement.steps > WALKED_STEPS and statement.text.startswith("SELECT"):
                    plan = plain.execute(f"EXPLAIN QUERY PLAN {statement.text}", statement.parameters)
                    steps = [row[3] for row in plan]
                    found += walks_of_plan(address, steps, statement.steps // STEPS_PER_ROW)
    return found


def walks_of_plan(address: Address, plan: list[str], rows: int) -> Iterator[Walk]:
    """The first growing table that the plan names; where there is none, it is a table that does not grow."""
    for step in plan:
        match = SCAN.match(step)
        table = re.sub(r"_\d+$", "", match[2]) if match else ""
        if table in GROWING:
            yield Walk(str(address), table, step, rows)
            return


def get(portal: FilledPortal, address: Address) -> None:
    status = portal.get(address)
    assert status == 200, f"{address}: {address.path}: {status}"


def postgresql_walks(server: PostgresqlServer, folder: Path, size: InstallationSize = FULL) -> list[Walk]:
    found: list[Walk] = []
    with full_size_database(server, size) as url, filled_portal(url, folder, size) as portal:
        for address in addresses(size):
            with noted_statements(portal) as statements:
                get(portal, address)
            for statement, parameters in statements:
                found += explain(portal, address, statement, parameters)
    return found


@contextmanager
def noted_statements(portal: FilledPortal) -> Iterator[list[tuple[str, Any]]]:
    """The queries of one page, as the driver gets them."""
    noted: list[tuple[str, Any]] = []

    def note(
        connection: object, cursor: object, statement: str, parameters: Any, context: object, many: bool
    ) -> None:
        if statement.startswith("SELECT") and any(table in statement for table in GROWING):
            noted.append((statement, parameters))

    event.listen(portal.cluster.store.engine, "before_cursor_execute", note)
    try:
        yield noted
    finally:
        event.remove(portal.cluster.store.engine, "before_cursor_execute", note)


def explain(portal: FilledPortal, address: Address, statement: str, parameters: Any) -> Iterator[Walk]:
    with portal.cluster.store.engine.connect() as connection:
        (plan,) = connection.exec_driver_sql(
            f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}", parameters
        ).scalar_one()
    for node in nodes_of(plan["Plan"]):
        rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        if node.get("Relation Name") in GROWING and rows > WALKED:
            yield Walk(str(address), node["Relation Name"], node["Node Type"], int(rows))


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes_of(below)


def main() -> None:
    log_warnings_only()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if asked.database == "sqlite":
            walks = sqlite_walks(folder)
        else:
            with postgresql_server() as server:
                walks = postgresql_walks(server, folder)
    for walk in walks:
        print(f"{walk!s:<60} {walk.cost:>10,} rows  {walk.how}")
    print("\nWALKS = {")
    print("".join(f'    "{name}",\n' for name in dict.fromkeys(map(str, walks))) + "}")


if __name__ == "__main__":
    main()
