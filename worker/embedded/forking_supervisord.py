"""supervisord that has loaded the services' libraries: each Python service is a fork of it and shares their memory.

    python -m worker.embedded.forking_supervisord <many blanks> -c supervisord.conf

Only libraries stay loaded, no module of the product: a service that starts again reads the product's code anew, as one
that is executed does. Other programs (Redis, nginx) are executed. The blanks are room for the services' titles.
"""

import atexit
import gc
import importlib
import io
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from supervisor import supervisord
from supervisor.options import ServerOptions

from worker.embedded.service_commands import PythonCommand, parse_python_command
from worker.inside.shim_process_tree import set_process_title

LIBRARIES = (
    # It loads structlog without what draws in terminals.
    "cluster.logging",
    *("sqlalchemy.orm", "sqlalchemy.dialects.sqlite", "redis", "rq", "psutil"),
)
"""The modules that several services load when they start."""
PRODUCT = ("cluster", "portal", "worker")
SIGNALS = (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR2)
"""The signals that supervisord handles, besides SIGINT."""
FAILED = 1


class ForkingOptions(ServerOptions):  # type: ignore[misc]
    """supervisord's options, which start a Python service without executing another Python."""

    def execve(self, filename: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Becomes the service in the child, whose files, folder and user are set already. Raises OSError."""
        command = parse_python_command(argv, sys.executable)
        if command is None:
            super().execve(filename, argv, env)
            return
        set_process_title(list(command.words))
        become_service(command, env)
        run_to_the_end(lambda: runpy.run_module(command.module, run_name="__main__", alter_sys=True))


def load_libraries() -> None:
    """Loads libraries, but no product code, and exempts them from garbage collection in every service."""
    gc.disable()
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.enable()


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
    # The sockets of supervisord, whose numbers are others' by now, must never be closed by the collector.
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
        # Python's own end calls it. Only it tells the threads of pools that no more work comes; a service that failed
        # would wait for them for ever, and count as running.
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


def main(arguments: Sequence[str]) -> None:
    words = [word for word in arguments if word.strip()]
    set_process_title([*sys.orig_argv[:3], *words])
    load_libraries()
    supervisord.ServerOptions = ForkingOptions
    supervisord.main(words)


if __name__ == "__main__":
    main(sys.argv[1:])
