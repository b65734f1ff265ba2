"""An interactive job ends with its shell, and says in its log how."""

import subprocess
import sys
from pathlib import Path

import pytest

from worker.interactive import groundcrew_shell

PROGRAM = groundcrew_shell.__file__


def start_job(path: Path, seconds: float = 30.0) -> "subprocess.Popen[str]":
    code = f"import groundcrew_shell; raise SystemExit(groundcrew_shell.run_job({str(path)!r}, {seconds}))"
    return start(code)


def start_shell(path: Path, *argv: str) -> "subprocess.Popen[str]":
    code = f"import groundcrew_shell; raise SystemExit(groundcrew_shell.open_shell({str(path)!r}, {list(argv)!r}))"
    return start(code)


def start(code: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(PROGRAM).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("true", 0, "The shell ended with exit code 0."),
        ("exit 7", 7, "The shell ended with exit code 7."),
        ("kill -9 $$", 137, "The shell ended with exit code 137."),
        ("kill -9 $PPID", -9, "The connection to the shell was lost."),
        ("kill -INT $PPID; exit 4", 4, "The shell ended with exit code 4."),
        # What it leaves behind does not keep the job.
        ("sleep 60 >/dev/null 2>&1 & echo $! >left; exit 0", 0, "The shell ended with exit code 0."),
    ],
)
def test_the_job_ends_with_its_shell(tmp_path: Path, script: str, code: int, said: str) -> None:
    job = start_job(tmp_path / "s")
    shell = start_shell(tmp_path / "s", "/bin/sh", "-c", f"cd {tmp_path}; {script}")
    shell.communicate(timeout=30)
    output, errors = job.communicate(timeout=30)
    assert (shell.returncode, job.returncode, errors) == (code, 0, "")
    assert output.splitlines()[-1] == said
    if (tmp_path / "left").exists():
        subprocess.run(["kill", (tmp_path / "left").read_text().strip()], check=True)


def test_a_job_whose_shell_nobody_opens_fails_with_the_reason(tmp_path: Path) -> None:
    output, errors = (job := start_job(tmp_path / "s", 0.2)).communicate(timeout=30)
    assert job.returncode == 1
    assert "Nobody opened the shell" in errors and "waits" in output


def test_a_second_shell_is_refused(tmp_path: Path) -> None:
    job = start_job(tmp_path / "s")
    first = start_shell(tmp_path / "s", "/bin/sh", "-c", "echo open; read line")
    assert first.stdout is not None and first.stdout.readline() == "open\n"
    second = start_shell(tmp_path / "s", "/bin/true")
    assert "no interactive job" in second.communicate(timeout=30)[1]
    assert second.returncode == groundcrew_shell.EXIT_NO_JOB
    first.communicate("\n", timeout=30)
    job.communicate(timeout=30)


def test_a_job_that_is_not_interactive_has_no_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groundcrew_shell, "CONNECT_SECONDS", 0.1)
    assert groundcrew_shell.open_shell(str(tmp_path / "none"), ["/bin/true"]) == groundcrew_shell.EXIT_NO_JOB
