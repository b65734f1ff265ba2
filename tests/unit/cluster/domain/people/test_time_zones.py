"""Time zones by name."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from cluster.domain.errors import Refused
from cluster.domain.people.time_zones import (
    check_time_zone,
    find_time_zone,
    have_same_clocks,
    proposed_zone_names,
    utc_offset,
)


@pytest.mark.parametrize(
    "name", ["", "localtime", "../../etc/passwd", "Asia/Atlantis", None, "/etc/localtime"]
)
def test_what_is_no_zone_is_none(name: str | None) -> None:
    assert find_time_zone(name) is None


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Asia/Seoul", "Asia/Seoul"),
        ("asia/seoul ", "Asia/Seoul"),
        ("america/new york", "America/New_York"),
        ("", ""),
    ],
)
def test_a_typed_zone_is_kept_by_its_name(typed: str, kept: str) -> None:
    assert check_time_zone(typed) == kept


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        check_time_zone("Seoul time")
    assert (refused.value.field, refused.value.code) == ("time_zone", "preference.unknown_time_zone")


def test_every_proposed_name_is_a_zone() -> None:
    assert {"Asia/Seoul", "Europe/Berlin", "UTC"} <= set(proposed_zone_names())
    assert all(find_time_zone(name) for name in proposed_zone_names())


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("Asia/Seoul", "UTC+9"),
        ("UTC", "UTC"),
        ("America/St_Johns", "UTC-3:30"),
        ("Asia/Kathmandu", "UTC+5:45"),
    ],
)
def test_an_offset_is_written_short(zone: str, offset: str) -> None:
    assert utc_offset(ZoneInfo(zone), datetime(2026, 11, 23, tzinfo=UTC)) == offset


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("UTC", "Etc/UTC", True),
        ("Asia/Seoul", "UTC", False),
        # They agree in winter, and not in summer.
        ("Europe/London", "UTC", False),
    ],
)
def test_zones_have_the_same_clocks_whatever_their_names(first: str, second: str, same: bool) -> None:
    year = [datetime(2026, month, 1, tzinfo=UTC) for month in range(1, 13)]
    assert have_same_clocks(ZoneInfo(first), ZoneInfo(second), year) is same
