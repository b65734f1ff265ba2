"""Lines of several logs stand in the order in which they were written, and none is lost on the way back."""

from pathlib import Path

from portal.job_files.logs.log_chunks import LogFile
from portal.job_files.logs.log_times import AttemptLogTimes, parse_log_times
from portal.job_files.logs.merged_log import MergedLog, read_merged_log

OUT, ERR = "rank-0.stdout", "rank-0.stderr"


def write_logs(root: Path, **written: bytes) -> list[LogFile]:
    """`stdout=` and `stderr=` of rank 0."""
    for stream, data in written.items():
        (root / f"rank-0.{stream}").write_bytes(data)
    return [LogFile(f"rank-0.{stream}", len(data)) for stream, data in written.items()]


def texts(merged: MergedLog) -> list[str]:
    return [line.text for line in merged.lines]


def test_lines_are_merged_by_their_times(tmp_path: Path) -> None:
    logs = write_logs(tmp_path, stdout=b"one\ntwo\nfour\n", stderr=b"three\nfive")
    times = parse_log_times(f"1.0 {OUT} 4\n2.0 {OUT} 8\n3.0 {ERR} 6\n4.0 {OUT} 13\n5.0 {ERR} 10\n".encode())
    merged = read_merged_log(tmp_path, (), logs, times)
    assert texts(merged) == ["one", "two", "three", "four", "five"]
    assert [line.time for line in merged.lines] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert merged.earlier is None


def test_of_one_moment_the_lines_of_a_file_stay_together(tmp_path: Path) -> None:
    logs = write_logs(tmp_path, stdout=b"a\nb\n", stderr=b"x\ny\n")
    times = parse_log_times(f"1.0 {ERR} 4\n1.0 {OUT} 4\n".encode())
    assert texts(read_merged_log(tmp_path, (), logs, times)) == ["a", "b", "x", "y"]


def test_lines_without_times_come_last_and_each_log_by_itself(tmp_path: Path) -> None:
    logs = write_logs(tmp_path, stdout=b"a\n\nb\n", stderr=b"x\n")
    merged = read_merged_log(tmp_path, (), logs, AttemptLogTimes({}))
    assert texts(merged) == ["a", "", "b", "x"]
    times = parse_log_times(f"1.0 {ERR} 2\n".encode())
    assert texts(read_merged_log(tmp_path, (), logs, times)) == ["x", "a", "", "b"]


def test_every_line_of_a_long_log_is_on_one_page(tmp_path: Path) -> None:
    lines = [b"line %05d" % number for number in range(40_000)]
    data = b"\n".join(lines) + b"\n"
    logs = write_logs(tmp_path, stdout=data, stderr=b"begin\n")
    entries = [f"0.5 {ERR} 6\n"] + [f"{n + 1}.0 {OUT} {1_100 * (n + 1)}\n" for n in range(400)]
    times = parse_log_times("".join(entries).encode())
    found: list[str] = []
    before: float | None = None
    for _ in range(50):
        page = read_merged_log(tmp_path, (), logs, times, before)
        assert len(page.lines) < 20_000
        found = texts(page) + found
        before = page.earlier
        if before is None:
            break
    assert found == ["begin", *(line.decode() for line in lines)]


def test_a_missing_file_and_a_link_are_left_out(tmp_path: Path) -> None:
    logs = write_logs(tmp_path, stdout=b"a\n")
    (tmp_path / ERR).symlink_to("/etc/passwd")
    logs += [LogFile(ERR, 9), LogFile("rank-1.stdout", 9), LogFile("rank-2.stdout", 9, is_plain=False)]
    assert texts(read_merged_log(tmp_path, (), logs, AttemptLogTimes({}))) == ["a"]


def test_sixteen_files_are_merged_and_the_others_counted(tmp_path: Path) -> None:
    logs = [LogFile(f"rank-{rank}.stdout", 1) for rank in range(20)]
    assert read_merged_log(tmp_path, (), logs, AttemptLogTimes({})).left_out_files == 4
