"""A position in the queue as the address of a page has it."""

import pytest

from cluster.domain.errors import Refused
from portal.web.queue_params import format_queue_cursor, parse_head_cursor, parse_queue_cursor


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("", None),
        ("-3.7", (-3, 7)),
        ("5.12", (5, 12)),
        (f"{1 << 80}.1", (1 << 62, 1)),
        (f"-{1 << 80}.-4", (-(1 << 62), 0)),
    ],
)
def test_a_position_is_parsed_and_capped(text: str, cursor: tuple[int, int] | None) -> None:
    assert parse_queue_cursor(text) == cursor


@pytest.mark.parametrize("text", ["x", "1", "1.x", "1.2.3", "٣.٣", "1." + "9" * 60])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_queue_cursor(text)


@pytest.mark.parametrize("cursor", [None, (-3, 7), (5, 12)])
def test_a_position_is_written_as_it_is_parsed(cursor: tuple[int, int] | None) -> None:
    assert parse_queue_cursor(format_queue_cursor(cursor) or "") == cursor


def test_the_front_is_a_row_id() -> None:
    assert parse_head_cursor("12") == 12
    for text in ("", "-1", "x", "9" * 40):
        with pytest.raises(Refused):
            parse_head_cursor(text)
