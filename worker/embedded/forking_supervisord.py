"""supervisord that has loaded the services' libraries: each Python service is a fork of it and shares their memory.

    python -m worker.embedded.forking_supervisord <many blanks> -c supervisord.conf

Only libraries stay loaded, no module of the product: a service that starts again loads the product's code again, as an
executed one does. Other programs (Redis, nginx) are executed. The blanks are room for the services' titles.
"""

import gc
import importlib
import runpy
import sys
from collections.abc import Mapping, Sequence

from supervisor import supervisord
from supervisor.options import ServerOptions

from worker.embedded.forked_service import become_service, run_to_the_end
from worker.embedded.service_commands import parse_python_command
from worker.inside.shim_process_tree import set_process_title

LIBRARIES = (
    # This loads structlog without the libraries that draw in terminals.
    "cluster.logging",
    *("sqlalchemy.orm", "sqlalchemy.dialects.sqlite", "redis", "rq", "psutil"),
)
"""The modules that several services load when they start."""


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


def main(arguments: Sequence[str]) -> None:
    words = [word for word in arguments if word.strip()]
    set_process_title([*sys.orig_argv[:3], *words])
    load_libraries()
    supervisord.ServerOptions = ForkingOptions
    supervisord.main(words)


if __name__ == "__main__":
    main(sys.argv[1:])
