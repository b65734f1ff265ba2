"""The sessions that the door has let into jobs: each is a process of root's beside the job, watched by a thread."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError

from cluster import words
from cluster.domain.errors import Refused
from cluster.domain.ssh_logins import (
    SshRequest,
    SshSessionKind,
    parse_ssh_request,
    ssh_client_address,
    ssh_login_of,
    terminal_name,
)
from cluster.services.context import Cluster
from cluster.services.ssh.job_access import (
    EnterableAttempt,
    SshEntry,
    find_enterable_attempt,
    list_public_keys,
    renew_entry,
)
from cluster.services.ssh.session_log import record_session_end, record_session_start
from worker.executors.shim_start import SHIM_PYTHON
from worker.ssh_door.inner_sshd import SHELL, render_inner_files
from worker.ssh_door.layout import PROGRAMS

log = structlog.get_logger()
RENEW_SECONDS = 2.0
"""Seconds until a removed key, a disabled person or a lost membership ends a session."""
LEAVE_SECONDS = 5.0
"""Seconds that a session may outlive its connection after SIGHUP."""
MOST_BYTES = 65536
NO_ENTRY = 255
LEFT, REVOKED = "left", "ssh.revoked"


@dataclass(frozen=True)
class Visit:
    """One request to enter a job, with the person's descriptors for input, output and errors."""

    entry: SshEntry
    request: SshRequest
    terminal: str | None
    connection: str
    descriptors: list[int]

    @property
    def address(self) -> str:
        return ssh_client_address(self.connection)


def parse_visit(entry: SshEntry, message: Mapping[str, Any], descriptors: list[int]) -> Visit:
    """Raises ValueError for what no client of ours sends."""
    command, connection, terminal = (message.get(name) for name in ("command", "connection", "terminal"))
    if not isinstance(command, str) or not isinstance(connection, str) or "\0" in command:
        raise ValueError("request")
    if (terminal is not None and not isinstance(terminal, str)) or len(descriptors) != 3:
        raise ValueError("request")
    return Visit(entry, parse_ssh_request(command), terminal_name(terminal), connection[:200], descriptors)


class SessionStarter:
    """Lets one visit after another into jobs; `runtime` is the installed job runtime, whose modules a session uses."""

    def __init__(self, cluster: Cluster, runtime: Path, door_uid: int) -> None:
        self.cluster, self.runtime, self.door_uid = cluster, runtime, door_uid

    def run(self, visit: Visit, client: socket.socket) -> None:
        """Returns once the session has ended. The client gets the reason of a refusal, or the exit code."""
        try:
            job = find_enterable_attempt(self.cluster, visit.entry.job_id)
        except Refused as refusal:
            tell(client, text=sentence_for(visit.entry, refusal.code, refusal.data), exit=NO_ENTRY)
            return
        began = time.monotonic()
        record_session_start(self.cluster, visit.entry, visit.address, visit.request.kind)
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = self.start(visit, theirs)
            ours.sendall(json.dumps(self.describe(visit, job)).encode() + b"\n")
            cause = Watch(self.cluster, visit, process, client, ours).wait()
        seconds = time.monotonic() - began
        if cause.startswith("ssh."):
            tell(client, text=sentence_for(visit.entry, cause, {"job": visit.entry.job_id}))
        tell(client, exit=process.returncode)
        record_session_end(self.cluster, visit.entry, visit.address, visit.request.kind, seconds, cause)

    def start(self, visit: Visit, channel: socket.socket) -> "subprocess.Popen[bytes]":
        program = [SHIM_PYTHON, "-I", "-S", str(PROGRAMS / "session.py"), str(self.runtime)]
        stdin, stdout, stderr = visit.descriptors
        return subprocess.Popen(
            [*program, str(channel.fileno())],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(channel.fileno(),),
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            start_new_session=True,
        )

    def describe(self, visit: Visit, job: EnterableAttempt) -> dict[str, Any]:
        login = ssh_login_of(job.job_id)
        variables = {
            "USER": login,
            "LOGNAME": login,
            "SHELL": "/bin/bash",
            "SSH_CONNECTION": visit.connection,
        }
        if visit.terminal:
            variables["TERM"] = visit.terminal
        files = {}
        if visit.request.kind is SshSessionKind.INNER:
            plan = json.loads((job.folder / "control" / "plan.json").read_text())
            known = {**plan["environment"], **variables}
            files = render_inner_files(list_public_keys(self.cluster, visit.entry.user_id), known)
        return {
            "folder": str(job.folder),
            "job": job.job_id,
            "attempt": job.attempt,
            "login": login,
            "shell": SHELL if files else "/bin/bash",
            "argv": list(visit.request.argv),
            "variables": variables,
            "terminal": visit.terminal,
            "door_uid": self.door_uid,
            "files": files,
        }


class Watch:
    """Waits for the end of a session, and ends it when its right or its connection is gone."""

    def __init__(
        self,
        cluster: Cluster,
        visit: Visit,
        process: "subprocess.Popen[bytes]",
        client: socket.socket,
        channel: socket.socket,
    ) -> None:
        self.cluster, self.visit, self.process = cluster, visit, process
        self.client, self.channel = client, channel
        self.cause = LEFT
        self.watched = [client, channel]
        self.left_at: float | None = None

    def wait(self) -> str:
        """Waits for the end of the session, and returns its reason."""
        pidfd = os.pidfd_open(self.process.pid)
        try:
            renew_at = time.monotonic() + RENEW_SECONDS
            while True:
                ready = wait_for_input([pidfd, *(each.fileno() for each in self.watched)], RENEW_SECONDS / 2)
                if self.channel.fileno() in ready:
                    self.read_refusal()
                if self.client.fileno() in ready:
                    self.notice_hang_up()
                if pidfd in ready:
                    self.process.wait()
                    return self.cause
                if time.monotonic() >= renew_at:
                    renew_at = time.monotonic() + RENEW_SECONDS
                    self.renew()
        finally:
            os.close(pidfd)

    def read_refusal(self) -> None:
        told = self.channel.recv(MOST_BYTES)
        if told:
            self.cause = str(json.loads(told).get("refused", "ssh.failed"))
        self.watched.remove(self.channel)

    def notice_hang_up(self) -> None:
        self.watched.remove(self.client)
        self.left_at = time.monotonic()
        self.process.send_signal(signal.SIGHUP)

    def renew(self) -> None:
        if self.left_at is not None and time.monotonic() - self.left_at >= LEAVE_SECONDS:
            self.process.send_signal(signal.SIGTERM)
        try:
            has_right = renew_entry(self.cluster, self.visit.entry) is not None
        except DBAPIError as error:
            log.warning("the right of a session cannot be read", error=str(error))
            return
        if not has_right and self.cause == LEFT:
            self.cause = REVOKED
            self.process.send_signal(signal.SIGTERM)


def wait_for_input(descriptors: Sequence[int], seconds: float) -> set[int]:
    """The descriptors with input or at their end. `select` cannot wait for numbers from 1024 on."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}


def sentence_for(entry: SshEntry, code: str, data: Mapping[str, Any]) -> str:
    return words.sentence(code, data, entry.language or "en")


def tell(client: socket.socket, **answer: object) -> None:
    with suppress(OSError):  # The person may have closed the connection.
        client.send(json.dumps(answer).encode())
