"""What would exceed a workspace's limit of storage is refused or waits, with the numbers; a limit is a size that makes
sense.
"""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.queue.reasons import WorkspaceStorageFull
from cluster.domain.storage.storage_limits import (
    LARGEST_LIMIT,
    SMALLEST_LIMIT,
    WorkspaceStorage,
    check_storage_limit,
    check_storage_room,
    storage_reason,
)

GIB = 1024**3


def stored(used: int | None, limit: int | None) -> WorkspaceStorage:
    return WorkspaceStorage("vision", limit, used, None)


@pytest.mark.parametrize(
    ("used", "limit", "needed", "code"),
    [
        (None, None, 10 * GIB, ""),
        (5, None, 10 * GIB, ""),
        (None, 100, 100, ""),
        (99, 100, 0, ""),
        (99, 100, 1, ""),
        (99, 100, 2, "storage.no_room"),
        (100, 100, 0, "storage.over_limit"),
        (100, 100, 5, "storage.over_limit"),
        (150, 100, 0, "storage.over_limit"),
    ],
)
def test_what_exceeds_the_limit_is_refused(
    used: int | None, limit: int | None, needed: int, code: str
) -> None:
    if not code:
        check_storage_room(stored(used, limit), "archive", needed)
        return
    with pytest.raises(Refused) as refused:
        check_storage_room(stored(used, limit), "archive", needed)
    assert (refused.value.field, refused.value.code) == ("archive", code)
    assert refused.value.data["used"] == (used or 0) and refused.value.data["limit"] == limit


@pytest.mark.parametrize("limit", [None, SMALLEST_LIMIT, 500 * GIB, LARGEST_LIMIT])
def test_a_limit_is_a_size_or_nothing(limit: int | None) -> None:
    assert check_storage_limit(limit) == limit


@pytest.mark.parametrize("limit", [-1, 0, SMALLEST_LIMIT - 1, LARGEST_LIMIT + 1])
def test_a_slip_is_no_limit(limit: int) -> None:
    with pytest.raises(Refused) as refused:
        check_storage_limit(limit, "limit_bytes")
    assert (refused.value.field, refused.value.code) == ("limit_bytes", "storage.limit_out_of_range")


@pytest.mark.parametrize(("used", "limit", "share"), [(50, 100, 0.5), (None, 100, None), (5, None, None)])
def test_the_share_is_known_once_it_was_measured(
    used: int | None, limit: int | None, share: float | None
) -> None:
    assert stored(used, limit).used_share == share


@pytest.mark.parametrize(
    ("used", "limit", "waits"),
    [
        (None, None, False),
        (10 * GIB, None, False),
        (None, 100, False),
        (99, 100, False),
        (100, 100, True),
        (150, 100, True),
    ],
)
def test_jobs_of_a_workspace_that_stores_what_it_may_wait(
    used: int | None, limit: int | None, waits: bool
) -> None:
    reason = WorkspaceStorageFull("vision", used or 0, limit or 0) if waits else None
    assert storage_reason(stored(used, limit)) == reason
