"""Detect that the wall clock was set, so that nothing expires because of it.

Wall time is what rows are stamped with; steady time (seconds, never set) is what has really passed.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

SMALLEST_JUMP = timedelta(seconds=30)
"""Smaller differences are the ordinary corrections of a clock, or a process that was slow."""


@dataclass(frozen=True)
class ClockJumpDetector:
    """The last look at both clocks; `settled_at` is the steady second from which things may expire again."""

    wall: datetime
    steady: float
    settled_at: float = float("-inf")
    jump: timedelta = timedelta(0)
    """How far the last look found it set; zero where it was not."""

    def observe(self, wall: datetime, steady: float, pause: timedelta) -> "ClockJumpDetector":
        """The next look. After a jump expiry rests for `pause`, in which everybody alive says so again."""
        jump = wall - self.wall - timedelta(seconds=steady - self.steady)
        seen = replace(self, wall=wall, steady=steady, jump=timedelta(0))
        if abs(jump) <= SMALLEST_JUMP:
            return seen
        return replace(seen, jump=jump, settled_at=steady + pause.total_seconds())

    @property
    def is_settled(self) -> bool:
        return self.steady >= self.settled_at
