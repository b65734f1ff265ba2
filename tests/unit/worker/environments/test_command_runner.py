"""A command gets only what it needs of the caller's environment, and is followed whatever it writes."""

import time
import tracemalloc
from pathlib import Path

import pytest

from worker.environments import command_runner
from worker.environments.command_runner import LONGEST_LINE, CommandRunner, network_variables

MIB = 1024**2


def test_of_the_callers_environment_only_the_way_to_the_index_is_kept() -> None:
    given = {
        "https_proxy": "a",
        "HTTPS_PROXY": "b",
        "PIP_INDEX_URL": "c",
        "SSL_CERT_FILE": "d",
        "PYTHONPATH": "no",
        "PIP_TARGET": "no",
        "GROUNDCREW_SECRET_KEY": "no",
        "LD_PRELOAD": "no",
    }
    assert set(network_variables(given)) == {"https_proxy", "HTTPS_PROXY", "PIP_INDEX_URL", "SSL_CERT_FILE"}


@pytest.fixture
def runner(tmp_path: Path) -> CommandRunner:
    return CommandRunner(tmp_path / "log", "a mark")


class Enough(Exception):
    """What a tick raises that ends the command, as a limit or a cancelled build does."""


def test_a_command_that_has_closed_its_output_is_still_watched(runner: CommandRunner) -> None:
    def tick() -> None:
        raise Enough

    begun = time.monotonic()
    with pytest.raises(Enough):
        runner.run(["sh", "-c", "exec >&- 2>&-; sleep 8"], variables={}, on_tick=tick)
    assert time.monotonic() - begun < 7


def test_a_line_that_never_ends_takes_neither_memory_nor_time(runner: CommandRunner) -> None:
    begun = time.process_time()
    tracemalloc.start()
    try:
        lines = runner.run(["head", "-c", str(16 * MIB), "/dev/zero"], variables={})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * MIB, f"{most / MIB:.0f} MiB"
    assert max(map(len, lines)) == LONGEST_LINE
    assert time.process_time() - begun < 5
    assert runner.log.stat().st_size >= 16 * MIB


def test_a_long_line_is_read_in_parts_and_short_ones_whole(runner: CommandRunner) -> None:
    program = (
        f"import sys; sys.stdout.write('a' * {LONGEST_LINE + 3} + chr(10) + chr(10) + 'b' + chr(13) + 'end')"
    )
    lines = runner.run(["python3", "-c", program], variables={})
    assert lines == ["a" * LONGEST_LINE, "aaa", "", "b", "end"]


def test_a_log_has_an_end_and_what_comes_after_it_is_still_read(
    runner: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_runner, "MOST_LOGGED", 64 * 1024)
    program = "for number in range(20_000): print(number)"
    for _ in range(2):
        lines = runner.run(["python3", "-c", program], variables={})
        assert lines[-1] == "19999"
    text = runner.log.read_text()
    assert len(text) < 65 * 1024
    assert "what follows is left out" in text
