"""The explanation why a job waits, when it may start and what would let it start sooner, as code and data.

Lists, form, dry run, sweep preview, `why`, queue and job page all show this one value of a waiting job: the scheduler
writes it, or the placement computes it on request. `cluster.words.waiting_text` makes the sentence from it alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cluster.domain.queue.reasons import WaitingReason, to_waiting_data
from cluster.domain.queue.start_estimate import UNKNOWN_START, StartEstimate


@dataclass(frozen=True)
class WaitingExplanation:
    """`data` is plain JSON: the facts of the reason and of the start estimate. Sentences are made of nothing else."""

    code: str
    data: Mapping[str, Any]

    @classmethod
    def of(cls, reason: WaitingReason, estimate: StartEstimate = UNKNOWN_START) -> "WaitingExplanation":
        return cls(reason.code, to_waiting_data(reason, estimate))

    @property
    def starts_at(self) -> datetime | None:
        """The likeliest moment."""
        return self.moment("starts_at")

    @property
    def earliest_at(self) -> datetime | None:
        return self.moment("earliest_at")

    @property
    def latest_at(self) -> datetime | None:
        return self.moment("latest_at")

    @property
    def ahead(self) -> int:
        """Jobs of its workspace that come before it, at most MAX_AHEAD_COUNTED."""
        return int(self.data.get("ahead", 0))

    @property
    def helps_units(self) -> int | None:
        """The number of units with which it would start now."""
        return self.data.get("helps_units")

    @property
    def helps_seconds(self) -> int | None:
        """The time limit in seconds with which it would start now."""
        return self.data.get("helps_seconds")

    def moment(self, name: str) -> datetime | None:
        text = self.data.get(name)
        return datetime.fromisoformat(text) if text else None

    @property
    def named_job_ids(self) -> set[int]:
        """Jobs that its sentences name."""
        return {self.data[name] for name in ("first_ahead", "freed_by") if self.data.get(name)}
