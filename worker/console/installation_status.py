"""Read which of portal, Redis, database and services answer, and describe what is limited meanwhile."""

import xmlrpc.client
from collections.abc import Iterator
from dataclasses import dataclass

from cluster.domain.states import TaskQueue
from cluster.settings import Settings
from worker.adapters.health_probes import database_problem, portal_status, redis_problem
from worker.bootstrap.paths import CLONE, InstallationPaths
from worker.console.prompt import console_text
from worker.embedded.supervisor_client import SupervisorClient

HTTP_OK = 200


@dataclass(frozen=True)
class InstallationStatus:
    """`redis_error` and `database_error` are empty when each answers; `stopped_services` is None if no process
    manager answers."""

    portal_http_status: int | None
    redis_error: str
    database_error: str
    stopped_services: tuple[str, ...] | None


def read_installation_status(settings: Settings) -> InstallationStatus:
    return InstallationStatus(
        portal_status(settings),
        redis_problem(settings),
        database_problem(settings),
        list_stopped_services(settings),
    )


def list_stopped_services(settings: Settings) -> tuple[str, ...] | None:
    """The stopped services of `make up`. On servers the repairs themselves ask systemd."""
    if settings.installation_kind.capabilities.has_systemd:
        return ()
    try:
        processes = SupervisorClient(
            InstallationPaths(CLONE, settings.state_dir, settings.cache_dir)
        ).list_services()
    except (OSError, xmlrpc.client.Error):
        return None
    return tuple(each.name for each in processes if each.state != "RUNNING")


def describe_status(stand: InstallationStatus, settings: Settings) -> Iterator[str]:
    if stand.portal_http_status == HTTP_OK:
        yield console_text("  Portal    answers at {url}", url=settings.public_url)
    elif stand.portal_http_status is None:
        yield console_text("  Portal    does not answer at {url}", url=settings.public_url)
    else:
        yield console_text("  Portal    answers with error {status}", status=stand.portal_http_status)
    if stand.redis_error:
        yield console_text("  Redis     does not answer: {problem}", problem=stand.redis_error)
    else:
        yield console_text("  Redis     answers")
    if stand.database_error:
        yield console_text("  Database  does not answer: {problem}", problem=stand.database_error)
    else:
        yield console_text("  Database  answers")
    if stand.stopped_services is None:
        yield console_text("  Services  no process manager answers. Start everything with: make up")
    elif stand.stopped_services:
        yield console_text("  Services  not running: {names}", names=", ".join(stand.stopped_services))


def has_no_task_worker(stand: InstallationStatus, settings: Settings) -> bool:
    """Whether no task worker takes repairs. On servers the repair worker polls the rows and needs no Redis."""
    polled = settings.installation_kind.capabilities.polled_queues
    return bool(stand.redis_error) and TaskQueue.REPAIR not in polled


def describe_limits(stand: InstallationStatus, settings: Settings) -> Iterator[str]:
    """Yields a sentence for each limit while a part of the installation is away."""
    if has_no_task_worker(stand, settings):
        yield console_text("Without Redis no task worker hears of a repair: this console runs it itself.")
    if stand.database_error:
        yield console_text(
            "Without the database nobody can say which jobs run or how long repairs took. They run all the same, "
            "one at a time; a file keeps the record until the database answers."
        )
