"""How a run in Kubernetes is asked to end, what no answer of an API server means, and what is soon forgotten."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from worker.executors.contract import CannotTell
from worker.inside import shim_files
from worker.kube.api import NoAnswer, Refused

REMEMBERED_SECONDS = 60.0
STOP = "stop.json"
Numbers = tuple[int, int]
"""Job and attempt."""


def forget_old(moments: dict[Numbers, float], known: Collection[Numbers]) -> None:
    """Some time later: who asks again about one that has just ended is told the same."""
    before = time.monotonic() - REMEMBERED_SECONDS
    for numbers in [each for each, at in moments.copy().items() if each not in known and at < before]:
        moments.pop(numbers, None)


@contextmanager
def telling() -> Iterator[None]:
    """Around questions whose answer is the only truth: none of them means that nothing is known."""
    try:
        yield
    except NoAnswer as silence:
        raise CannotTell(silence.code, **silence.data) from silence
    except Refused as refusal:
        raise CannotTell("kubernetes.refused", said=refusal.message) from refusal


def say(folder: Path, how: str) -> None:
    """A folder that is away, or full, says it a little later."""
    with suppress(OSError):
        shim_files.write_whole(str(folder / "control" / STOP), {"how": how})
