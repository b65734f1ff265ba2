"""Alerts say what needs an administrator, how urgent it is, and when people are notified of it."""

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
        "waiting.storage_full",
        "waiting.dataset_failed",
        "waiting.no_executor",
        "waiting.disk_short",
    }
)
"""Waiting reasons that stay when other jobs end, so that a person has to act."""


class AlertUrgency(StrEnum):
    """The urgency of an alert. People who cannot go on come first, future problems last."""

    WAITING = "waiting"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    INTERRUPTED = "interrupted"
    CAUTION = "caution"


URGENCY_ORDER = list(AlertUrgency)


class AlertTopic(StrEnum):
    """The topic of an alert, which decides the page that helps."""

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
    SCHEDULER = "scheduler"


@dataclass(frozen=True)
class AlertDetail:
    """An additional part of an alert's sentence."""

    code: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Alert:
    """One thing that needs a person. `subject` identifies the row or the name that it is about."""

    urgency: AlertUrgency
    topic: AlertTopic
    code: str
    subject: int | str = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[AlertDetail, ...] = ()

    @property
    def key(self) -> str:
        """The key stays the same while the cause is the same, even if its numbers change."""
        return f"{self.code}:{self.subject}"[:120]


NOTIFY_AFTER = timedelta(seconds=60)
"""An alert that ends sooner is not notified to anybody."""
REPEAT_INTERVAL = timedelta(hours=1)
"""The same alert is not notified again within this time, even if it ends and begins again."""
DELIVERY_RETRY_DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
)
DELIVERY_DEADLINE = timedelta(hours=24)
"""After this time an undelivered notification is given up."""


def is_notification_due(began_at: datetime, told_last: datetime | None, now: datetime) -> bool:
    """`told_last` is the time of the last notification of the same alert."""
    return now - began_at >= NOTIFY_AFTER and (told_last is None or now - told_last >= REPEAT_INTERVAL)


def delivery_retry_delay(tries: int) -> timedelta:
    """The time until the next try after `tries` failed ones."""
    return DELIVERY_RETRY_DELAYS[min(tries, len(DELIVERY_RETRY_DELAYS)) - 1]
