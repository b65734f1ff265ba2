"""`python -m portal.live`: serves on the socket that the process manager or systemd listens on for it."""

import asyncio
import gc
import sqlite3
from contextlib import suppress

import structlog

from cluster.event_bus import NullEventBus
from cluster.logging import configure_logging
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.engine import Store
from portal.live.server import allow_many_files, inherited_socket, serve

log = structlog.get_logger()


def main() -> None:
    gc.disable()  # Until the objects that live as long as the process exist, see cluster/gc_freeze.py.
    settings = Settings.from_environment()
    configure_logging()
    allow_many_files()
    # It publishes nothing, and reads the event bus by itself.
    cluster = Cluster(Store(settings.database_url), NullEventBus(), settings)
    with suppress(sqlite3.Error):  # A database that does not answer is noticed at its first use.
        cluster.store.hold_open()
    asyncio.run(serve(cluster, inherited_socket()))


if __name__ == "__main__":
    main()
