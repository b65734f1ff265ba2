"""The RQ worker accepts exactly one function with one number, because a queue entry names code by its path.

What is not exactly `run_operation(<id>)` is put into quarantine unread, logged, and never resolved.
RQ's retries, callbacks, webhooks, time limits and remote commands are off: the operation's row decides.
"""

import json
import signal
import sys
import zlib
from typing import Any

import structlog
from redis import Redis
from rq import Worker
from rq.exceptions import DeserializationError, NoSuchJobError, TimeoutFormatError
from rq.job import Job
from rq.serializers import JSONSerializer

from cluster.domain.states import TaskQueue
from cluster.event_bus import RUN_OPERATION, connect_redis
from cluster.gc_freeze import freeze_startup_objects
from cluster.settings import Settings
from worker.tasks.run import run_operation
from worker.tasks.worker_processes import WorkerProcesses, end_own_group, end_with_parent

log = structlog.get_logger()
QUARANTINE = "gc:quarantine"
QUARANTINE_LENGTH = 100
FORBIDDEN_FIELDS = (
    "success_callback_name",
    "failure_callback_name",
    "stopped_callback_name",
    "webhooks",
    "dependency_id",
    "dependency_ids",
    "retries_left",
    "repeats_left",
)
EMPTY = (b"", b"[]", b"null")
UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
    TimeoutFormatError,
    zlib.error,
    DeserializationError,
)
"""What a forged entry can make RQ's reader raise."""


class EntryRefused(NoSuchJobError):
    """RQ goes on to the next entry when it hears that there is no such job."""


class OperationJob(Job):
    """Resolves nothing by name."""

    def restore(self, raw_data: dict[bytes, bytes]) -> None:
        problem = find_forbidden_field(raw_data)
        if problem is None:
            try:
                super().restore(raw_data)
                if self.func_name != RUN_OPERATION or self.instance is not None or self.kwargs:
                    problem = "another function"
                elif len(self.args) != 1 or type(self.args[0]) is not int:
                    problem = "other arguments"
            except UNREADABLE as error:
                problem = f"unreadable: {type(error).__name__}"
        if problem is not None:
            self.put_into_quarantine(problem, raw_data)

    def put_into_quarantine(self, problem: str, raw_data: dict[bytes, bytes]) -> None:
        log.error("a queue entry that is not ours was refused", entry=self.id, problem=problem)
        shown = {decode_entry_text(key): decode_entry_text(value)[:200] for key, value in raw_data.items()}
        entry = json.dumps({"id": self.id, "problem": problem, "entry": shown})
        self.connection.lpush(QUARANTINE, entry)
        self.connection.ltrim(QUARANTINE, 0, QUARANTINE_LENGTH - 1)
        self.connection.delete(self.key)
        raise EntryRefused(problem)

    @property
    def func(self) -> Any:
        return run_operation


def find_forbidden_field(raw_data: dict[bytes, bytes]) -> str | None:
    """Looked for before RQ reads anything of it."""
    fields = {decode_entry_text(key): value for key, value in raw_data.items()}
    for name in FORBIDDEN_FIELDS:
        if fields.get(name, b"") not in EMPTY:
            return name
    return None


def decode_entry_text(value: bytes | str) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


class OperationWorker(Worker):
    """One queue; hears no commands over Redis; is back within seconds after Redis was away."""

    max_connection_wait_time = 2.0
    log_result_lifespan = False

    def subscribe(self) -> None:
        """RQ's channel for commands (stop a job, shut down) stays closed."""

    def handle_warm_shutdown_request(self) -> None:
        """The operation is taken up again from its row; nobody waits for a compiler."""
        if self.horse_pid:
            self.kill_horse()

    def setup_work_horse_signals(self) -> None:
        """A horse whose worker was killed ends with all that it has started: the row is taken up again."""
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGTERM, end_own_group)
        end_with_parent(self.pid or 0)


def make_rq_worker(queue: str, connection: Redis) -> OperationWorker:
    return OperationWorker(
        [queue], connection=connection, job_class=OperationJob, serializer=JSONSerializer,
        log_job_description=False,
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """`python -m worker tasks QUEUE…`: one queue in this process, several in a fork of it each."""
    if not arguments or not set(arguments) <= set(TaskQueue):
        sys.stderr.write(f"usage: python -m worker tasks {'|'.join(TaskQueue)}…\n")
        return 2
    settings = Settings.from_environment()
    # Once, here: each worker and each work horse is a fork of this process, and begins with what it knows.
    freeze_startup_objects()

    def work(queue: str) -> None:
        make_rq_worker(queue, connect_redis(settings.redis_url)).work(logging_level="WARNING")

    if len(arguments) > 1:
        return WorkerProcesses(arguments, work).run()
    work(arguments[0])
    return 0
