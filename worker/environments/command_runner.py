"""Run the commands of a build, log every line, end all children, and classify failures."""

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import psutil

from cluster.redaction import redact_text
from worker.environments.errors import (
    BuildFailed,
    BuildStepFailed,
    NoBuildMemory,
    NoNetwork,
    NoSpaceForBuild,
    PackageRefused,
)

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# A site sets these variables so that its package index can be reached. Other variables of the caller are not passed
# on.
NETWORK_VARIABLES = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NETRC", "HOME", "XDG_CONFIG_HOME"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
    | {"PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"}
    | {"PIP_CERT", "PIP_CLIENT_CERT", "PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_KEYRING_PROVIDER"}
    | {"PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES"}
)
MARK = "GROUNDCREW_BUILD"
TICK_SECONDS = 1.0
LAST_LINES = 200
LONGEST_LINE = 8 * 1024
"""Bytes. The rest of a longer line counts as the next one, because a program need not ever end its line."""
MOST_LOGGED = 64 * 1024**2
"""The most bytes of a log. Further output of a build is read and not written."""
NOT_LOGGED = b"\n(The log is full: what follows is left out.)\n"

SIGNS: tuple[tuple[type[BuildFailed], str, tuple[str, ...]], ...] = (
    (NoSpaceForBuild, "environment.no_space", ("no space left on device", "disk quota exceeded")),
    (
        NoBuildMemory,
        "environment.no_memory",
        ("killed signal terminated program", "cannot allocate memory", "virtual memory exhausted"),
    ),
    (PackageRefused, "environment.package_refused", ("do not match the hashes", "hash mismatch")),
    (
        NoNetwork,
        "environment.no_network",
        (
            *("failed to establish a new connection", "name resolution", "name or service not known"),
            *("network is unreachable", "connection refused", "connection reset", "timed out"),
            *("proxyerror", "sslerror", "no matching distribution found"),
        ),
    ),
)


def ignore_tick() -> None:
    """Does nothing. It is the callback for commands that are too short to need one."""


@dataclass(frozen=True)
class CommandRunner:
    """Every process of a build has `mark` in its environment, so that the next build can find
    what a killed one left.
    """

    log: Path
    mark: str
    secrets: tuple[str, ...] = ()
    """Texts that are written into no log."""

    def run(
        self,
        command: Sequence[str | Path],
        *,
        variables: Mapping[str, str],
        on_line: Callable[[str], None] | None = None,
        on_tick: Callable[[], None] = ignore_tick,
        user: int | None = None,
        folder: Path = Path("/"),
        logged: Sequence[str | Path] = (),
    ) -> list[str]:
        """Runs the command and returns the last lines of its output. `on_tick` is called about every second.

        Raises BuildFailed if the command fails. If a callback raises, the command is ended with all its children.
        """
        drop = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(map(str, logged or command))}\n".encode())
            process = subprocess.Popen(
                # The portal and the trainings have priority: a build uses only cores that are otherwise idle.
                ["nice", "-n", "10", *command],
                env={"PATH": PATH, "LANG": "C.UTF-8", **variables, MARK: self.mark},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=0o022,
                **drop,  # type: ignore[call-overload]
            )
            try:
                lines = _follow(process, log, on_line, on_tick, self.secrets)
            finally:
                _end(process)
        if process.returncode != 0:
            raise self.classify_failure(command, lines, process.returncode)
        return lines

    def classify_failure(self, command: Sequence[str | Path], lines: list[str], code: int) -> BuildFailed:
        said = [line for line in lines if line.strip()]
        for kind, name, signs in SIGNS:
            for line in said:
                if any(sign in line.lower() for sign in signs):
                    return kind(name, line=line.strip()[:300], log=str(self.log))
        return BuildStepFailed(
            "environment.step_failed",
            command=Path(command[0]).name,
            exit_code=code,
            line=said[-1].strip()[:300] if said else "",
            log=str(self.log),
        )


def network_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables with which this machine reaches its package index: proxies, certificates
    and pip's own settings.
    """
    return {name: value for name, value in environment.items() if name.upper() in NETWORK_VARIABLES}


def end_leftover_processes(mark: str) -> int:
    """Ends the processes that a killed build left, and counts them. Only the holder of the build lock may call it."""
    ended = 0
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.pid != os.getpid():
                process.kill()
                ended += 1
        except psutil.Error:
            continue
    return ended


def _follow(
    process: subprocess.Popen[bytes],
    log: BinaryIO,
    on_line: Callable[[str], None] | None,
    on_tick: Callable[[], None],
    secrets: Sequence[str],
) -> list[str]:
    """Reads until the process has ended, which may close its output long before."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    written = LimitedLog(log)

    def take(raw: bytes) -> None:
        line = raw.decode("utf-8", "replace")
        written.write(redact_text(line, secrets).encode() if secrets else raw)
        last.append(line)
        if on_line:
            on_line(line)

    for raw in _read_lines(process, Ticks(log, on_tick)):
        take(raw)
    return list(last)


def _read_lines(process: subprocess.Popen[bytes], ticks: "Ticks") -> Iterator[bytes]:
    assert process.stdout is not None
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(TICK_SECONDS):
                chunk = os.read(process.stdout.fileno(), 65536)
                if not chunk:
                    break
                *whole, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
                for line in whole:
                    yield from _parts(line)
                *parts, rest = _parts(rest)
                yield from parts
            ticks.come()
    if rest:
        yield rest
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(TICK_SECONDS)
        ticks.come()


def _parts(line: bytes) -> list[bytes]:
    """Returns at least one part, which may be empty."""
    return [line[at : at + LONGEST_LINE] for at in range(0, len(line) or 1, LONGEST_LINE)]


@dataclass
class Ticks:
    """Calls `on_tick` about every second."""

    log: BinaryIO
    on_tick: Callable[[], None]
    called_at: float = field(default_factory=time.monotonic)

    def come(self) -> None:
        if time.monotonic() - self.called_at >= TICK_SECONDS:
            self.log.flush()
            self.on_tick()
            self.called_at = time.monotonic()


@dataclass
class LimitedLog:
    """Writes lines until the file has MOST_LOGGED bytes."""

    file: BinaryIO
    is_full: bool = False

    def write(self, line: bytes) -> None:
        if self.is_full:
            return
        self.is_full = self.file.tell() + len(line) > MOST_LOGGED
        self.file.write(NOT_LOGGED if self.is_full else line + b"\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the whole process group, because make has children. Does nothing if the process has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout:
        process.stdout.close()
