"""The shim starts a program with the folder, user, limits and environment of its plan."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worker.inside import shim, shim_program
from worker.inside.shim_program import (
    copy_code_as_job,
    exit_code_of,
    job_owner,
    make_out,
    prepare_out,
    read_with_timeout,
    start_program_process,
)

assert shim, "it is what makes the neighbours of shim_program importable"
IS_ROOT = os.geteuid() == 0


def plan_of(folder: Path, *words: str, **changes: Any) -> dict[str, Any]:
    out = folder / "out"
    return {
        "argv": list(words),
        "environment": {"PATH": "/usr/bin:/bin", "GREETING": "hello"},
        "out": str(out),
        "cwd": str(out),
        **changes,
    }


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOENT, 127), (errno.ENOTDIR, 127), (errno.EACCES, 126), (errno.ENOEXEC, 126)]
)
def test_an_error_has_the_exit_code_of_a_shell(number: int, code: int) -> None:
    assert exit_code_of(OSError(number, "")) == code


def test_a_plan_without_a_user_changes_no_owner() -> None:
    assert job_owner({}) == (-1, -1)
    assert job_owner({"uid": "100001", "gid": 200_001}) == (100_001, 200_001)


def test_the_folder_of_the_job_is_its_own(tmp_path: Path) -> None:
    make_out({"out": str(tmp_path / "out")})
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o700


@pytest.mark.skipif(not IS_ROOT, reason="only root gives folders away")
def test_services_read_the_folder_by_its_group(tmp_path: Path) -> None:
    make_out({"out": str(tmp_path / "out"), "uid": 100_001, "gid": 200_001, "readers_gid": 300_001})
    status = (tmp_path / "out").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (100_001, 300_001, 0o2750)


def test_the_code_is_copied_into_the_folder(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "below").mkdir(parents=True)
    (code / "below" / "train.py").write_text("print()")
    plan = plan_of(tmp_path, code=str(code))
    prepare_out(plan)
    copied = tmp_path / "out" / "work" / "below" / "train.py"
    assert copied.read_text() == "print()"
    with pytest.raises(OSError, match="missing"):
        copy_code_as_job(plan_of(tmp_path, code=str(tmp_path / "missing")))


def test_a_folder_that_is_ready_is_left_as_it_is(tmp_path: Path) -> None:
    prepare_out(plan_of(tmp_path, out_is_ready=True))
    assert not (tmp_path / "out").exists()


def test_a_pipe_is_read_to_its_end_or_given_up() -> None:
    for closes, expected in ((True, b"told"), (False, None)):
        reader, writer = os.pipe()
        os.write(writer, b"told")
        if closes:
            os.close(writer)
        assert read_with_timeout(reader, 5.0 if closes else 0.05) == expected
        if not closes:
            os.close(writer)
        with pytest.raises(OSError):
            os.fstat(reader)


def start(plan: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """The problem that was told, and the exit code."""
    pid, problem = start_program_process(plan)
    return problem, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


SAYS = "echo $GREETING $HOME; pwd; ulimit -n; ulimit -c; umask; ps -o sid= -p $$ | tr -d ' '; echo $$; exit 4"


def test_a_program_gets_its_environment_limits_and_session(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    plan = plan_of(tmp_path, "/bin/sh", "-c", SAYS, nofile=64)
    assert start(plan) == (None, 4)
    greeting, folder, files, core, mask, session, pid = (
        (tmp_path / "out" / "launcher.stdout").read_text().split()
    )
    assert (greeting, folder) == ("hello", str((tmp_path / "out").resolve()))
    assert (files, core, mask) == ("64", "0", "0027")
    assert session == pid, "it leads a session of its own"


@pytest.mark.parametrize(
    ("words", "changes", "at", "code"),
    [
        (("no-such-program",), {}, "program", 127),
        (("/etc",), {}, "program", 126),
        (("true",), {"cwd": "/no/such/folder"}, "folder", None),
        (("true",), {"out": "/no/such/folder"}, "prepare", None),
        (("true", "a\0b"), {}, "program", None),
    ],
)
def test_a_program_that_cannot_be_run_says_where_it_failed(
    tmp_path: Path, words: tuple[str, ...], changes: dict[str, Any], at: str, code: int | None
) -> None:
    (tmp_path / "out").mkdir()
    problem, exit_code = start(plan_of(tmp_path, *words, **changes))
    assert problem is not None and (problem["at"], problem["exit_code"]) == (at, code)
    assert problem["text"] and exit_code == (code or 125)


LIMITS = """
import resource, sys
sys.path.insert(0, sys.argv[1])
sys.modules["safe_files"] = type(sys)("safe_files")
import shim_program
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 100))
shim_program.limit_files(int(sys.argv[2]))
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
shim_program.prefer_for_oom()
shim_program.reset_signals()
print(open("/proc/self/oom_score_adj").read())
"""


@pytest.mark.parametrize(("wanted", "limit"), [(70, 70), (1000, 100)])
def test_the_limit_of_files_is_never_above_our_own(wanted: int, limit: int) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 100
    done = subprocess.run(
        [sys.executable, "-c", LIMITS, str(Path(shim_program.__file__).parent), str(wanted)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(limit), str(limit), "500"]
