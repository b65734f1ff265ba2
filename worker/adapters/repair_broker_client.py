"""The client of the repair broker: sends one request through its socket and waits for the answer."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cluster.domain.errors import Unavailable

ANSWER_SECONDS = 30.0
"""Seconds."""
LONGEST_LINE = 65_536
"""Bytes of one line."""


def ask_broker(door: Path, words: Mapping[str, Any]) -> None:
    """Returns once it is done, or the run's process can be found. Raises Unavailable, also where it is refused."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(door))
            write_json_line(connection, words)
            answer = read_json_line(connection)
    except OSError as error:
        raise Unavailable("repair.no_runner", error=str(error)[:200]) from error
    if "code" in answer:
        raise Unavailable(str(answer["code"]), **answer.get("data", {}))
    if answer.get("done") is not True:
        raise Unavailable("repair.no_runner", error="it ended before the run began")


def write_json_line(connection: socket.socket, words: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(words).encode() + b"\n")


def read_json_line(connection: socket.socket) -> dict[str, Any]:
    """Empty where the other side says nothing of use. Raises OSError."""
    said = b""
    while not said.endswith(b"\n") and len(said) < LONGEST_LINE:
        more = connection.recv(4096)
        if not more:
            break
        said += more
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
