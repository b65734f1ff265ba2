"""A file that still grows is sent as long as it was when the answer began."""

from pathlib import Path

import pytest
from flask import Flask
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.http import parse_range_header

from portal.web.responses.file_responses import CHUNK_BYTES, read_chunks, requested_range, send_file_so_far


def test_what_is_written_later_is_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before")
    with path.open("rb") as file:
        response = send_file_so_far(file)
    with path.open("ab") as more:
        more.write(b" and after")
    assert response.content_length == 6
    assert response.get_data() == b"before"
    assert response.mimetype == "text/plain"


def test_a_large_file_comes_in_chunks_and_one_that_was_cut_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (CHUNK_BYTES + 5))
    assert [len(part) for part in read_chunks(path.open("rb"), 0, CHUNK_BYTES + 3)] == [CHUNK_BYTES, 3]
    assert [len(part) for part in read_chunks(path.open("rb"), 2, CHUNK_BYTES * 3)] == [CHUNK_BYTES, 3]


@pytest.mark.parametrize(
    ("wanted", "status", "body", "about"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=7-99", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=0-9", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=2-4", 200, b"0123456789", None),
    ],
)
def test_a_part_of_a_file_is_sent_where_one_is_asked_for(
    tmp_path: Path, wanted: str, status: int, body: bytes, about: str | None
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        response = send_file_so_far(file, wanted_range=parse_range_header(wanted))
    assert (response.status_code, response.get_data(), response.content_length) == (status, body, len(body))
    assert (response.headers.get("Content-Range"), response.headers["Accept-Ranges"]) == (about, "bytes")


def test_a_part_behind_the_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file, pytest.raises(RequestedRangeNotSatisfiable):
        send_file_so_far(file, wanted_range=parse_range_header("bytes=10-"))


def test_a_file_that_grows_has_no_state_that_if_range_could_name() -> None:
    app = Flask(__name__)
    for more, is_wanted in (({}, True), ({"If-Range": '"an-etag"'}, False)):
        with app.test_request_context(headers={"Range": "bytes=2-", **more}):
            assert (requested_range() is not None) == is_wanted
