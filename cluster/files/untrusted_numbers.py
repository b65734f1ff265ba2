"""Read numbers that a program wrote. A number in JSON that is not finite or too large for pages becomes None."""

import math
import os
from datetime import UTC, datetime

LARGEST_WHOLE = 2**53
EARLIEST_WRITTEN = datetime(1980, 1, 1, tzinfo=UTC).timestamp()
LATEST_WRITTEN = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
"""A zip archive can store no earlier time than 1980, and none after 2107."""


def written_at(status: os.stat_result) -> datetime:
    """The time of the file's last write, between 1980 and 2100, because its owner may set any time."""
    return datetime.fromtimestamp(min(max(status.st_mtime, EARLIEST_WRITTEN), LATEST_WRITTEN), UTC)


def finite_or_none(value: object) -> float | None:
    """A finite float, or None for anything else. Booleans are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole_or_none(value: object) -> int | None:
    """A whole number from 0 to 2^53, which is also exact in a browser."""
    number = finite_or_none(value)
    if number is None or number != int(number) or not 0 <= number <= LARGEST_WHOLE:
        return None
    return int(number)
