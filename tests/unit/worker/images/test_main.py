"""The command says in a line what keeps it from building."""

from pathlib import Path

import pytest

from worker.images.__main__ import lock_image_requirements, main


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


def test_pins_of_the_variants_are_made_in_turn_each_beside_those_before(tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\necho "$@" >> calls\n')
    uv.chmod(0o755)
    (tmp_path / "overrides.txt").write_text("# Why.\ntriton; sys_platform == 'never'\n")
    assert lock_image_requirements(tmp_path, str(uv)) == 0
    cpu, cuda, compiler = (tmp_path / "calls").read_text().splitlines()
    for call, name in ((cpu, "image-cpu"), (cuda, "image-cuda"), (compiler, "image-cuda-compiler")):
        assert call.startswith("pip compile ") and call.endswith(f"-o {name}.txt {name}.in")
        assert "--generate-hashes" in call and "--no-emit-index-url" in call
    assert "--no-emit-package triton -c" in cpu and "triton" not in cuda
    assert "-c requirements.txt -o" in cpu and "-c image-cpu.txt -o" in cuda and " -c " not in compiler
