"""Another try is offered where it could end differently."""

import pytest

from cluster.domain.operation_retries import retry_obstacle


@pytest.mark.parametrize(
    ("code", "is_subject_deleted", "obstacle"),
    [
        (None, False, None),
        ("dataset.no_space", False, None),
        ("operation.dropped", False, None),
        ("archive.too_much_memory", False, None),
        ("archive.link", False, "operation.same_refusal"),
        ("archive.link", True, "operation.subject_deleted"),
        (None, True, "operation.subject_deleted"),
    ],
)
def test_what_makes_another_try_useless(
    code: str | None, is_subject_deleted: bool, obstacle: str | None
) -> None:
    assert retry_obstacle(code, is_subject_deleted=is_subject_deleted) == obstacle
