"""A check counts a default image only if it was read whole."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.domain.repairs.check_results import CheckFacts
from cluster.domain.repairs.checks import evaluate_check
from cluster.domain.repairs.definition import CheckKind, RepairCheck

BEFORE = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        ({"images": {"missing": [], "problem": ""}}, "check.images_stand.ok"),
        ({"images": {"missing": ["groundcrew-default-cpu"], "problem": ""}}, "check.images_stand.not"),
        ({"images": {"missing": [], "problem": "no registry"}}, "check.images_stand.problem"),
        (None, "check.host.silent"),
    ],
)
def test_an_image_counts_only_where_it_was_seen_whole(seen: dict[str, Any] | None, code: str) -> None:
    answer = evaluate_check(
        RepairCheck(CheckKind.IMAGES_STAND), CheckFacts(hosts={"gpu-master": seen}), BEFORE
    )
    assert (answer.code, answer.is_ok) == (code, code.endswith(".ok"))
