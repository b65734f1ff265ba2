"""Starts the ranks of a gang between pods: by Gloo, torchrun or plainly in each pod, or by mpirun once ssh answers.

    python3 shim_gang.py gloo|torchrun|plain <ranks of each pod> <address> <interface> -- rank wrapper and program …
    python3 shim_gang.py mpi <hostfile> <port> <seconds> -- mpirun …

`<ranks of each pod>` is `2,2`; the pod's own number is GROUNDCREW_INDEX. Horovod over Gloo needs neither ssh nor
a launcher: each rank is told its place, and they find each other through a small table that number 0 serves.

Where Kueue lets an MPIJob in, the operator's launcher begins with its workers, whatever it was told: the job it made
was only held back. mpirun gives up at the first name that nobody knows yet, and images may still be on their way.
"""

import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Dict, List, Tuple

PORT = int(os.environ.get("GROUNDCREW_GANG_PORT") or 29400)
"""The port at the first pod's address. Tests that run several pods on one machine use another one."""
RESOLVE_SECONDS = 300.0
"""Seconds within which the first pod's name must resolve; its image may still be downloading."""
PAUSE_SECONDS = 0.1
UNREACHED = 75
"""EX_TEMPFAIL of sysexits.h: no rank has begun."""
ANSWER_SECONDS = 5.0
STABLE_SECONDS = 5.0
"""Seconds after which the job's log names the pods that are waited for."""
SSH_PAUSE_SECONDS = 0.2


class RendezvousHandler(BaseHTTPRequestHandler):
    """Stores keys with values for Gloo's rendezvous: PUT and GET, and 404 for a key that is not stored yet."""

    values: Dict[str, bytes] = {}
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.values[self.path] = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(200, b"")

    def do_GET(self) -> None:
        value = self.values.get(self.path)
        self.answer(404 if value is None else 200, value or b"")

    def do_DELETE(self) -> None:
        self.values.pop(self.path, None)
        self.answer(200, b"")

    def answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Does nothing, because nobody reads these messages."""


def wait_for_address(address: str) -> str:
    """The numeric address of a pod. Its name resolves once the pod has one. Raises OSError."""
    until = time.monotonic() + RESOLVE_SECONDS
    while True:
        try:
            return socket.gethostbyname(address)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE_SECONDS)


def rank_positions(counts: List[int], index: int) -> List[Dict[str, str]]:
    """The variables from which each rank of this pod learns its position among all ranks of Horovod."""
    first = sum(counts[:index])
    found = []
    for local in range(counts[index]):
        # The ranks with the same local number, one in each pod that has so many.
        across = [pod for pod, count in enumerate(counts) if count > local]
        found.append(
            {
                "HOROVOD_RANK": str(first + local),
                "HOROVOD_SIZE": str(sum(counts)),
                "HOROVOD_LOCAL_RANK": str(local),
                "HOROVOD_LOCAL_SIZE": str(counts[index]),
                "HOROVOD_CROSS_RANK": str(across.index(index)),
                "HOROVOD_CROSS_SIZE": str(len(across)),
            }
        )
    return found


def own_interface(interfaces: str, folder: str = "/sys/class/net") -> str:
    """The first of the gang's interfaces that is here: hosts may name theirs differently, and Gloo takes one."""
    names = interfaces.split(",")
    return next((name for name in names if os.path.exists(os.path.join(folder, name))), names[0])


def start_gloo(counts: List[int], index: int, address: str, interface: str, rank: List[str]) -> int:
    if index == 0:
        server = ThreadingHTTPServer(("", PORT), RendezvousHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    shared = {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_IFACE": own_interface(interface),
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": wait_for_address(address),
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(PORT),
        "HOROVOD_HOSTNAME": "%s-%d" % (address, index),
        "NCCL_SOCKET_IFNAME": interface,
    }
    return run_ranks([(rank, dict(os.environ, **shared, **place)) for place in rank_positions(counts, index)])


def run_ranks(programs: List[Tuple[List[str], Dict[str, str]]]) -> int:
    """Waits until all ranks have ended. The first failure ends the others and is the exit code."""
    children = [subprocess.Popen(argv, env=environment) for argv, environment in programs]

    def hand_on(number: int, _: object) -> None:
        for child in children:
            if child.poll() is None:
                child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, hand_on)
    bad = 0
    while any(child.poll() is None for child in children):
        ended = [child.returncode for child in children if child.poll() is not None and child.returncode]
        if ended and not bad:
            bad = ended[0]
            hand_on(signal.SIGTERM, None)
        time.sleep(PAUSE_SECONDS)
    bad = bad or next((child.returncode for child in children if child.returncode), 0)
    return 128 - bad if bad < 0 else bad


def start_torchrun(counts: List[int], index: int, address: str, interface: str, rank: List[str]) -> int:
    """Executes torchrun in this process. Its agents find each other through the first pod."""
    wait_for_address(address)
    words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", str(len(counts))]
    words += ["--node-rank", str(index), "--nproc-per-node", str(counts[index])]
    words += ["--master-addr", address, "--master-port", str(PORT), "--no-python"]
    environment = dict(os.environ, NCCL_SOCKET_IFNAME=interface, GLOO_SOCKET_IFNAME=own_interface(interface))
    os.execve(sys.executable, words + rank, environment)


def start_plain(counts: List[int], index: int, address: str, interface: str, rank: List[str]) -> int:
    """Starts the program once in each pod; the program itself interprets its pod number."""
    environment = dict(os.environ, RANK=str(index), WORLD_SIZE=str(len(counts)), MASTER_ADDR=address)
    return run_ranks([(rank, environment)])


def read_hostfile(path: str) -> List[str]:
    """Reads lines of the form `name slots=2`."""
    with open(path) as file:
        return [line.split()[0] for line in file if line.split()]


def wait_for_ssh(host: str, port: int, until: float) -> bool:
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
        time.sleep(SSH_PAUSE_SECONDS)


def start_mpi(hostfile: str, port: str, seconds: str, program: List[str]) -> int:
    """Executes mpirun in this process once every host of the gang answers by ssh."""
    until = time.monotonic() + float(seconds)
    for host in read_hostfile(hostfile):
        if not wait_for_ssh(host, int(port), until):
            sys.stderr.write(
                "groundcrew: %s did not answer within %s s; no rank has begun\n" % (host, seconds)
            )
            return UNREACHED
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write("groundcrew: %s: %s\n" % (program[0], error.strerror))
        return 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126


LAUNCHES = {"gloo": start_gloo, "torchrun": start_torchrun, "plain": start_plain}


def main(words: List[str]) -> int:
    way, first, second, third = words[:4]
    program = words[words.index("--") + 1 :]
    if way == "mpi":
        return start_mpi(first, second, third, program)
    counts = [int(count) for count in first.split(",")]
    return LAUNCHES[way](counts, int(os.environ.get("GROUNDCREW_INDEX") or 0), second, third, program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
