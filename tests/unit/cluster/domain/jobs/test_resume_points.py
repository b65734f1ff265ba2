"""The checkpoint from which an attempt resumes is kept as one word."""

import pytest

from cluster.domain.jobs.resume_points import ResumePoint, parse_resume_key


def test_a_key_is_read_as_it_was_written() -> None:
    assert parse_resume_key(ResumePoint(2, "epoch-3.ckpt", 3.0).key) == (2, "epoch-3.ckpt")


@pytest.mark.parametrize("text", ["", "2", "2/", "/file", "x/file", "2/folder/file", "-1/file"])
def test_anything_else_is_no_key(text: str) -> None:
    assert parse_resume_key(text) is None
