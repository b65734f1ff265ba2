"""What is made from given inputs is made once; commands leave all that they print in one log."""

import fcntl
from pathlib import Path

import pytest

from worker.bundle.build_cache import BuildCache, CollectingFailed
from worker.environments.errors import NoNetwork


@pytest.fixture
def build_cache(tmp_path: Path) -> BuildCache:
    return BuildCache(tmp_path / "cache", tmp_path / "log/bundle.log")


def test_the_same_inputs_are_made_once_and_others_anew(build_cache: BuildCache) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("made")

    first = build_cache.build_once("program", ["a", b"b"], make)
    assert (
        build_cache.build_once("program", ["a", b"b"], make)
        == first
        == build_cache.path_for("program", ["a", "b"])
    )
    other = build_cache.build_once("program", ["ab"], make)
    assert other != first and len(made) == 2 and (first / "file").read_text() == "made"
    assert sorted(path.name for path in build_cache.cache.iterdir()) == sorted([first.name, other.name])


def test_what_was_interrupted_begins_anew(build_cache: BuildCache) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise CollectingFailed("no network")

    with pytest.raises(CollectingFailed):
        build_cache.build_once("program", ["a"], fail)
    assert not build_cache.path_for("program", ["a"]).exists()
    folder = build_cache.build_once("program", ["a"], lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_a_command_gives_back_what_it_printed_and_the_log_has_all(
    build_cache: BuildCache, tmp_path: Path
) -> None:
    printed = build_cache.run(
        ["sh", "-c", "pwd; echo $MORE; echo a warning >&2"], folder=tmp_path, more={"MORE": "1"}
    )
    assert printed == f"{tmp_path}\n1\n"
    assert "$ sh -c" in build_cache.log.read_text() and "a warning" in build_cache.log.read_text()


@pytest.mark.parametrize(
    ("script", "line"), [("echo no; echo why >&2; exit 3", "why"), ("echo only; exit 3", "only")]
)
def test_a_command_that_fails_is_named_with_its_last_line(
    build_cache: BuildCache, script: str, line: str
) -> None:
    with pytest.raises(CollectingFailed, match=f"sh ended with 3: {line}\nAll of it is in {build_cache.log}"):
        build_cache.run(["sh", "-c", script])


def test_a_line_of_progress_has_the_seconds_before_it(
    build_cache: BuildCache, capsys: pytest.CaptureFixture[str]
) -> None:
    build_cache.print_progress("fetching {count} wheels", count=3)
    assert capsys.readouterr().out.endswith(" 0 s  fetching 3 wheels\n")


def test_a_build_that_fails_fails_as_collecting_does(
    build_cache: BuildCache, capsys: pytest.CaptureFixture[str]
) -> None:
    with build_cache.report_build("the wheels") as report:
        report("download", 0.5, "six")
    assert "six" in capsys.readouterr().out
    with (
        pytest.raises(CollectingFailed, match="^the wheels: The package server does not answer"),
        build_cache.report_build("the wheels"),
    ):
        raise NoNetwork("environment.no_network", line="", log="")


def test_one_collector_of_a_cache_works_at_a_time(build_cache: BuildCache) -> None:
    with (
        build_cache.hold_lock(),
        (build_cache.cache / ".lock").open("w") as second,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (build_cache.cache / ".lock").open("w") as second:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
