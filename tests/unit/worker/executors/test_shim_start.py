"""What a shim answers to whoever started it, and what is made of no answer."""

import subprocess
from pathlib import Path

import pytest

from worker.executors.shim_start import (
    SHIM_PYTHON,
    DetachedShimStarter,
    confinement_command,
    parse_confinement,
)


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        ("print('{\"pid\": 7}')", {"pid": 7}),
        ('print(\'{"refused": "already_started"}\')', {"refused": "already_started"}),
        ("print('[1]')", {}),
        ("raise SystemExit(3)", {"text": "the shim ended with 3"}),
        ("print('no json')", {"text": "the shim ended with 0"}),
    ],
)
def test_the_answer_is_one_line_of_json(tmp_path: Path, program: str, answer: dict[str, object]) -> None:
    shim = tmp_path / "shim.py"
    shim.write_text(program)
    assert DetachedShimStarter().start_shim(shim, tmp_path) == answer


def test_the_shim_is_told_its_folder_and_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDCREW_SECRET_KEY", "canary")
    shim = tmp_path / "shim.py"
    shim.write_text(
        "import json, os, sys\n"
        "print(json.dumps({'words': sys.argv[1:], 'names': sorted(os.environ), 'session': os.getsid(0)}))"
    )
    answer = DetachedShimStarter().start_shim(shim, tmp_path / "7" / "1")
    assert answer["words"] == [str(tmp_path / "7" / "1")]
    assert "GROUNDCREW_SECRET_KEY" not in answer["names"] and "PATH" in answer["names"]
    assert answer["session"] != DetachedShimStarter().start_shim(shim, tmp_path)["session"]


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "found"),
    [
        ('{"cgroup": true}', "", 0, {"cgroup": True}),
        ("", "no such file\n", 2, {"failed": "no such file"}),
        ("", "", 4, {"failed": "it ended with 4"}),
        ("[]", "", 0, {"failed": "it ended with 0"}),
    ],
)
def test_what_a_shim_can_enforce_or_why_nobody_knows(
    stdout: str, stderr: str, code: int, found: dict[str, object]
) -> None:
    assert parse_confinement(subprocess.CompletedProcess([], code, stdout, stderr)) == found


def test_the_confinement_is_asked_of_the_runtime_s_own_program() -> None:
    command = confinement_command(Path("/state/runtime/1/shim.py"), (100_001, 100_009))
    assert command[0] == SHIM_PYTHON
    assert command[-3:] == ["/state/runtime/1/shim_confinement.py", "100001", "100009"]
