"""How long the installed `groundcrew` command takes until its request is on the wire, and `job list` in all.

It is installed by pip into an environment of its own, as a researcher does. The first figure is taken against a socket
that notes when the first byte arrives, the second against a portal at full size.
"""

import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.bench.full_size.sizes import FULL
from tests.bench.portal_load.full_installation import full_installation
from tests.bench.portal_load.portal_bench import CONTENDERS, PortalBench
from tests.installation import ROOT
from worker.bootstrap.virtual_environments import uv_variables

MEASURE = "C"
TITLE = "The start of the command"
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 34\r\nConnection: close\r\n\r\n"
)
NOTHING = b'{"items": [], "next_cursor": null}'


def run(bench: PortalBench) -> None:
    with installed_command() as command:
        contender = CONTENDERS[bench.databases[-1]]
        for _ in range(bench.few(3, 10)):
            case = "until its request is on the wire"
            bench.ledger.value(MEASURE, f"job list: {case}", contender, "s", seconds_until_request(command))
            begun = time.perf_counter()
            subprocess.run(
                [command, "--help"], check=True, capture_output=True, env=environment_for("none", "")
            )
            bench.ledger.value(MEASURE, "--help", contender, "s", time.perf_counter() - begun)
        for kind in bench.databases:
            with full_installation(kind, FULL) as full:
                person = full.people()[0]
                environment = environment_for(f"http://127.0.0.1:{full.port}", person.token)
                for _ in range(bench.few(3, 10)):
                    took, used = timed([command, "job", "list"], environment)
                    bench.ledger.value(MEASURE, "job list in all", CONTENDERS[kind], "s", took)
                    bench.ledger.value(MEASURE, "job list: its own CPU", CONTENDERS[kind], "s", used)


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds that passed, and seconds of CPU, which others on the machine change little."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def installed_command() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gc-command-") as folder:
        place = Path(folder) / "environment"
        subprocess.run([sys.executable, "-m", "uv", "venv", "-q", str(place)], check=True)
        install = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "-q",
            "--python",
            str(place / "bin" / "python"),
        ]
        variables = {**os.environ, **uv_variables([sys.executable, "-m", "pip"])}
        subprocess.run([*install, str(ROOT / "portal" / "cli")], check=True, env=variables)
        command = str(place / "bin" / "groundcrew")
        # Once, so that its modules are compiled.
        subprocess.run([command, "--help"], check=True, capture_output=True, env=environment_for("none", ""))
        yield command


def environment_for(url: str, token: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GROUNDCREW_URL": url,
        "GROUNDCREW_TOKEN": token,
    }


def seconds_until_request(command: str) -> float:
    """From the start of the process to the first byte of its request."""
    arrived: list[float] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def answer_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                arrived.append(time.perf_counter())
                connection.sendall(ANSWER + NOTHING)

        thread = threading.Thread(target=answer_once)
        thread.start()
        environment = environment_for(f"http://127.0.0.1:{server.getsockname()[1]}", "gc_1_none")
        begun = time.perf_counter()
        subprocess.run([command, "job", "list"], check=True, capture_output=True, env=environment)
        thread.join()
    return arrived[0] - begun
