"""A queue entry with a field by which RQ would call other code is refused before RQ reads it."""

import pytest

from worker.tasks.queue_entries import decode_entry_text, find_forbidden_field


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({b"data": b"x", b"timeout": b"-1"}, None),
        ({b"webhooks": b"[]", b"retries_left": b""}, None),
        ({b"success_callback_name": b"os.system"}, "success_callback_name"),
        ({b"webhooks": b'["http://elsewhere"]'}, "webhooks"),
        ({b"repeats_left": b"3"}, "repeats_left"),
    ],
)
def test_fields_that_call_other_code_are_named(entry: dict[bytes, bytes], field: str | None) -> None:
    assert find_forbidden_field(entry) == field


def test_bytes_that_are_no_text_are_written_so_that_a_person_can_read_them() -> None:
    assert decode_entry_text(b"\xff ok") == "\\xff ok"
