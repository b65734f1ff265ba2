"""Which bytes of a log were there at which time, from a file that a program may have written."""

import pytest

from portal.job_files.logs.log_times import parse_log_times

NAME = "rank-0.stdout"


def test_a_byte_was_written_by_the_first_look_that_saw_it() -> None:
    times = parse_log_times(b"10.0 rank-0.stdout 5\n11.5 rank-1.stderr 9\n12.0 rank-0.stdout 30\n")
    one = times.of_file(NAME)
    assert [one.time_of(offset) for offset in (0, 4, 5, 29, 30)] == [10.0, 10.0, 12.0, 12.0, None]
    assert [one.size_before(time) for time in (10.0, 11.0, 12.0, 13.0)] == [0, 5, 5, 30]
    assert times.of_file("rank-9.stdout").time_of(0) is None


@pytest.mark.parametrize(
    ("written", "sizes"),
    [
        (b"10.0 rank-0.stdout 5\n11.0 rank-0.stdout 9", [5]),
        (b"10.0 rank-0.stdout 5\n\xff\xff\n11.0 rank-0.stdout\n1 2 3 4\n", [5]),
        (b"nan rank-0.stdout 5\ninf rank-0.stdout 6\n1e99 rank-0.stdout 7\n-1 rank-0.stdout 8\n", []),
        (b"10.0 rank-0.stdout -5\n10.0 rank-0.stdout 99999999999999999999\n", []),
        (b"10.0 rank-0.stdout 50\n11.0 rank-0.stdout 3\n12.0 rank-0.stdout 8\n", [3, 8]),
        (b"", []),
    ],
    ids=["torn", "garbage", "no times", "no sizes", "written again", "empty"],
)
def test_what_is_no_entry_is_left_out(written: bytes, sizes: list[int]) -> None:
    assert parse_log_times(written).of_file(NAME).sizes == sizes


def test_times_never_go_back() -> None:
    times = parse_log_times(b"20.0 rank-0.stdout 5\n10.0 rank-0.stdout 9\n").of_file(NAME)
    assert times.times == [20.0, 20.0]
