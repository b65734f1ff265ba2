"""The process of the SSH door: keeps sshd running, answers whose key opens which job, and lets people into them.

python -m worker ssh-door
"""

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.domain.ssh_logins import parse_ssh_login
from cluster.services.context import Cluster
from cluster.services.ssh.job_access import find_entry
from worker.ssh_door.door_socket import accept_clients, open_door_socket, read_peer_uid
from worker.ssh_door.layout import (
    SEEN_AS,
    DoorFolder,
    DoorIds,
)
from worker.ssh_door.sessions import SessionStarter, parse_visit, sentence_for, tell
from worker.ssh_door.tickets import TicketOffice

log = structlog.get_logger()
REQUEST_SECONDS = 10.0
MOST_BYTES = 256 * 1024
MAX_SESSIONS, MAX_SESSIONS_OF_A_PERSON = 200, 20


class SshDoor:
    """Answers sshd's two programs, each known by the uid that only it has."""

    def __init__(self, cluster: Cluster, folder: DoorFolder, runtime: Path, ids: DoorIds) -> None:
        self.cluster, self.folder, self.ids = cluster, folder, ids
        self.tickets = TicketOffice()
        self.starter = SessionStarter(cluster, runtime, ids.door)
        self.lock = threading.Lock()
        self.open_sessions: dict[int, int] = {}
        """The number of open sessions by the person's id."""

    def listen(self) -> socket.socket:
        listener = open_door_socket(self.folder, self.ids)
        threading.Thread(target=self.accept_all, args=(listener,), daemon=True).start()
        return listener

    def accept_all(self, listener: socket.socket) -> None:
        for client in accept_clients(listener):
            try:
                threading.Thread(target=self.answer, args=(client,), daemon=True).start()
            except RuntimeError as error:
                client.close()
                log.warning("a request at the door was not answered", error=str(error))

    def answer(self, client: socket.socket) -> None:
        descriptors: list[int] = []
        try:
            with client:
                client.settimeout(REQUEST_SECONDS)
                peer = read_peer_uid(client)
                content, descriptors, _, _ = socket.recv_fds(client, MOST_BYTES, 3)
                message = json.loads(content)
                client.settimeout(None)
                if peer == self.ids.keys and not descriptors:
                    self.answer_keys(client, message)
                elif peer == self.ids.door:
                    self.enter(client, message, descriptors)
        except (OSError, ValueError, TypeError, KeyError, DBAPIError) as error:
            log.warning("a request at the door was not answered", error=str(error) or type(error).__name__)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def answer_keys(self, client: socket.socket, message: dict[str, Any]) -> None:
        job = parse_ssh_login(str(message["login"]))
        entry = find_entry(self.cluster, job, str(message["fingerprint"])) if job is not None else None
        if entry is None:
            tell(client, line="")
            return
        command = f"{SEEN_AS}/enter.py {self.tickets.ticket_of(entry)}"
        tell(client, line=f'restrict,pty,command="{command}" {entry.public_key}\n')

    def enter(self, client: socket.socket, message: dict[str, Any], descriptors: list[int]) -> None:
        read = self.tickets.read(str(message.get("ticket", "")))
        entry = find_entry(self.cluster, *read) if read else None
        if entry is None:
            tell(client, text="This connection may not enter the job any more. Connect again.", exit=255)
            return
        visit = parse_visit(entry, message, descriptors)
        with self.lock:
            own = self.open_sessions.get(entry.user_id, 0)
            is_full = own >= MAX_SESSIONS_OF_A_PERSON or sum(self.open_sessions.values()) >= MAX_SESSIONS
            self.open_sessions[entry.user_id] = own if is_full else own + 1
        if is_full:
            tell(client, text=sentence_for(entry, "ssh.too_many", {}), exit=255)
            return
        try:
            self.starter.run(visit, client)
        finally:
            with self.lock:
                self.open_sessions[entry.user_id] -= 1
