"""gunicorn's configuration: `gunicorn --config python:portal.gunicorn portal.wsgi:app`.

The portal is imported once, in the parent, and each worker is a fork of it: they share its memory, and one that ends is
followed by another at once. Nothing is connected and no thread begins before the fork. What a worker keeps in memory is
its own alone: limits that protect a process are counted per process, everything else is a row.

Threads, because a request waits for the database, for others of its session and for whoever reads its answer. What open
pages follow, their streams and the growth of logs, is a process of its own: portal/live.
"""

import gc
import os
import sqlite3
import sys
from contextlib import suppress
from typing import Any

from cluster.gc_freeze import freeze_startup_objects
from cluster.logging import configure_logging
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from portal.shared_objects import shared_object
from portal.web.concurrency_limit import THREADS

MOST_WORKERS = 2
"""A page computes with one processor at a time; the others are for the scheduler and for jobs."""
SWITCH_SECONDS = 0.00025
"""A thread that computes gives way after so long. A page takes up its work a hundred times (each row that it reads,
each write to its reader), and waits so long each time for every thread that computes: with Python's own 5 ms, half a
second."""

# The import goes faster without the collector, which `when_ready` starts.
gc.disable()
settings = Settings.from_environment()
configure_logging()

# nginx alone speaks with it. Where a process manager hands over a socket that it keeps open, that one counts.
bind = f"unix:{settings.state_dir}/run/portal.sock"
worker_class = "gthread"
preload_app = True
workers = min(MOST_WORKERS, len(os.sched_getaffinity(0)))
threads = THREADS
# The heartbeat of the process, not a limit for requests.
timeout = 30
# A stop waits this long for requests, then closes the rest.
graceful_timeout = 5
keepalive = 15
# The portal writes its own line per request (portal/web/request_log.py), without secrets.
accesslog = None
errorlog = "-"
proc_name = "groundcrew-portal"
limit_request_line = 8190
control_socket_disable = True


def when_ready(server: Any) -> None:
    """The parent has imported the portal and has forked no worker yet."""
    freeze_startup_objects()


def post_worker_init(worker: Any) -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    stay_open(shared_object(Cluster, worker.wsgi).store)


def stay_open(store: Store) -> None:
    """A database that is away is met at its first use."""
    with suppress(sqlite3.Error):
        store.hold_open()
