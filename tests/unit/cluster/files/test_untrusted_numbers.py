"""Numbers of a file that a program wrote: finite and of a size that pages can show."""

import math

import pytest

from cluster.files.untrusted_numbers import LARGEST_WHOLE, finite_or_none, whole_or_none


@pytest.mark.parametrize(
    ("value", "finite", "whole"),
    [
        (0, 0.0, 0),
        (3.0, 3.0, 3),
        (2.5, 2.5, None),
        (-1, -1.0, None),
        (LARGEST_WHOLE, float(LARGEST_WHOLE), LARGEST_WHOLE),
        (LARGEST_WHOLE * 4, float(LARGEST_WHOLE * 4), None),
        (10**400, None, None),
        (math.inf, None, None),
        (math.nan, None, None),
        (True, None, None),
        ("3", None, None),
        (None, None, None),
    ],
)
def test_a_number_is_finite_or_none(value: object, finite: float | None, whole: int | None) -> None:
    assert (finite_or_none(value), whole_or_none(value)) == (finite, whole)
