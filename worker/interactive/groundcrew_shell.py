"""An interactive job and its shell, of which each ends with the other.

    python3 -m groundcrew_shell         the program of the job: waits until its person opens the shell
    python3 -m groundcrew_shell open    the shell, which the person's ssh asks for

The shell connects to a socket of the job and keeps the connection for as long as it lives. It cannot end unnoticed,
because the kernel closes the connection with the process.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import List, Optional

SOCKET = "/tmp/.groundcrew-shell"
"""The socket is in the job's own /tmp, which no other job sees."""
SHELL = "/bin/bash"
OPEN_SECONDS = 600
"""Seconds that the job waits for its shell."""
CONNECT_SECONDS = 30.0
REAP_SECONDS = 5.0
UCRED = struct.Struct("3i")
EXIT_NOT_OPENED, EXIT_NO_JOB = 1, 255


def run_job(path: str = SOCKET, seconds: float = OPEN_SECONDS) -> int:
    with listen(path) as listener:
        listener.settimeout(seconds)
        say("The job waits %d s for its shell." % seconds)
        try:
            shell = listener.accept()[0]
        except socket.timeout:
            sys.stderr.write("Nobody opened the shell within %d s, so the job ends.\n" % seconds)
            return EXIT_NOT_OPENED
    with shell:
        say("The shell is open. The job ends with it.")
        code = wait_for_end(shell)
    say("The shell ended with exit code %s." % code if code else "The connection to the shell was lost.")
    return 0


def listen(path: str) -> socket.socket:
    """The listening socket. Each attempt has a /tmp of its own, so that nothing else stands at the path."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(1)
    return listener


def wait_for_end(shell: socket.socket) -> str:
    """The exit code that the shell has sent; empty if it was killed."""
    shell.settimeout(None)
    pid = UCRED.unpack(shell.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, UCRED.size))[0]
    received = b""
    while True:
        piece = shell.recv(64)
        if not piece:
            break
        received += piece
    # The end of this job ends its sessions too, so the shell's parent gets the time to read its exit code.
    until = time.monotonic() + REAP_SECONDS
    while time.monotonic() < until and os.path.exists("/proc/%d" % pid):
        time.sleep(0.01)
    return received.decode("ascii", "replace")


def say(text: str) -> None:
    print(text, flush=True)


def open_shell(path: str = SOCKET, argv: Optional[List[str]] = None) -> int:
    job = connect(path, CONNECT_SECONDS)
    if job is None:
        sys.stderr.write(
            "Here is no interactive job that waits for its shell. Leave the command out for a session.\n"
        )
        return EXIT_NO_JOB
    # Keys like ^C are for the program in front. A handler, unlike SIG_IGN, is not inherited by the shell.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, lambda *_: None)
    with job:
        code = subprocess.call(argv or [SHELL])
        code = 128 - code if code < 0 else code
        job.sendall(b"%d" % code)
    return code


def connect(path: str, seconds: float) -> Optional[socket.socket]:
    """None if no interactive job listens. A job that has just started may need a moment."""
    until = time.monotonic() + seconds
    while True:
        job = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            job.connect(path)
            return job
        except FileNotFoundError:
            job.close()
            if time.monotonic() >= until:
                return None
            time.sleep(0.05)
        except ConnectionRefusedError:
            job.close()
            return None


def main(words: List[str]) -> int:
    return open_shell() if words == ["open"] else run_job()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
