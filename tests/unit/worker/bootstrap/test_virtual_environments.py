"""Virtual environments are built once per pinned requirements, and half-built ones again."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from worker.bootstrap import virtual_environments
from worker.bootstrap.virtual_environments import (
    ensure_virtual_environment,
    parse_pip_config,
    select_pins,
    uv_variables,
    virtual_environment_path,
)

PINS = """\
click==8.5.1 \\
    --hash=sha256:aa
uv==0.13.8 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
uvloop==1.0 \\
    --hash=sha256:dd
"""


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    file = tmp_path / "portal.txt"
    file.write_text(PINS)
    return file


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The steps of a build, recorded; the first one makes the folder, as venv does."""
    recorded: list[list[str]] = []

    def record(command: list[str], log: Path, more: dict[str, str] | None = None) -> None:
        recorded.append(command)
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin" / "python").touch()

    monkeypatch.setattr(virtual_environments, "run_build_step", record)
    monkeypatch.setattr(virtual_environments, "uv_variables", lambda pip: {})
    return recorded


def test_another_pin_is_another_environment(tmp_path: Path, requirements: Path) -> None:
    first = virtual_environment_path(tmp_path, "portal", requirements)
    assert virtual_environment_path(tmp_path, "portal", requirements) == first
    requirements.write_text(PINS.replace("8.5.1", "8.5.2"))
    assert virtual_environment_path(tmp_path, "portal", requirements) != first


def test_an_environment_is_built_once(tmp_path: Path, requirements: Path, commands: list[list[str]]) -> None:
    built = ensure_virtual_environment(tmp_path / "cache", "portal", requirements, tmp_path / "log")
    steps = len(commands)
    assert ensure_virtual_environment(tmp_path / "cache", "portal", requirements, tmp_path / "log") == built
    assert len(commands) == steps
    assert "relocatable = true" in (built / "pyvenv.cfg").read_text()


def test_an_interrupted_build_is_not_an_environment_and_the_next_one_begins_anew(
    tmp_path: Path, requirements: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, log = tmp_path / "cache", tmp_path / "log"
    with monkeypatch.context() as interrupted:
        interrupted.setattr(virtual_environments, "uv_variables", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            ensure_virtual_environment(cache, "portal", requirements, log)
    target = virtual_environment_path(cache, "portal", requirements)
    left = target.with_name(f"{target.name}.building")
    assert left.exists() and not target.exists()
    (left / "half-written").touch()
    assert ensure_virtual_environment(cache, "portal", requirements, log) == target
    assert not left.exists() and not (target / "half-written").exists()


def raise_interrupt(pip: list[str]) -> dict[str, str]:
    raise KeyboardInterrupt


def test_no_step_names_an_index(tmp_path: Path, requirements: Path, commands: list[list[str]]) -> None:
    ensure_virtual_environment(tmp_path / "cache", "portal", requirements, tmp_path / "log")
    words = [word for command in commands for word in command]
    assert not [word for word in words if "--index" in word or "index-url" in word or "://" in word]
    assert words.count("--require-hashes") == 2


def test_only_the_lines_of_the_one_package_are_cut_out() -> None:
    assert select_pins(PINS, "uv") == "uv==0.13.8 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"


@pytest.mark.parametrize(
    ("pip_says", "uv_gets"),
    [
        (
            "global.index-url='https://pypi.example/simple'",
            {"UV_DEFAULT_INDEX": "https://pypi.example/simple"},
        ),
        ("install.trusted-host='a.example\\nb.example'", {"UV_INSECURE_HOST": "a.example b.example"}),
        (":env:.find-links='/no/such/folder /etc'", {"UV_FIND_LINKS": "/etc"}),
        ("global.no-index='true'", {"UV_OFFLINE": "1"}),
        (
            "a.no-index='1'\na.find-links='https://wheels.example/'",
            {"UV_FIND_LINKS": "https://wheels.example/"},
        ),
        ("global.cert='/etc/site.crt'", {"SSL_CERT_FILE": "/etc/site.crt"}),
        ("global.timeout='60'", {}),
    ],
)
def test_uv_is_told_what_the_machines_pip_was_told(pip_says: str, uv_gets: dict[str, str]) -> None:
    always = {"UV_PYTHON_DOWNLOADS", "UV_NO_PROGRESS", "UV_SYSTEM_CERTS"}
    assert {
        name: value for name, value in parse_pip_config(pip_says).items() if name not in always
    } == uv_gets


def test_uvs_own_settings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = ["sh", "-c", "echo \"global.index-url='https://pypi.example'\"", "pip"]
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://uv.example/simple")
    assert "UV_DEFAULT_INDEX" not in uv_variables(pip)
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    assert uv_variables(pip)["UV_DEFAULT_INDEX"] == "https://pypi.example"


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("error: Failed to fetch: dns error", "did not answer"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("hash mismatch", "could not be built"),
    ],
)
def test_a_failed_step_says_what_to_do(
    output: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        virtual_environments.run_build_step(["sh", "-c", f"echo '{output}'; exit 1"], tmp_path / "log")
    said = capsys.readouterr().err
    assert output in said and advice in said
    assert output in (tmp_path / "log").read_text()


def test_the_pins_hold_every_package_that_the_project_names() -> None:
    root = Path(__file__).resolve().parents[4]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    names = [
        each.split("[")[0].split(">")[0].split("<")[0].split("=")[0]
        for each in project["project"]["dependencies"]
    ]
    for file, wanted in (("portal.txt", names), ("test.txt", names)):
        pinned = (root / "requirements" / file).read_text()
        assert not [name for name in wanted if select_pins(pinned, name) == "\n"]
    assert not subprocess.run(["grep", "-rn", "://", root / "requirements"], capture_output=True).stdout
