"""What answers on this machine at this moment, and what therefore cannot be checked."""

import xmlrpc.client
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException

from cluster.settings import Settings
from worker.adapters.reachable import database_problem, portal_status, redis_problem
from worker.console.terminal import text
from worker.embedded.places import CLONE, Places
from worker.embedded.services import Supervisor

GOOD = 200


@dataclass(frozen=True)
class Stand:
    """`redis` and `database` are what they said instead of answering; `stopped` None: no process manager answers."""

    portal: int | None
    redis: str
    database: str
    stopped: tuple[str, ...] | None


def look(settings: Settings) -> Stand:
    return Stand(
        portal_status(settings),
        redis_problem(settings),
        database_problem(settings),
        stopped_services(settings),
    )


def stopped_services(settings: Settings) -> tuple[str, ...] | None:
    """Of the set of `make up`; on servers systemd is asked by the repairs themselves."""
    if settings.launcher == "systemd":
        return ()
    try:
        processes = Supervisor(Places(CLONE, settings.state_dir, settings.cache_dir)).processes()
    except (OSError, HTTPException, xmlrpc.client.Error):
        return None
    return tuple(each.name for each in processes if each.state != "RUNNING")


def lines_of(stand: Stand, settings: Settings) -> Iterator[str]:
    if stand.portal == GOOD:
        yield text("  Portal    answers at {url}", url=settings.public_url)
    elif stand.portal is None:
        yield text("  Portal    does not answer at {url}", url=settings.public_url)
    else:
        yield text("  Portal    answers with error {status}", status=stand.portal)
    if stand.redis:
        yield text("  Redis     does not answer: {problem}", problem=stand.redis)
    else:
        yield text("  Redis     answers")
    if stand.database:
        yield text("  Database  does not answer: {problem}", problem=stand.database)
    else:
        yield text("  Database  answers")
    if stand.stopped is None:
        yield text("  Services  no process manager answers. Start everything with: make up")
    elif stand.stopped:
        yield text("  Services  not running: {names}", names=", ".join(stand.stopped))


def nobody_hears(stand: Stand, settings: Settings) -> bool:
    """On servers the task worker of repairs looks at the rows, and needs no Redis."""
    return bool(stand.redis) and settings.launcher != "systemd"


def limits_of(stand: Stand, settings: Settings) -> Iterator[str]:
    """What is done differently while something is away."""
    if nobody_hears(stand, settings):
        yield text("Without Redis no task worker hears of a repair: this console runs it itself.")
    if stand.database:
        yield text(
            "Without the database nobody can say which jobs run or how long repairs took. They run all the same, "
            "one at a time; a file keeps the record until the database answers."
        )
