#!/usr/bin/python3 -IS
"""Hands the input and output of one session to the door and waits until the session has ended. sshd runs this program.

    enter.py TICKET

The ticket stands in the line that the door gave for this key, and is nowhere else. What the person asked for is in
SSH_ORIGINAL_COMMAND. Nothing of the session passes through this process.
"""

import ctypes
import json
import os
import signal
import socket
import sys

DOOR = "/run/sshd/door.sock"
MOST_BYTES = 65536
LONGEST_COMMAND = 32768
PR_SET_PDEATHSIG = 1
NO_ENTRY = 255


def end_with_connection() -> bool:
    """The door ends the session when this process ends, and this one ends with sshd's process of the connection."""
    before = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == before != 1


def main(ticket: str) -> int:
    if not end_with_connection():
        return NO_ENTRY
    command = os.environ.get("SSH_ORIGINAL_COMMAND", "")
    if len(command) > LONGEST_COMMAND:
        sys.stderr.write("The command is too long.\n")
        return NO_ENTRY
    request = {
        "ticket": ticket,
        "command": command,
        "terminal": os.environ.get("TERM", "") if os.isatty(0) else None,
        "connection": os.environ.get("SSH_CONNECTION", ""),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MOST_BYTES)
        door.connect(DOOR)
        socket.send_fds(door, [json.dumps(request).encode()], [0, 1, 2])
        for number in (0, 1):  # The session alone holds them now: its end is the end of the stream.
            os.close(number)
        while True:
            message = door.recv(MOST_BYTES)
            if not message:
                return NO_ENTRY
            answer = json.loads(message)
            if "text" in answer:
                os.write(2, (answer["text"] + "\n").encode())
            if "exit" in answer:
                return int(answer["exit"])


if __name__ == "__main__":
    try:
        code = main(sys.argv[1])
    except (OSError, ValueError, IndexError):
        os.write(2, b"The door to jobs does not answer. Try again in a moment.\n")
        code = NO_ENTRY
    os._exit(code)
