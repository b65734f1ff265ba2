"""What would exceed a workspace's limit of storage is refused with the numbers; a limit is a size that makes sense."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.storage.storage_limits import (
    LARGEST_LIMIT,
    WorkspaceStorage,
    check_storage_room,
    parse_storage_limit,
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


@pytest.mark.parametrize(
    ("text", "size"), [("", None), ("  ", None), ("500 GiB", 500 * GIB), ("2TiB", 2048 * GIB), ("7", 7 * GIB)]
)
def test_a_limit_is_a_size_or_nothing(text: str, size: int | None) -> None:
    assert parse_storage_limit(text) == size


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("much", "storage.limit_unreadable"),
        ("-5 GiB", "storage.limit_unreadable"),
        ("0", "storage.limit_out_of_range"),
        ("5 B", "storage.limit_out_of_range"),
        (f"{LARGEST_LIMIT // GIB + 1} GiB", "storage.limit_out_of_range"),
    ],
)
def test_a_slip_is_no_limit(text: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_storage_limit(text)
    assert (refused.value.field, refused.value.code) == ("limit", code)


@pytest.mark.parametrize(("used", "limit", "share"), [(50, 100, 0.5), (None, 100, None), (5, None, None)])
def test_the_share_is_known_once_it_was_measured(
    used: int | None, limit: int | None, share: float | None
) -> None:
    assert stored(used, limit).used_share == share
