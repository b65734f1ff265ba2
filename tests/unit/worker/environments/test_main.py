"""The command builds an environment, says where it is, and prints its progress a line at a time."""

import io
import shutil
from pathlib import Path

import pytest

from tests.unit.worker.environments.fake_tools import Site
from worker.environments import __main__ as command
from worker.environments.__main__ import (
    LINE_SECONDS,
    NEEDS_COMPILER,
    NEEDS_NO_COMPILER,
    STANDS,
    ProgressPrinter,
    main,
)
from worker.environments.manifest import is_environment_ready


@pytest.fixture
def words(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options that mean the site."""
    build = command.build_environment
    monkeypatch.setattr(
        command, "build_environment", lambda *words, **more: build(*words, **more, python=site.python)
    )
    return ["--description", str(site.folder / "small"), "--cache", str(site.cache), "--uv", str(site.uv)]


def test_what_is_built_is_named_and_lists_its_contents(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", *words]) == 0
    path = Path(capsys.readouterr().out.splitlines()[-1])
    assert is_environment_ready(path)
    assert main(["contents", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[-2:]] == [
        ["python", "3.11.2", "purpose.language"],
        ["six", "1.17.0", "purpose.arrays"],
    ]


def test_a_path_is_said_before_anything_is_built(
    words: list[str], site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["path", *words]) == 1
    assert capsys.readouterr().out.startswith(f"{site.cache}/training-") and not site.cache.exists()


def test_who_asks_for_the_path_hears_whether_a_compiler_is_needed(
    words: list[str], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PYTHON", site.python)
    offered = site.folder / "compiled"
    with_offered = ["path", *words, "--compiled", str(offered)]
    assert main(with_offered) == NEEDS_COMPILER, "the bundle has none"
    site.build()
    assert main(with_offered) == STANDS
    (environment,) = site.cache.glob("training-*")
    shutil.rmtree(environment)
    (wheels,) = site.cache.glob("wheels-*")
    assert main(["path", *words]) == NEEDS_NO_COMPILER, "this machine has compiled it before"
    (compiled,) = wheels.glob("slow-*.whl")
    (offered / wheels.name).mkdir(parents=True)
    compiled.rename(offered / wheels.name / compiled.name)
    assert main(["path", *words]) == NEEDS_COMPILER
    assert main(with_offered) == NEEDS_NO_COMPILER, "the bundle brings it for this kind of machine"


def test_a_build_that_fails_is_said_by_its_name(
    words: list[str], site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.trouble("no_network")
    assert main(["build", *words]) == 1
    assert capsys.readouterr().err.startswith("NoNetwork: ")


def test_without_uv_nothing_begins(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SystemExit) as refused:
        main(["build", *words[:4]])
    assert refused.value.code == 2


def test_a_step_has_a_line_when_it_begins_and_one_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    shown = io.StringIO()
    printer = ProgressPrinter(shown)
    printer("download", 0.0, "six")
    printer("download", 0.1, "numpy")
    now[0] += LINE_SECONDS
    printer("download", 0.5, "scipy")
    printer("install", 0.0, "")
    assert [line.split() for line in shown.getvalue().splitlines()] == [
        ["0.0", "s", "download", "0%", "six"],
        ["10.0", "s", "download", "50%", "scipy"],
        ["10.0", "s", "install", "0%"],
    ]
