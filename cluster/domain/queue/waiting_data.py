"""Turn a waiting reason and a start estimate into the plain data that a job's row keeps.

The sentence is made when it is read.
"""

from datetime import date
from enum import StrEnum
from typing import Any

from cluster.domain.queue.reasons import WaitingReason
from cluster.domain.queue.start_estimate import UNKNOWN_START, StartEstimate


def to_waiting_data(reason: WaitingReason, outlook: StartEstimate = UNKNOWN_START) -> dict[str, Any]:
    """What the row keeps beside the code: plain JSON, times as ISO text, nothing that is not known."""
    # Both are flat, so that their own dictionaries do; asdict() would copy each value deeply, for every row.
    known = {key: value for key, value in vars(outlook).items() if value not in (None, 0, False)}
    return {key: _plain(value) for key, value in (vars(reason) | known).items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return value.isoformat() if isinstance(value, date) else value
