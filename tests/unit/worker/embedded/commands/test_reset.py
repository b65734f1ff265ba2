"""`make reset` deletes the state of this clone after the word, and nothing while anything runs."""

from pathlib import Path

import pytest

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.commands import reset


@pytest.fixture
def asked(places: InstallationPaths, monkeypatch: pytest.MonkeyPatch) -> InstallationPaths:
    monkeypatch.setattr(reset, "find_installation_paths", lambda: places)
    monkeypatch.setattr(reset, "list_installation_processes", lambda _: [])
    return places


def answer(monkeypatch: pytest.MonkeyPatch, word: str | None) -> None:
    """None: there is no terminal."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: word is not None, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: word)


@pytest.mark.parametrize(
    ("words", "answered", "code"),
    [(["--yes"], None, 0), ([], "delete", 0), ([], " delete ", 0), ([], "yes", 1), ([], "", 1)],
)
def test_the_word_delete_deletes(
    asked: InstallationPaths,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    answered: str | None,
    code: int,
) -> None:
    answer(monkeypatch, answered)
    assert reset.main(words) == code
    assert asked.state_dir.exists() is (code == 1)
    assert asked.clone.exists()


def test_nothing_is_deleted_without_a_terminal_to_ask(
    asked: InstallationPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, None)
    with pytest.raises(SystemExit):
        reset.main([])
    assert asked.state_dir.exists()


def test_nothing_is_deleted_while_processes_run(
    asked: InstallationPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reset, "list_installation_processes", lambda _: ["a process"])
    with pytest.raises(SystemExit):
        reset.main(["--yes"])
    assert asked.state_dir.exists()


def test_there_may_be_nothing_to_delete(
    asked: InstallationPaths,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked.state_dir.rename(tmp_path / "elsewhere")
    assert reset.main(["--yes"]) == 0
    assert str(asked.state_dir) in capsys.readouterr().out
