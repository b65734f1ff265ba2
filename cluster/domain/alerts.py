"""Alerts: what needs an administrator, how urgent it is, and when people are notified of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

ENDS_SOON_DAYS = 3
DISK_FULL_SHARE = 0.9
STUCK_WAITING_CODES = frozenset(
    {
        "waiting.nodes_too_small",
        "waiting.cluster_too_small",
        "waiting.quota_too_small",
        "waiting.workspace_expired",
        "waiting.dataset_failed",
        "waiting.no_executor",
        "waiting.disk_short",
    }
)
"""Reasons that no other job's end takes away: somebody has to do something."""


class AlertUrgency(StrEnum):
    """People who cannot go on come first, what is only going to matter last."""

    WAITING = "waiting"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    INTERRUPTED = "interrupted"
    CAUTION = "caution"


URGENCY_ORDER = list(AlertUrgency)


class AlertTopic(StrEnum):
    """What it is about, and so where the way out leads."""

    JOB = "job"
    OPERATION = "operation"
    NODE = "node"
    ENGINE = "engine"
    KUBERNETES = "kubernetes"
    BACKUPS = "backups"
    DISK = "disk"
    DATASET = "dataset"
    WORKSPACE = "workspace"
    ENVIRONMENT = "environment"
    TELLING = "telling"


@dataclass(frozen=True)
class AlertDetail:
    """One more half sentence."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Alert:
    """One thing that needs a person; `subject` is the row or the name that it is about."""

    urgency: AlertUrgency
    topic: AlertTopic
    code: str
    subject: int | str = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[AlertDetail, ...] = ()

    @property
    def key(self) -> str:
        """The same as long as it is the same thing, whatever its numbers say."""
        return f"{self.code}:{self.subject}"[:120]


NOTIFY_AFTER = timedelta(seconds=60)
"""An alert that ends sooner is notified to nobody."""
REPEAT_INTERVAL = timedelta(hours=1)
"""So long after it was told the same thing is not told again, however often it comes and goes."""
DELIVERY_RETRY_DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
)
DELIVERY_DEADLINE = timedelta(hours=24)
"""A message that nobody took for so long is no news any more."""


def is_notification_due(began_at: datetime, told_last: datetime | None, now: datetime) -> bool:
    """`told_last`: when the same thing was last told of."""
    return now - began_at >= NOTIFY_AFTER and (told_last is None or now - told_last >= REPEAT_INTERVAL)


def delivery_retry_delay(tries: int) -> timedelta:
    """Until the next try; `tries` have failed."""
    return DELIVERY_RETRY_DELAYS[min(tries, len(DELIVERY_RETRY_DELAYS)) - 1]
