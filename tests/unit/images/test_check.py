"""The check of the repair that puts default images back: red while one is lost or nobody knows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.domain.repair_answers import Facts
from cluster.domain.repair_checks import judge
from cluster.domain.repairs import Check, CheckKind

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
    answer = judge(Check(CheckKind.IMAGES_STAND), Facts(hosts={"gpu-master": seen}), BEFORE)
    assert (answer.code, answer.is_ok) == (code, code.endswith(".ok"))
