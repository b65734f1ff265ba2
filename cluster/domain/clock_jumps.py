"""Detect that the wall clock was set, so that nothing expires because of it.

Rows have timestamps of the wall clock. Steady time (seconds) measures real durations, because it cannot be set.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

SMALLEST_JUMP = timedelta(seconds=30)
"""Smaller differences are normal corrections of a clock, or come from a slow process."""


@dataclass(frozen=True)
class ClockJumpDetector:
    """The last readings of both clocks. Things may expire again from the steady second `settled_at` on."""

    wall: datetime
    steady: float
    settled_at: float = float("-inf")
    jump: timedelta = timedelta(0)
    """The time by which the clock was set forward, or back if it is negative, before the last reading."""

    def observe(self, wall: datetime, steady: float, pause: timedelta) -> "ClockJumpDetector":
        """Reads both clocks again. After a jump nothing expires for `pause`, so that everything alive can report
        again.
        """
        jump = wall - self.wall - timedelta(seconds=steady - self.steady)
        seen = replace(self, wall=wall, steady=steady, jump=timedelta(0))
        if abs(jump) <= SMALLEST_JUMP:
            return seen
        return replace(seen, jump=jump, settled_at=steady + pause.total_seconds())

    @property
    def is_settled(self) -> bool:
        return self.steady >= self.settled_at
