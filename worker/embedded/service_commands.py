"""The commands of services as supervisord's file has them, and what is read out of them."""

from collections.abc import Sequence
from dataclasses import dataclass

PASS_SOCKET = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@" 3<&0 </dev/null'
"""supervisord gives a listening socket as standard input. Both services take it in the same way from systemd."""
WITH_SOCKET = ("/bin/sh", "-c", PASS_SOCKET)


@dataclass(frozen=True)
class PythonCommand:
    """`python -m MODULE ARGUMENT…`; `has_socket` if it takes the listening socket that is its standard input."""

    words: tuple[str, ...]
    has_socket: bool

    @property
    def module(self) -> str:
        return self.words[2]

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[3:]


def parse_python_command(words: Sequence[str], python: str) -> PythonCommand | None:
    """None if the command runs another program than this Python with a module."""
    has_socket = tuple(words[:3]) == WITH_SOCKET
    rest = tuple(words[3:] if has_socket else words)
    if len(rest) < 3 or rest[:2] != (python, "-m"):
        return None
    return PythonCommand(rest, has_socket)
