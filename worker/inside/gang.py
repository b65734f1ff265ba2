"""Starts the ranks of a gang between pods: by Gloo, torchrun or plainly in each pod, or by mpirun once every host answers ssh.

    python3 gang.py gloo|torchrun|plain <ranks of each pod> <address> <interface> -- rank wrapper and program …

`<ranks of each pod>` is `2,2`; the pod's own number is GROUNDCREW_INDEX. Horovod over Gloo needs neither ssh nor
a launcher: each rank is told its place, and they find each other through a small table that number 0 serves.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Dict, List

PORT = int(os.environ.get("GROUNDCREW_GANG_PORT") or 29400)
"""Of the first pod's own address; another one where several pods are played on one."""
RESOLVE_SECONDS = 300.0
"""Seconds until the first pod's name has to be known: its image may still be on the way."""
PAUSE = 0.1


class RendezvousHandler(BaseHTTPRequestHandler):
    """Keys with values, as Gloo's rendezvous asks for them: PUT and GET, 404 for what nobody has put there yet."""

    values = {}  # type: Dict[str, bytes]
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        # type: () -> None
        self.values[self.path] = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(200, b"")

    def do_GET(self):
        # type: () -> None
        value = self.values.get(self.path)
        self.answer(404 if value is None else 200, value or b"")

    def do_DELETE(self):
        # type: () -> None
        self.values.pop(self.path, None)
        self.answer(200, b"")

    def answer(self, status, content):
        # type: (int, bytes) -> None
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        # type: (object) -> None
        """Nobody reads it."""


def wait_for_address(address):
    # type: (str) -> str
    """The address in numbers; the name of a pod is known once it has one. Raises OSError."""
    until = time.monotonic() + RESOLVE_SECONDS
    while True:
        try:
            return socket.gethostbyname(address)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(PAUSE)


def rank_positions(counts, index):
    # type: (List[int], int) -> List[Dict[str, str]]
    """Of each rank in this pod what Horovod reads of its place among all of them."""
    first = sum(counts[:index])
    found = []
    for local in range(counts[index]):
        # Ranks with the same local number, one in each pod that has so many.
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


def start_gloo(counts, index, address, interface, rank):
    # type: (List[int], int, str, str, List[str]) -> int
    if index == 0:
        server = ThreadingHTTPServer(("", PORT), RendezvousHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    shared = {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_IFACE": interface,
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": wait_for_address(address),
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(PORT),
        "HOROVOD_HOSTNAME": "%s-%d" % (address, index),
        "NCCL_SOCKET_IFNAME": interface,
    }
    return run_ranks([(rank, dict(os.environ, **shared, **place)) for place in rank_positions(counts, index)])


def run_ranks(programs):
    # type: (List) -> int
    """Until all have ended; the first bad end ends the others, and is the exit code."""
    children = [subprocess.Popen(argv, env=environment) for argv, environment in programs]

    def hand_on(number, _):
        # type: (int, object) -> None
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
        time.sleep(PAUSE)
    bad = bad or next((child.returncode for child in children if child.returncode), 0)
    return 128 - bad if bad < 0 else bad


def start_torchrun(counts, index, address, interface, rank):
    # type: (List[int], int, str, str, List[str]) -> int
    """It takes our place: its own agents find each other through number 0."""
    wait_for_address(address)
    words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", str(len(counts))]
    words += ["--node-rank", str(index), "--nproc-per-node", str(counts[index])]
    words += ["--master-addr", address, "--master-port", str(PORT), "--no-python"]
    environment = dict(os.environ, NCCL_SOCKET_IFNAME=interface, GLOO_SOCKET_IFNAME=interface)
    os.execve(sys.executable, words + rank, environment)


def start_plain(counts, index, address, interface, rank):
    # type: (List[int], int, str, str, List[str]) -> int
    """Once in each pod: what it makes of its number is the program's own."""
    environment = dict(os.environ, RANK=str(index), WORLD_SIZE=str(len(counts)), MASTER_ADDR=address)
    return run_ranks([(rank, environment)])


LAUNCHES = {"gloo": start_gloo, "torchrun": start_torchrun, "plain": start_plain}


def main(words):
    # type: (List[str]) -> int
    way, told, address, interface = words[:4]
    rank = words[words.index("--") + 1 :]
    counts = [int(count) for count in told.split(",")]
    return LAUNCHES[way](counts, int(os.environ.get("GROUNDCREW_INDEX") or 0), address, interface, rank)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
