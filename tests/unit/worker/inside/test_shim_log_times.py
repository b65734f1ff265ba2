"""The shim writes down when logs grew, in a file that stays small."""

import sys
from pathlib import Path

INSIDE = Path(__file__).parents[4] / "worker" / "inside"
sys.path.insert(0, str(INSIDE))
from shim_log_times import FILE, LARGEST_FILE, LogTimes, thinned  # noqa: E402


def times_of(folder: Path, ranks: int = 2) -> LogTimes:
    (folder / "control").mkdir()
    (folder / "out").mkdir()
    return LogTimes(str(folder / "control"), str(folder / "out"), ranks)


def entries(folder: Path) -> list[list[str]]:
    path = folder / "control" / FILE
    return [line.split()[1:] for line in path.read_text().splitlines()] if path.exists() else []


def test_each_log_that_has_grown_has_an_entry(tmp_path: Path) -> None:
    times = times_of(tmp_path)
    times.look(is_last=True)
    assert entries(tmp_path) == []
    (tmp_path / "out" / "rank-1.stderr").write_text("warning\n")
    (tmp_path / "out" / "launcher.stdout").write_text("")
    (tmp_path / "out" / "rank-7.stdout").write_text("no rank of this job")
    times.look(is_last=True)
    times.look(is_last=True)
    assert entries(tmp_path) == [["rank-1.stderr", "8"]]
    (tmp_path / "out" / "rank-0.stdout").write_text("1\n")
    (tmp_path / "out" / "rank-1.stderr").write_text("longer warning\n")
    times.look(is_last=True)
    assert entries(tmp_path)[1:] == [["rank-0.stdout", "2"], ["rank-1.stderr", "15"]]


def test_looks_are_at_least_a_second_apart(tmp_path: Path) -> None:
    times = times_of(tmp_path)
    times.look()
    (tmp_path / "out" / "rank-0.stdout").write_text("1\n")
    times.looked_at += 3600.0
    times.look()
    assert entries(tmp_path) == []
    times.look(is_last=True)
    assert entries(tmp_path) == [["rank-0.stdout", "2"]]


def test_what_a_program_puts_in_the_place_of_a_log_is_left_out(tmp_path: Path) -> None:
    times = times_of(tmp_path)
    (tmp_path / "out" / "rank-0.stdout").symlink_to("/etc/passwd")
    (tmp_path / "out" / "rank-0.stderr").mkdir()
    times.look(is_last=True)
    assert entries(tmp_path) == []
    (tmp_path / "out" / "rank-1.stdout").write_text("x")
    (tmp_path / "control" / FILE).symlink_to(tmp_path / "elsewhere")
    times.look(is_last=True)
    assert not (tmp_path / "elsewhere").exists()


def test_the_file_is_thinned_and_keeps_the_newest_entries(tmp_path: Path) -> None:
    times = times_of(tmp_path)
    path = tmp_path / "control" / FILE
    line = "1763921234.5 rank-%d.stdout %09d\n"
    path.write_text(
        "".join(line % (number % 2, number) for number in range(LARGEST_FILE // len(line) + 1000))
    )
    (tmp_path / "out" / "rank-0.stdout").write_bytes(b"x" * 123)
    times.look(is_last=True)
    assert path.stat().st_size < LARGEST_FILE
    assert {name for name, _ in entries(tmp_path)} == {"rank-0.stdout", "rank-1.stdout"}
    assert entries(tmp_path)[-1] == ["rank-0.stdout", "123"]


def test_each_file_loses_every_second_of_its_old_entries() -> None:
    lines = [f"{number}.0 {name} {number}\n" for number in range(1, 9) for name in ("a", "b")]
    kept = thinned("".join(lines) + "torn")
    assert kept[-4:] == lines[-4:]
    assert [line.split()[1:] for line in kept[:-4]] == [
        [name, str(number)] for number in (2, 4, 6) for name in ("a", "b")
    ]
