"""gunicorn's configuration: `gunicorn --config python:portal.gunicorn portal.wsgi:app`.

Threads, because a stream (one per open tab) holds one while the tab is visible; 1×256 carried 200
streams at 1 ms for an ordinary request. One process, so that one Redis reader serves all of them.
"""

import gc
import sqlite3
import sys
from contextlib import suppress
from typing import Any

from cluster.gc_freeze import freeze_startup_objects
from cluster.logging import configure_logging
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from portal.live.stream_slots import StreamSlots
from portal.shared_objects import shared_object

settings = Settings.from_environment()
configure_logging()

# nginx alone speaks with it. Where a process manager hands over a socket that it keeps open, that one counts.
bind = f"unix:{settings.state_dir}/run/portal.sock"
worker_class = "gthread"
workers = 1
threads = 256
# The heartbeat of the process, not a limit for requests.
timeout = 30
# Streams have no natural end: a stop waits this long for requests that have, then closes the rest.
graceful_timeout = 5
keepalive = 15
# The portal writes its own line per request (portal/web/request_log.py), without secrets.
accesslog = None
errorlog = "-"
proc_name = "groundcrew-portal"
limit_request_line = 8190
control_socket_disable = True


SWITCH_SECONDS = 0.001
"""A thread that computes gives way after so long. A page takes up its work some fifty times (each read of the database,
each write to its reader): with Python's own 5 ms it waits a quarter of a second for every thread that computes."""


def post_fork(server: Any, worker: Any) -> None:
    """The process imports the portal without the garbage collector, which `freeze_startup_objects` enables again."""
    gc.disable()


def post_worker_init(worker: Any) -> None:
    """Streams end by themselves when this process has to stop."""
    sys.setswitchinterval(SWITCH_SECONDS)
    shared_object(StreamSlots, worker.wsgi).is_closing = lambda: not worker.alive
    stay_open(shared_object(Cluster, worker.wsgi).store)
    freeze_startup_objects()


def stay_open(store: Store) -> None:
    """A database that is away is met at its first use."""
    with suppress(sqlite3.Error):
        store.hold_open()
