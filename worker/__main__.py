"""Runs one process or command of the worker: ``python -m worker scheduler | tasks QUEUE | repairs | backups |
repair-door | agent | pod-network | ssh-door | appliance … | audit … | console | upkeep … | …``."""

import gc
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from cluster.logging import configure_logging

SERVICES = {
    "scheduler": "worker.commands.scheduler:main",
    "tasks": "worker.tasks.rq_worker:main",
    "repairs": "worker.tasks.repair_worker:main",
    "backups": "worker.tasks.backup_worker:main",
    "repair-door": "worker.commands.repair_broker:main",
    "agent": "worker.commands.agent:main",
    "pod-network": "worker.commands.pod_network:main",
    "ssh-door": "worker.ssh_door.door_keeper:main",
}
FOR_A_PERSON = {
    "up": "worker.embedded.commands.up:main",
    "down": "worker.embedded.commands.down:main",
    "status": "worker.embedded.commands.status:main",
    "reset": "worker.embedded.commands.reset:main",
    "support": "worker.embedded.commands.support:main",
    "console": "worker.console.menu:main",
    "restore": "worker.embedded.commands.restore:main",
    "appliance": "worker.commands.admin:main",
    "audit": "worker.commands.audit:main",
    "upkeep": "worker.commands.repair_commands:main",
}
"""The module of each command. Each loads only what it needs: ``make status`` does not wait for the scheduler's imports.
"""


def main(arguments: list[str]) -> int:
    name, *rest = arguments or [""]
    if name in SERVICES:
        configure_logging()
        return int(load(SERVICES[name])(rest) or 0)
    if name in FOR_A_PERSON:
        return int(load(FOR_A_PERSON[name])(rest) or 0)
    sys.stderr.write(f"{__doc__}\n")
    return 2


def load(path: str) -> Callable[[list[str]], Any]:
    """Imports the function without the garbage collector, which would walk all modules again and again."""
    gc.disable()
    try:
        function: Callable[[list[str]], Any] = resolve_name(path)
        return function
    finally:
        gc.freeze()
        gc.enable()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
