"""The command says in a line what keeps it from building."""

from pathlib import Path

import pytest

from worker.images.__main__ import main


@pytest.mark.parametrize(
    ("settings", "said"),
    [("{", "is damaged"), ("{}", "is damaged"), (None, "No such file")],
)
def test_settings_that_cannot_be_used_are_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: str | None, said: str
) -> None:
    file = tmp_path / "images.json"
    if settings is not None:
        file.write_text(settings)
    assert main(["missing", "--settings", str(file)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line and str(file) in line


def test_nobody_but_root_builds_and_is_told_so_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["build", "--uv", "/bin/true", "--cache", str(tmp_path / "cache")]) == 1
    assert "only root can build it" in capsys.readouterr().err
    assert not (tmp_path / "cache").exists()
