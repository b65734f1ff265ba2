"""gunicorn's configuration: `gunicorn --config python:portal.gunicorn portal.wsgi:app`.

The portal is imported once, in the parent, and each worker is a fork of it: the workers share its memory, and a new one
replaces one that ends. Nothing is connected and no thread begins before the fork. Each worker has its own memory:
limits that protect a process are counted per process, and everything else is a row. The workers have threads, because a
request waits for the database, for other requests of its session and for the reader of its answer. A process of its own
(portal/live) serves what open pages follow: their streams and the growth of logs.
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
"""The seconds after which a thread that computes lets others run. A page continues its work a hundred times (for each
row that it reads and each write to its reader), and each time waits so long for every thread that computes: with
Python's default of 5 ms, half a second.
"""

# The import goes faster without the collector, which `when_ready` starts.
gc.disable()
settings = Settings.from_environment()
configure_logging()

# nginx alone speaks with it. If a process manager hands over a socket that it keeps open, that socket is used.
bind = f"unix:{settings.state_dir}/run/portal.sock"
worker_class = "gthread"
preload_app = True
workers = min(MOST_WORKERS, len(os.sched_getaffinity(0)))
threads = THREADS
# The heartbeat of the process, not a limit for requests.
timeout = 30
# A stop waits this long for running requests and then closes their connections.
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
    """Keeps the database's files open. A database that does not answer is noticed at its first use."""
    with suppress(sqlite3.Error):
        store.hold_open()
