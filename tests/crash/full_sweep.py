"""Everything that the whole sweep plays on one database."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from tests.crash.installation import Ground, postgresql_ground, sqlite_ground
from tests.crash.interleavings import one_cancel, one_pause
from tests.crash.scenario.main_scenario import MAIN
from tests.crash.sweep import Report, list_points, random_kills, sweep, warm_up
from tests.databases import postgresql_server

SEEDS = range(1, 41)


def sweep_on(kind: str) -> list[Report]:
    """In a process of its own: the databases have nothing in common, and a machine has two cores at least."""
    reports: list[Report] = []
    with a_ground(kind) as ground:
        warm_up(ground, MAIN)
        for report in sweep_all(ground):
            print(report.line(), *report.wrong, sep="\n  ", flush=True)
            reports.append(report)
    return reports


def sweep_all(ground: Ground) -> Iterator[Report]:
    numbers = range(1, len(list_points(ground, MAIN)) + 1)
    yield sweep(ground, "A death at each point", MAIN, count(1))
    yield random_kills(ground, "Several deaths in one run", MAIN, SEEDS)
    yield sweep(ground, "A second scheduler at each third point", MAIN, every(numbers, 3), one_pause)
    yield sweep(ground, "A cancel of everything at each third point", MAIN, every(numbers, 3), one_cancel)


def every(numbers: Iterable[int], stride: int) -> list[int]:
    return list(numbers)[::stride]


@contextmanager
def a_ground(kind: str) -> Iterator[Ground]:
    if kind == "sqlite":
        with sqlite_ground() as ground:
            yield ground
    else:
        with postgresql_server() as server, postgresql_ground(server) as ground:
            yield ground
