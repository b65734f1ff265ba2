"""Starts shims by the fork server, a process that has loaded the shim already, in 2 ms instead of 40."""

import json
import os
import select
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import structlog

from worker.executors.shim_start import SHIM_PYTHON, START_SECONDS, DetachedShimStarter

log = structlog.get_logger()
ARGUMENT_BYTES = 4096
MOST_BYTES = 65536
READY = b"ready\n"


class ForkedShimStarter:
    """Starts shims by a fork server, which is started with the first attempt and ends with this process. If there is
    no fork server, shims are executed.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: ShimForkClient | None = None
        self.fallback = DetachedShimStarter()

    def start_shim(self, shim: Path, folder: Path) -> dict[str, Any]:
        try:
            answer = self._ask(shim, folder)
        except OSError as error:
            log.warning("the fork server does not answer, the shim is executed", error=str(error))
            self.close()
            answer = None
        # If a forked shim gave no answer, executing a shim finds out whether the attempt had started.
        return answer if answer is not None else self.fallback.start_shim(shim, folder)

    def end_cgroup(self, shim: Path, folder: Path) -> int:
        return self.fallback.end_cgroup(shim, folder)

    def read_confinement(self, shim: Path, uids: tuple[int, int]) -> dict[str, Any]:
        return self.fallback.read_confinement(shim, uids)

    def _ask(self, shim: Path, folder: Path) -> dict[str, Any] | None:
        """Asks for a shim. Several threads may ask at once, because each request has its own pipe for the answer."""
        reader, writer = os.pipe()
        try:
            with self.lock:
                try:
                    if self.server is None or self.server.shim != shim:
                        self.server = ShimForkClient(shim)
                    self.server.request_shim(folder, writer)
                finally:
                    os.close(writer)
            return read_shim_answer(reader)
        finally:
            os.close(reader)

    def close(self) -> None:
        with self.lock:
            if self.server is not None:
                self.server.close()
            self.server = None


class ShimForkClient:
    """The fork server's process and our end of its socket. The process ends when the socket is closed, also when this
    process dies.
    """

    def __init__(self, shim: Path) -> None:
        """Raises OSError if the fork server does not start or cannot set the titles of its children."""
        self.shim = shim
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(START_SECONDS)
        with theirs:
            self.process = subprocess.Popen(
                [SHIM_PYTHON, "-I", "-S", str(shim.with_name("shim_fork_server.py")), " " * ARGUMENT_BYTES],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
                start_new_session=True,
            )
        try:
            is_ready = self.control.recv(MOST_BYTES) == READY
        except OSError:
            is_ready = False
        if not is_ready:
            self.close()
            raise OSError("the fork server did not start")

    def request_shim(self, folder: Path, answer: int) -> None:
        socket.send_fds(self.control, [os.fsencode(folder)], [answer])

    def close(self) -> None:
        """Closes the socket, and kills the process if it does not end in time."""
        self.control.close()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def read_shim_answer(reader: int) -> dict[str, Any] | None:
    """Reads one line of JSON. None if the shim ended without an answer. Raises OSError if it takes too long."""
    content = b""
    while not content.endswith(b"\n"):
        if not select.select([reader], [], [], START_SECONDS)[0]:
            raise OSError("the shim gave no answer in time")
        piece = os.read(reader, MOST_BYTES)
        if not piece:
            return None
        content += piece
    answer = json.loads(content)
    return answer if isinstance(answer, dict) else None
