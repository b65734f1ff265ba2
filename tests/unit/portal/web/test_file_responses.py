"""A file that still grows is sent as long as it was when the answer began."""

from pathlib import Path

from portal.web.file_responses import CHUNK_BYTES, read_chunks, send_file_so_far


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
    assert [len(part) for part in read_chunks(path.open("rb"), CHUNK_BYTES + 3)] == [CHUNK_BYTES, 3]
    assert [len(part) for part in read_chunks(path.open("rb"), CHUNK_BYTES * 3)] == [CHUNK_BYTES, 5]
