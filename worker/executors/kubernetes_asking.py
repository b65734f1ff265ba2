"""(merged) Asks a run to stop by a file beside its plan, and deletes its objects, owners before pods."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from worker.executors.contract import ExecutorUnreachable
from worker.inside import shim_files
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable

REMEMBERED_SECONDS = 60.0
STOP_FILE = "stop.json"
AttemptKey = tuple[int, int]
"""Job and attempt."""


def drop_old_moments(moments: dict[AttemptKey, float], known: Collection[AttemptKey]) -> None:
    """Some time later: who asks again about one that has just ended is told the same."""
    before = time.monotonic() - REMEMBERED_SECONDS
    for numbers in [each for each, at in moments.copy().items() if each not in known and at < before]:
        moments.pop(numbers, None)


@contextmanager
def raising_unreachable() -> Iterator[None]:
    """Around questions whose answer is the only truth: none of them means that nothing is known."""
    try:
        yield
    except ApiUnreachable as silence:
        raise ExecutorUnreachable(silence.code, **silence.data) from silence
    except ApiRefused as refusal:
        raise ExecutorUnreachable("kubernetes.refused", said=refusal.message) from refusal


def write_stop_request(folder: Path, how: str) -> None:
    """A folder that is away, or full, says it a little later."""
    with suppress(OSError):
        shim_files.write_json_atomically(str(folder / "control" / STOP_FILE), {"how": how})
