"""How much CPU time a page of the mix takes at full size: the portal's in this process, and the database server's.

python -m tests.bench.page_costs.page_cpu [--database postgresql] [--times 30] [--profile "member /jobs"]

Unlike a rate it can be measured while others use the machine. What is read once a second for all is read at that pace.
"""

import argparse
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import event
from werkzeug.test import EnvironBuilder
from werkzeug.wsgi import ClosingIterator

from portal.recent_values import RecentValues
from portal.shared_objects import share_object
from tests.bench.full_size.database_file import copy_full_size
from tests.bench.full_size.postgresql_template import full_size_database
from tests.bench.full_size.sizes import FULL
from tests.bench.page_costs.addresses import Address, addresses
from tests.bench.page_costs.filled_portal import FilledPortal, filled_portal, log_warnings_only
from tests.databases import DURABLE, postgresql_server

COMMON = (
    *(
        "/",
        "/jobs",
        "/jobs?state=failed",
        "/jobs?user",
        "/jobs?before",
        "/jobs/<id>",
        "/queue",
        "/accounting",
    ),
    "/api/v1/jobs",
)
"""What everybody asks for in the measure P7, by the names of the addresses."""
ADMINISTRATORS = (
    *("/nodes", "/access-log", "/access-log?before", "/access-log?who", "/access-log?kind=backup"),
    *("/operations", "/nodes/<id>"),
)
ADMINISTRATORS_SHARE = 4 / 16
WARM_UP = 12
"""Requests of a page before it is measured: by then PostgreSQL plans its statements once and for all."""


@dataclass(frozen=True)
class PageTime:
    """Seconds of CPU for one request, the median of all; `server` is the database's, on average."""

    page: Address
    portal: float
    server: float
    statements: int


def mixed_addresses() -> list[Address]:
    return [
        address
        for address in addresses(FULL)
        if address.name in COMMON or (address.role == "administrator" and address.name in ADMINISTRATORS)
    ]


def measure(portal: FilledPortal, times: int, server_seconds: Callable[[], float]) -> Iterator[PageTime]:
    for address in mixed_addresses():
        ask = request_of(portal, address)
        with counted_statements(portal) as statements:
            ask()
        for _ in range(WARM_UP):
            ask()
        taken, server = [], server_seconds()
        for _ in range(times):
            begun = time.thread_time()
            ask()
            taken.append(time.thread_time() - begun)
        server = (server_seconds() - server) / times
        yield PageTime(address, statistics.median(taken), server, len(statements))


def request_of(portal: FilledPortal, address: Address) -> Callable[[], None]:
    """Asks for it as gunicorn does, without a client that has its own costs."""
    headers = {"Accept-Language": "en"}
    if address.path.startswith("/api/"):
        headers["Authorization"] = f"Bearer {portal.tokens[address.role]}"
    else:
        name = f"gc_session_{portal.cluster.settings.port}"
        headers["Cookie"] = f"{name}={portal.cookies[address.role]}"
    path, _, query = address.path.partition("?")
    builder = EnvironBuilder(path, query_string=query, headers=list(headers.items()))
    environ = builder.get_environ()
    builder.close()

    def ask() -> None:
        found: list[str] = []

        def start(status: str, headers: Any, problem: Any = None) -> Callable[[bytes], object]:
            found.append(status)
            return lambda data: None

        with closing(ClosingIterator(portal.app.wsgi_app(environ.copy(), start))) as parts:
            b"".join(parts)
        assert found[0].startswith("200"), f"{address}: {found[0]}"

    return ask


@contextmanager
def counted_statements(portal: FilledPortal) -> Iterator[list[str]]:
    noted: list[str] = []

    def note(
        connection: object, cursor: object, statement: str, parameters: Any, context: object, many: bool
    ) -> None:
        if not statement.startswith(("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA")):
            noted.append(statement)

    event.listen(portal.cluster.store.engine, "before_cursor_execute", note)
    try:
        yield noted
    finally:
        event.remove(portal.cluster.store.engine, "before_cursor_execute", note)


@contextmanager
def full_portal(database: str) -> Iterator[tuple[FilledPortal, Callable[[], float]]]:
    """The portal, and how much CPU the database's server has used so far (none for SQLite)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if database == "sqlite":
            copy_full_size(folder / "groundcrew.db")
            with filled_portal(f"sqlite:///{folder}/groundcrew.db", folder, FULL) as portal:
                portal.cluster.store.hold_open()
                yield portal, lambda: 0.0
            return
        with (
            postgresql_server(DURABLE) as server,
            full_size_database(server) as url,
            filled_portal(url, folder, FULL) as portal,
        ):
            yield portal, lambda: cpu_seconds(server.process.pid)


def cpu_seconds(pid: int) -> float:
    """Of the process and all that it has started."""
    main = psutil.Process(pid)
    used = (process.cpu_times() for process in (main, *main.children(recursive=True)))
    return sum(times.user + times.system for times in used)


def print_times(times: list[PageTime]) -> None:
    print(f"{'page':<40} {'portal ms':>10} {'server ms':>10} {'statements':>11}")
    for each in times:
        print(
            f"{each.page!s:<40} {1000 * each.portal:>10.2f} {1000 * each.server:>10.2f} {each.statements:>11}"
        )
    for name, part in (("portal", "portal"), ("server", "server")):
        means = {
            role: statistics.fmean(getattr(each, part) for each in times if each.page.role == role)
            for role in ("administrator", "member")
        }
        mixed = ADMINISTRATORS_SHARE * means["administrator"] + (1 - ADMINISTRATORS_SHARE) * means["member"]
        print(
            f"a mixed page, {name}: {1000 * mixed:.2f} ms"
            f" (administrator {1000 * means['administrator']:.2f}, member {1000 * means['member']:.2f})"
        )


def print_profile(portal: FilledPortal, name: str, times: int) -> None:
    address = next(each for each in addresses(FULL) if str(each) == name)
    ask = request_of(portal, address)
    for _ in range(WARM_UP):
        ask()
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(times):
        ask()
    profile.disable()
    pstats.Stats(profile).sort_stats("cumulative").print_stats(90)
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def main() -> None:
    log_warnings_only()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--profile", metavar="PAGE", help="the functions of one page, as in 'member /jobs'")
    asked = parser.parse_args()
    with full_portal(asked.database) as (portal, server_seconds):
        share_object(portal.app, RecentValues, RecentValues())
        if asked.profile:
            print_profile(portal, asked.profile, asked.times)
        else:
            print_times(list(measure(portal, asked.times, server_seconds)))


if __name__ == "__main__":
    main()
