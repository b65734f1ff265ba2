"""A service that supervisord forks finds what it would find if it were executed: a Python that has just started."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from worker.bootstrap.paths import CLONE
from worker.embedded.forking_supervisord import LIBRARIES
from worker.embedded.service_commands import WITH_SOCKET
from worker.embedded.supervisor_client import ROOM_FOR_TITLES, SUPERVISORD

TELLING = """
import atexit, json, os, signal, socket, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

def is_socket(number):
    return os.readlink(f"/proc/self/fd/{number}").startswith("socket")

found = {
    "name": __name__,
    "argv": sys.argv[1:],
    "variables": {name: value for name, value in os.environ.items() if name.startswith(("LISTEN_", "GIVEN"))},
    "folder": os.getcwd(),
    "is_own_pid": os.environ.get("LISTEN_PID") == str(os.getpid()),
    "handlers": [
        signal.getsignal(number) is signal.SIG_DFL for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP)
    ],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "product": sorted(name for name in sys.modules if name.partition(".")[0] in ("cluster", "portal", "worker")),
    "is_library_there": "sqlalchemy.orm" in sys.modules,
    "title": Path("/proc/self/cmdline").read_bytes().decode().rstrip(chr(0)).split(chr(0)),
    "sockets": [n for n in range(10) if os.path.exists(f"/proc/self/fd/{n}") and is_socket(n)],
}
print("a line")
print("a line of errors", file=sys.stderr)
part = Path(f"{os.environ['GIVEN']}.part")
part.write_text(json.dumps(found))
threading.Thread(target=lambda: (time.sleep(0.05), Path("thread").write_text("ended"))).start()
pool = ThreadPoolExecutor(1)  # Its thread waits for work until the end of Python.
pool.submit(Path("pool").write_text, "ended")
atexit.register(lambda: part.rename(os.environ["GIVEN"]))
sys.exit(7)
"""

ENDS_WITHIN_SECONDS = 30


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., dict[str, object]]:
    """Runs the telling program as a service of a real supervisord in the foreground; what it told."""

    def run(*before: str, head: str = "[program:telling]", more: str = "") -> dict[str, object]:
        (tmp_path / "telling.py").write_text(TELLING)
        told = tmp_path / "told.json"
        command = " ".join((*(f"'{word}'" for word in before), sys.executable, "-m", "telling", "one", "two"))
        configuration = tmp_path / "supervisord.conf"
        configuration.write_text(
            f"[supervisord]\nnodaemon=true\nlogfile={tmp_path}/log\npidfile={tmp_path}/pid\n"
            f"childlogdir={tmp_path}\nminfds=256\n{head}\ncommand={command.replace('%', '%%')}\n"
            f"directory={tmp_path}\nautorestart=false\nstartsecs=0\nredirect_stderr=true\n"
            f"stdout_logfile={tmp_path}/out\nenvironment=GIVEN={told}\n{more}"
        )
        with subprocess.Popen(
            [sys.executable, "-m", SUPERVISORD, ROOM_FOR_TITLES, "-c", str(configuration)],
            cwd=CLONE,
            stdout=subprocess.PIPE,
            text=True,
        ) as started:
            too_long = threading.Timer(ENDS_WITHIN_SECONDS, started.kill)
            too_long.start()
            try:
                assert started.stdout is not None
                end = next((line for line in started.stdout if "exited: telling" in line), "it has not ended")
            finally:
                too_long.cancel()
                started.terminate()
        assert "(exit status 7; not expected)" in end, end
        return dict(json.loads(told.read_text()))

    return run


def test_a_forked_service_begins_and_ends_as_one_that_is_executed(
    run_program: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    told = run_program()
    assert told.pop("title") == [sys.executable, "-m", "telling", "one", "two"]
    assert told == {
        "name": "__main__",
        "argv": ["one", "two"],
        "variables": {"GIVEN": f"{tmp_path}/told.json"},
        "folder": str(tmp_path),
        "is_own_pid": False,
        "handlers": [True, True, True],
        "interrupt": True,
        "product": [],
        "is_library_there": True,
        "sockets": [],
    }
    # The program's answer has its name only because the function at its exit was called.
    assert (tmp_path / "out").read_text() == "a line\na line of errors\n"
    assert (tmp_path / "thread").read_text() == (tmp_path / "pool").read_text() == "ended"


def test_a_listening_socket_is_handed_over_as_systemd_does(
    run_program: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    listening = f"socket=unix://{tmp_path}/s\n"
    told = run_program(*WITH_SOCKET, head="[fcgi-program:telling]", more=listening)
    variables = told["variables"]
    assert isinstance(variables, dict) and variables["LISTEN_FDS"] == "1"
    assert told["is_own_pid"] and told["sockets"] == [3]


def test_each_library_that_is_loaded_before_the_fork_is_there_and_none_is_named_twice() -> None:
    assert all(find_spec(name) is not None for name in LIBRARIES)
    assert len(set(LIBRARIES)) == len(LIBRARIES)
