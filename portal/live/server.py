"""The server of event streams: uvicorn on the socket that systemd or supervisord hands over."""

import asyncio
import resource
import socket
import sys
from contextlib import suppress
from types import FrameType

import structlog
from gunicorn.systemd import SD_LISTEN_FDS_START, listen_fds, sd_notify
from uvicorn import Config, Server

from cluster.gc_freeze import freeze_startup_objects
from cluster.services.context import Cluster
from portal.live.service import LiveService
from portal.live.stream_slots import MAX_STREAMS

log = structlog.get_logger()

STOP_SECONDS = 3
"""The time that a stream may take to end. After it the connection is closed."""
KEEP_ALIVE_SECONDS = 75
"""This is longer than nginx keeps an unused connection to this process."""
BUS_SECONDS = 2.0
OPEN_FILES = 2 * MAX_STREAMS


class LiveServer(Server):
    """uvicorn's server, which here ends the streams before it waits for them, and sleeps while nothing happens."""

    def __init__(self, config: Config, service: LiveService) -> None:
        super().__init__(config)
        self.service = service
        self.is_stopping = asyncio.Event()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        asyncio.get_running_loop().call_soon_threadsafe(self.is_stopping.set)

    async def main_loop(self) -> None:
        await self.is_stopping.wait()
        self.service.tabs.close()


async def serve(cluster: Cluster, listener: socket.socket) -> None:
    """Serves until SIGTERM."""
    service = LiveService(cluster)
    service.start()
    with suppress(TimeoutError):  # Without Redis there are no events, and everything else works.
        await asyncio.wait_for(service.event_hub.is_reading.wait(), BUS_SECONDS)
    config = Config(
        service,
        interface="asgi3",
        lifespan="off",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    freeze_startup_objects()
    sd_notify("READY=1", log)
    await LiveServer(config, service).serve(sockets=[listener])


def inherited_socket() -> socket.socket:
    if listen_fds() != 1:
        sys.exit("portal.live: the process manager has handed over no socket (LISTEN_FDS)")
    listener = socket.socket(fileno=SD_LISTEN_FDS_START)
    listener.setblocking(False)
    return listener


def allow_many_files() -> None:
    """A stream is an open file; most systems give a process a thousand unless it asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
