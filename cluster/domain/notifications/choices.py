"""The events that a person chose to be told of, and the webhook for them."""

from collections.abc import Collection
from dataclasses import dataclass

from cluster.domain.errors import Refused
from cluster.domain.notifications.webhook_targets import parse_webhook_target
from cluster.domain.states import NotificationKind

WAIT_HOURS = (1, 4, 12, 24)
"""The hours in the queue that a person can choose from: a job that has waited for so long is reported."""
DEFAULT_WAIT_HOURS = 4


@dataclass(frozen=True)
class NotificationChoices:
    """The choices of one person. Without a kind the person is told nothing."""

    kinds: frozenset[NotificationKind] = frozenset()
    wait_hours: int = DEFAULT_WAIT_HOURS
    webhook_url: str = ""

    @property
    def webhook_host(self) -> str:
        """The host alone: the rest of the URL may be a secret."""
        return parse_webhook_target(self.webhook_url).host if self.webhook_url else ""


def check_choices(
    kinds: Collection[str], wait_hours: int, webhook_url: str, allowed_hosts: Collection[str]
) -> NotificationChoices:
    """Raises Refused."""
    if unknown := set(kinds) - set(NotificationKind):
        raise Refused(
            "kinds", "notification.kind_unknown", typed=min(unknown)[:40], kinds=list(NotificationKind)
        )
    if wait_hours not in WAIT_HOURS:
        raise Refused("wait_hours", "value.not_a_choice", allowed=[str(hours) for hours in WAIT_HOURS])
    return NotificationChoices(
        frozenset(NotificationKind(kind) for kind in kinds),
        wait_hours,
        check_webhook_url(webhook_url.strip(), allowed_hosts),
    )


def check_webhook_url(url: str, allowed_hosts: Collection[str]) -> str:
    """Returns the checked URL; an empty one stays empty. Raises Refused for a host that is not allowed."""
    if not url:
        return ""
    target = parse_webhook_target(url)
    if not target.is_allowed(allowed_hosts):
        raise Refused(
            "webhook_url", "notification.webhook_host", host=target.host[:100], hosts=sorted(allowed_hosts)
        )
    return url


def find_allowed_host(url: str, allowed_hosts: Collection[str]) -> str | None:
    """The host of a URL that was kept; None if it is not allowed any more."""
    target = parse_webhook_target(url)
    return target.host if target.is_allowed(allowed_hosts) else None
