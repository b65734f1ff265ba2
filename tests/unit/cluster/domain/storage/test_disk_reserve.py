"""A reserve of each disk is kept; below it jobs are held back, and then ended in an order."""

import pytest

from cluster.domain.storage.disk_reserve import (
    DiskLevel,
    DiskWriter,
    MonitoredDisk,
    ballast_of,
    can_keep_ballast,
    choose_writer_to_stop,
    disk_level_of,
    reserve_of,
    stop_cause_of,
)

MIB, GIB = 1024**2, 1024**3
RESERVE = 1024 * MIB


@pytest.mark.parametrize(
    ("whole", "wanted", "reserve"),
    [
        (50 * GIB, None, GIB),
        (1000 * GIB, None, 10 * GIB),
        (4000 * MIB, None, 400 * MIB),
        (4000 * MIB, 16 * MIB, 16 * MIB),
        (50 * GIB, 0, 0),
    ],
)
def test_the_reserve_of_a_disk(whole: int, wanted: int | None, reserve: int) -> None:
    assert reserve_of(whole, wanted) == reserve


@pytest.mark.parametrize(
    ("free", "before", "level"),
    [
        (1024, DiskLevel.ROOM, DiskLevel.ROOM),
        (1023, DiskLevel.ROOM, DiskLevel.SHORT),
        (512, DiskLevel.ROOM, DiskLevel.SHORT),
        (511, DiskLevel.ROOM, DiskLevel.LOW),
        (128, DiskLevel.LOW, DiskLevel.LOW),
        (127, DiskLevel.SHORT, DiskLevel.FULL),
        (0, DiskLevel.ROOM, DiskLevel.FULL),
        (600, DiskLevel.FULL, DiskLevel.SHORT),
        (1024, DiskLevel.SHORT, DiskLevel.SHORT),
        (1279, DiskLevel.LOW, DiskLevel.SHORT),
        (1280, DiskLevel.SHORT, DiskLevel.ROOM),
    ],
)
def test_the_level_falls_at_once_and_rises_with_a_quarter_more(
    free: int, before: DiskLevel, level: DiskLevel
) -> None:
    assert disk_level_of(free * MIB, RESERVE, before) is level


def test_a_reserve_of_nothing_keeps_nothing() -> None:
    assert disk_level_of(0, 0) is DiskLevel.ROOM


def volume(free: int, level: DiskLevel | None = None) -> MonitoredDisk:
    return MonitoredDisk("/data", free * MIB, 100 * GIB, RESERVE, level or disk_level_of(free * MIB, RESERVE))


def writer(attempt: int, rate: float, size: int = 100) -> DiskWriter:
    """`rate` in MiB a second, `size` in MiB."""
    return DiskWriter(attempt, size * MIB, int(rate * MIB), 1.0)


@pytest.mark.parametrize(
    ("free", "rates", "chosen"),
    [
        (2000, [1000.0], None),
        (600, [1000.0], None),
        (500, [5.0, 50.0, 20.0], 1),
        (500, [4.0, 2.0], None),
        (500, [4.0, 3.0], 0),
        (500, [0.01, 0.05], None),
        (130, [0.1, 0.2], 1),
        (100, [0.1, 0.2], 1),
        (100, [0.01], None),
        (100, [], None),
    ],
)
def test_the_fastest_writer_is_ended_while_the_room_lasts_for_less_than_a_minute(
    free: int, rates: list[float], chosen: int | None
) -> None:
    writers = [writer(number, rate) for number, rate in enumerate(rates)]
    found = choose_writer_to_stop(volume(free), writers)
    assert (found.attempt_id if found else None) == chosen


def test_of_equally_fast_writers_the_larger_goes_then_the_older() -> None:
    even = [writer(3, 50, 10), writer(2, 50, 20), writer(1, 50, 20)]
    found = choose_writer_to_stop(volume(200), even)
    assert found is not None and found.attempt_id == 1


@pytest.mark.parametrize(
    ("size", "code"),
    [(1023, "interrupted.disk_full"), (1024, "exit.disk_filled"), (0, "interrupted.disk_full")],
)
def test_who_has_written_as_much_as_the_reserve_has_filled_it(size: int, code: str) -> None:
    cause = stop_cause_of(volume(100), writer(1, 50, size))
    assert cause.code == code and cause.data["mount"] == "/data"


@pytest.mark.parametrize(("size", "code"), [(9, "interrupted.disk_full"), (11 * 1024, "exit.disk_filled")])
def test_without_a_reserve_a_tenth_of_the_disk_counts(size: int, code: str) -> None:
    bare = MonitoredDisk("/data", 0, 100 * GIB, 0)
    assert stop_cause_of(bare, writer(1, 50, size)).code == code


@pytest.mark.parametrize(("free", "may"), [(1343, False), (1344, True)])
def test_the_ballast_is_made_again_once_it_leaves_the_disk_with_room(free: int, may: bool) -> None:
    assert ballast_of(RESERVE) == 64 * MIB and ballast_of(16 * MIB) == 2 * MIB
    assert can_keep_ballast(volume(free)) is may
