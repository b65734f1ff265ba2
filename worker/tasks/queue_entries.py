"""A queue entry names code by its path, so exactly one function with one number is accepted.

Any entry other than exactly `run_operation(<id>)` is put into quarantine unread, logged, and never resolved. RQ's
retries, callbacks, webhooks and time limits are off: the operation's row decides.
"""

import json
import zlib
from typing import Any

import structlog
from rq.exceptions import DeserializationError, NoSuchJobError, TimeoutFormatError
from rq.job import Job

from cluster.event_bus import RUN_OPERATION
from worker.tasks.run import run_operation

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
"""The errors that a forged entry can make RQ's reader raise."""


class EntryRefused(NoSuchJobError):
    """Raised so that RQ goes on to the next entry, as it does if a job does not exist."""


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
    """Finds a field that no entry of ours has, before RQ reads anything of the entry."""
    fields = {decode_entry_text(key): value for key, value in raw_data.items()}
    for name in FORBIDDEN_FIELDS:
        if fields.get(name, b"") not in EMPTY:
            return name
    return None


def decode_entry_text(value: bytes | str) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
