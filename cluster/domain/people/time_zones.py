"""Time zones that a person may choose, by their names in the tz database."""

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cluster.domain.errors import Refused

FILES_BESIDE_ZONES = frozenset({"Factory", "localtime", "posixrules"})


@cache
def zone_names() -> frozenset[str]:
    """The names of all zones that this machine knows; empty if it has no tz database."""
    return frozenset(available_timezones()) - FILES_BESIDE_ZONES


@cache
def proposed_zone_names() -> tuple[str, ...]:
    """The names to choose from, in order: places, and UTC."""
    places = (
        name for name in zone_names() if "/" in name and not name.startswith(("Etc/", "SystemV/", "US/"))
    )
    return (*sorted(places), "UTC")


def find_time_zone(name: str | None) -> ZoneInfo | None:
    """Returns None if the name is no zone, because browsers and cookies may send any text."""
    return ZoneInfo(name) if name in zone_names() else None


def reader_zone(chosen: str | None, installation: ZoneInfo) -> ZoneInfo:
    """The zone in which a person reads times outside the portal: their choice, else the installation's."""
    return find_time_zone(chosen) or installation


def check_time_zone(name: str) -> str:
    """The name as the tz database spells it; empty stays empty. Raises Refused."""
    typed = name.strip()
    if not typed or typed in zone_names():
        return typed
    found = {known.casefold(): known for known in zone_names()}.get(typed.casefold().replace(" ", "_"))
    if found is None:
        raise Refused("time_zone", "preference.unknown_time_zone", value=typed[:40])
    return found


def have_same_clocks(first: ZoneInfo, second: ZoneInfo, moments: Iterable[datetime]) -> bool:
    """Whether clocks of both zones agree at all moments. Zones with several names, as UTC and Etc/UTC, always do."""
    return all(
        moment.astimezone(first).utcoffset() == moment.astimezone(second).utcoffset() for moment in moments
    )


def utc_offset(zone: ZoneInfo, now: datetime) -> str:
    """ "UTC+9", "UTC-3:30" or "UTC"."""
    offset = now.astimezone(zone).utcoffset()
    minutes = round(offset.total_seconds() / 60) if offset else 0
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02}' if rest else ''}"
