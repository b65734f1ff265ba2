"""The graph of the last days of a workspace or a node: a bar a day, what was booked and how much of it was used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

from cluster.domain.people.time_zones import have_same_clocks
from cluster.services.nodes.daily_usage import DailyUsage, read_node_days, read_workspace_days
from cluster.words.formatting import format_number
from portal.i18n.reader_zone import installation_zone, request_zone
from portal.i18n.translate import _
from portal.recent_values import EVERYBODY, recent_values
from portal.web.request_context import current_cluster

NOON = time(12)
FULL_HEIGHT = 100.0
"""The height of the highest bar, in units of its SVG."""


@dataclass(frozen=True)
class DayBar:
    """`held` and `used` are heights up to `FULL_HEIGHT`; `words` says the day and both numbers of hours."""

    day: str
    held: float
    used: float
    words: str


@dataclass(frozen=True)
class DailyUsageChart:
    bars: tuple[DayBar, ...]
    held_hours: str
    used_hours: str
    other_zone: str = ""
    """The installation's time zone, in which the days are counted, if the reader has another one."""


def draw_days_of_workspace(workspace_id: int) -> DailyUsageChart | None:
    """Reads the days once for all members, who see the same."""
    cluster = current_cluster()
    days = recent_values().read(
        EVERYBODY, ("days", workspace_id), lambda: read_workspace_days(cluster, workspace_id)
    )
    return draw_daily_usage(days)


def draw_days_of_node(node_id: int) -> DailyUsageChart | None:
    return draw_daily_usage(read_node_days(current_cluster(), node_id))


def draw_daily_usage(days: Sequence[DailyUsage]) -> DailyUsageChart | None:
    """None if no unit was held on any of the days, because a graph without a bar says nothing."""
    highest = max((max(day.held_seconds, day.used_seconds) for day in days), default=0.0)
    if not highest:
        return None
    return DailyUsageChart(
        tuple(draw_bar(day, highest) for day in days),
        write_hours(sum(day.held_seconds for day in days)),
        write_hours(sum(day.used_seconds for day in days)),
        other_zone(days),
    )


def other_zone(days: Sequence[DailyUsage]) -> str:
    """The name of the installation's time zone if the reader's clock differs from it on one of the days; else empty."""
    zone, noons = installation_zone(), [datetime.combine(one.day, NOON, UTC) for one in days]
    return "" if have_same_clocks(zone, request_zone(), noons) else zone.key


def draw_bar(day: DailyUsage, highest: float) -> DayBar:
    held, used = write_hours(day.held_seconds), write_hours(day.used_seconds)
    return DayBar(
        str(day.day.day),
        bar_height(day.held_seconds, highest),
        bar_height(day.used_seconds, highest),
        _("%(day)s: %(held)s h booked, %(used)s h used", day=f"{day.day:%m-%d}", held=held, used=used),
    )


def bar_height(seconds: float, highest: float) -> float:
    """A day that has seconds is at least one unit high, so that it does not look like one that has none."""
    return max(1.0, round(FULL_HEIGHT * seconds / highest, 1)) if seconds else 0.0


def write_hours(seconds: float) -> str:
    """Small numbers have two digits, as on the page of a job. A number that would be rounded to zero is shown as "less
    than".
    """
    hours = seconds / 3600
    if 0 < hours < 0.005:
        return "< 0.01"
    return format_number(hours, 1 if hours >= 10 else 2) if hours else "0"
