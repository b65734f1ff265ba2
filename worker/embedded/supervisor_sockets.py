"""A supervisord extension that keeps listening sockets open while their program restarts."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SocketHolder:
    """Holds each socket open until supervisord ends, because supervisord closes a socket with its last holder."""

    sockets: tuple[Any, ...]


def make_socket_holder(supervisord: Any) -> SocketHolder:
    """The factory of an XML-RPC interface, which supervisord calls once with itself; it offers no methods."""
    managers = (getattr(group, "socket_manager", None) for group in supervisord.process_groups.values())
    return SocketHolder(tuple(manager.get_socket() for manager in managers if manager is not None))
