"""(merged) Waits until ssh answers on every host of the gang, then executes mpirun.

    python3 reach.py <hostfile> <port> <seconds> -- mpirun …

Where Kueue lets an MPIJob in, the operator's launcher begins with its workers, whatever it was told: the job it made was
only held back. mpirun gives up at the first name that nobody knows yet, and images may still be on their way.
"""

import errno
import os
import socket
import sys
import time

UNREACHED = 75
"""EX_TEMPFAIL of sysexits.h: no rank has begun."""
ANSWER_SECONDS = 5.0
STABLE_SECONDS = 5.0
"""Seconds after which the job's log says who is waited for."""
PAUSE = 0.2


def read_hostfile(path):
    # type: (str) -> list[str]
    """`name slots=2` in each line."""
    with open(path) as file:
        return [line.split()[0] for line in file if line.split()]


def wait_for_ssh(host, port, until):
    # type: (str, int, float) -> bool
    said, since = False, time.monotonic()
    while True:
        try:
            socket.create_connection((host, port), ANSWER_SECONDS).close()
            return True
        except OSError as error:
            now = time.monotonic()
            if now >= until:
                return False
            if not said and now - since >= STABLE_SECONDS:
                said = True
                sys.stderr.write("groundcrew: waiting for %s: %s\n" % (host, error))
                sys.stderr.flush()
        time.sleep(PAUSE)


def main(words):
    # type: (list[str]) -> int
    hostfile, port, seconds = words[:3]
    program = words[words.index("--") + 1 :]
    until = time.monotonic() + float(seconds)
    for host in read_hostfile(hostfile):
        if not wait_for_ssh(host, int(port), until):
            sys.stderr.write("groundcrew: %s did not answer within %s s; no rank has begun\n" % (host, seconds))
            return UNREACHED
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write("groundcrew: %s: %s\n" % (program[0], error.strerror))
        return 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
