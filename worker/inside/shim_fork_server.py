"""The fork server: one process that has loaded the shim and forks it for each attempt.

    python3 -I -S shim_fork_server.py <many blanks>

The scheduler starts it with a socket as standard input. Each message is an attempt's folder with a descriptor for the
shim's answer; the shim that is forked for it detaches itself as one that was executed would. The server ends once the
socket is closed, and the shims that it has forked go on. The blanks are room for the names of its children.
"""

import os
import socket
import sys
from typing import List

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import shim  # noqa: E402
import shim_process_tree  # noqa: E402
import shim_program  # noqa: E402
import shim_rank  # noqa: E402

MOST_BYTES = 65536
READY = b"ready\n"


def run_shim_in_fork(folder: str, answer: int) -> None:
    """Never returns."""
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(answer, 1)
        os.closerange(3, 256)
        shim_process_tree.set_process_title(
            [sys.executable, "-I", "-S", os.path.join(HERE, "shim.py"), folder]
        )
        shim_program.be_rank = run_rank_in_fork
        os._exit(shim.main(folder))
    finally:
        os._exit(shim.NO_EXIT_CODE)


def run_rank_in_fork(argv: List[str]) -> int:
    """Runs the rank's wrapper without executing another Python. Returns its exit code."""
    shim_process_tree.set_process_title(argv)
    return shim_rank.main(argv[2:])


def main() -> int:
    control = socket.socket(fileno=0)
    title = [sys.executable, "-I", "-S", os.path.abspath(__file__)]
    if not shim_process_tree.can_set_process_title(title):
        return 1
    control.send(READY)
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(control, MOST_BYTES, 1)
        if not message:
            return 0
        pid = os.fork()
        if pid == 0:
            run_shim_in_fork(os.fsdecode(message), descriptors[0])
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main())
