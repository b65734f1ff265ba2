"""Read numbers from untrusted JSON. A number that is not finite or too large for pages becomes None."""

import math

LARGEST_WHOLE = 2**53


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
