"""Units as bars for the maps."""

import pytest

from portal.presenters.nodes.unit_bars import UnitBar, bars_of_count


@pytest.mark.parametrize(
    ("count", "widths"), [(0, []), (1, [1]), (8, [8]), (9, [8, 1]), (16, [8, 8]), (20, [8, 8, 4])]
)
def test_a_row_has_at_most_eight_squares(count: int, widths: list[int]) -> None:
    bars = bars_of_count(count, "work", "job-7", fill=2, label="7", href="/jobs/7")
    assert bars == [UnitBar(width, "work", "job-7", 2, "7", "/jobs/7") for width in widths]
