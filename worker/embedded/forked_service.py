"""Becomes a service in a fork of supervisord, and runs it to its end as Python would."""

import atexit
import gc
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from worker.embedded.service_commands import PythonCommand

PRODUCT = ("cluster", "portal", "worker")
SIGNALS = (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR2)
"""The signals that supervisord handles, besides SIGINT."""
FAILED = 1


def become_service(command: PythonCommand, environment: Mapping[str, str]) -> None:
    """Takes this process from supervisord's state to that of a Python which has just started."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    if command.has_socket:
        os.dup2(0, 3)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            os.fdopen(descriptor, "wb", 0, closefd=False), "utf-8", "backslashreplace", write_through=True
        )
        for descriptor in (1, 2)
    )
    for name in [name for name in sys.modules if name.partition(".")[0] in PRODUCT]:
        del sys.modules[name]
    atexit._clear()
    # The collector must never close the sockets of supervisord, because their numbers belong to other files by now.
    gc.freeze()
    sys.path[0] = str(Path.cwd())
    sys.argv = [command.module, *command.arguments]


def run_to_the_end(program: Callable[[], object]) -> NoReturn:
    """Runs the program and ends the process as Python would: pools of threads are told to end, threads are waited for,
    exit functions called.
    """
    code = FAILED
    try:
        program()
        code = 0
    except SystemExit as end:
        code = exit_code(end)
    except BaseException:  # noqa: BLE001  # The service has ended: its log says why, and another is started.
        traceback.print_exc()
    finally:
        # Python itself calls this function at its end. Only this function tells the threads of pools that no more work
        # comes. Without it a failed service would wait for them for ever, and count as running.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def exit_code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    sys.stderr.write(f"{end.code}\n")
    return FAILED
