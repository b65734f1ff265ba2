"""Plays the services that are not root in a process that has loaded them once: ``python -m
tests.adversaries.services``.

Each line of standard input asks for one thing, which a child of its own does with the settings that it is given; the
answer is a line. So operations are run by the task worker's own code, as another user than the scheduler's.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cluster.domain.states import OperationKind
from cluster.event_bus import connect_redis
from cluster.files.checkpoints import list_checkpoints
from cluster.gc_freeze import freeze_startup_objects
from cluster.logging import configure_logging
from cluster.services.storage import staged_code
from cluster.settings import Settings
from worker.commands import repair_commands
from worker.composition import open_cluster
from worker.tasks.claimable_operations import list_claimable_operations
from worker.tasks.rq_worker import make_rq_worker
from worker.tasks.run import run_operation


def write_code(settings: Settings, asked: dict[str, Any]) -> None:
    """As the portal does when somebody uploads it."""
    staged_code.write_code(settings, Path(asked["folder"]), contents_of(asked["files"]), asked["workspace"])


def contents_of(files: Iterable[tuple[str, str | int]]) -> list[tuple[str, bytes]]:
    return [(name, b"x" * each if isinstance(each, int) else each.encode()) for name, each in files]


def run_tasks(settings: Settings, asked: dict[str, Any]) -> None:
    """All that rings in the queue, whoever rang; the child of a child is RQ's work horse."""
    make_rq_worker(asked["queue"], connect_redis(settings.redis_url)).work(burst=True, logging_level="ERROR")


def run_repairs(settings: Settings, asked: dict[str, Any]) -> None:
    """As the task worker of repairs does, which looks at the rows alone."""
    cluster = open_cluster(settings)
    waiting = list_claimable_operations(cluster, OperationKind.REPAIR)
    cluster.store.close()
    for number in waiting:
        run_operation(number)


def read_results(settings: Settings, asked: dict[str, Any]) -> None:
    """As pages do: checkpoints of an attempt."""
    folder = Path(asked["folder"]).relative_to(settings.storage_dir)
    list_checkpoints(settings.storage_dir, *folder.parts, "out")


def keep_up(settings: Settings, asked: dict[str, Any]) -> None:
    """A command that repairs ask of the application. What it refuses is no matter here."""
    repair_commands.main(["-", *asked["words"]])


VERBS: dict[str, Callable[[Settings, dict[str, Any]], None]] = {
    "code": write_code,
    "tasks": run_tasks,
    "repairs": run_repairs,
    "results": read_results,
    "upkeep": keep_up,
}


def do(asked: dict[str, Any]) -> None:
    os.environ.update(asked["environment"])
    VERBS[asked["do"]](Settings.from_environment(), asked)


def answer(asked: dict[str, Any]) -> str:
    """Empty where it went well, else the error's last lines."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            do(asked)
        except BaseException:  # noqa: BLE001 - The parent says it.
            os.write(writer, traceback.format_exc()[-3000:].encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


def main() -> int:
    # Both as a task worker does. Each answer is a fork of this process, which begins with what this one knows.
    configure_logging()
    freeze_startup_objects()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
