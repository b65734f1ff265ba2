"""The socket at which sshd's two programs ask the door. Each runs as a user that nothing else has."""

import os
import resource
import socket
import sys
import time
from collections.abc import Iterator

import structlog

from cluster.files import safe_files
from worker.ssh_door.layout import DoorFolder, DoorIds

log = structlog.get_logger()
MOST_FILES = 8192
"""The descriptors that the door may have open; a session takes six."""
SHORTAGE_SECONDS = 0.2
PEER_CREDENTIALS = 12
"""Bytes of the struct ucred: pid, uid, gid."""


def open_door_socket(folder: DoorFolder, ids: DoorIds) -> socket.socket:
    """Opens the socket, which only the two programs can reach: its owner is the user of one, its group that of the
    other.
    """
    raise_file_limit()
    folder.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    before = os.umask(0o117)
    try:
        listener.bind(str(folder.socket))
    finally:
        os.umask(before)
    with safe_files.open_folder_path(folder.path) as opened:
        safe_files.set_owner_of_socket(opened, folder.socket.name, (ids.door, ids.keys))
    listener.listen(64)
    return listener


def accept_clients(listener: socket.socket) -> Iterator[socket.socket]:
    """Yields one connection after another until the listener is closed. A shortage of descriptors passes."""
    while True:
        try:
            client, _ = listener.accept()
        except OSError as error:
            if listener.fileno() < 0:
                return
            log.warning("the door cannot take a connection", error=str(error))
            time.sleep(SHORTAGE_SECONDS)
            continue
        yield client


def raise_file_limit() -> None:
    """Raises the limit of open files. systemd and supervisord set one that many sessions would exceed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def read_peer_uid(client: socket.socket) -> int:
    told = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS)
    return int.from_bytes(told[4:8], sys.byteorder)
