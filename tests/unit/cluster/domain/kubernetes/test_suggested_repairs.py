"""Of the certificates that a node tells of, the one that ends first is known."""

from datetime import UTC, datetime

import pytest

from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_FACT, soonest_certificate_end

NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "soonest"),
    [
        (None, None),
        ({}, None),
        ({"ca": "soon", "api": "2026-11-30T05:00:00"}, None),
        ({"ca": "2027-11-20T05:00:00Z", "api": "2026-11-30T06:00:00Z"}, ("api", 10)),
        ({"ca": "2026-11-18T05:00:00Z"}, ("ca", -2)),
    ],
)
def test_days_are_whole_and_negative_once_it_has_ended(told: object, soonest: tuple[str, int] | None) -> None:
    assert soonest_certificate_end({CERTIFICATES_FACT: told}, NOW) == soonest
