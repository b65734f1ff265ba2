"""Starts the job's program in a child with the user, session, limits and environment of the plan."""

import ctypes
import errno
import json
import os
import resource
import select
import signal
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import safe_files
import shim_sandbox

if TYPE_CHECKING:
    import shim_cgroup

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
COPY_SECONDS = 600.0
OOM_SCORE = b"500"  # The kernel kills a training before it kills the portal or the database.

RANK_WRAPPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim_rank.py")
MOST_DESCRIPTORS = 65536
be_rank: Optional[Callable[[List[str]], int]] = None
"""The fork server sets it to run the rank's wrapper in the forked process, which saves starting another Python."""

libc = ctypes.CDLL(None, use_errno=True)


def call_prctl(option: int, value: int) -> None:
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d" % option)


def exit_code_of(error: OSError) -> int:
    """The exit code of a shell: 127 if the program was not found, 126 if it cannot be executed."""
    return 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126


def prepare_out(plan: Dict[str, Any]) -> None:
    """Prepares the folder that the program may write, with a private copy of the code in `work`.

    The folder is made where only we may write, and belongs to the job from then on: another job of the same user may
    enter it before this function returns. The copy is therefore made by a process with the job's user.
    """
    if not plan.get("out_is_ready"):  # In a container the folder already has its owner.
        make_out(plan)
    if plan.get("code"):
        copy_code_as_job(plan)


def make_out(plan: Dict[str, Any]) -> None:
    owner, mode = job_owner(plan), 0o700
    if plan.get("readers_gid") is not None:
        # Services that are not root read the files by their group, which the setgid bit passes on to new files.
        owner, mode = (owner[0], plan["readers_gid"]), 0o2750
    folder, name = os.path.split(plan["out"])
    with safe_files.open_folder_path(folder) as attempt:
        out = safe_files.make_folder(attempt, name)
        try:
            safe_files.set_owner_and_mode(out, mode, owner)
        finally:
            os.close(out)


def job_owner(plan: Dict[str, Any]) -> Tuple[int, int]:
    return (-1, -1) if plan.get("uid") is None else (int(plan["uid"]), int(plan["gid"]))


def copy_code_as_job(plan: Dict[str, Any]) -> None:
    """Copies the code in a child process. Raises OSError with the child's error."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        copy_code_in_fork(plan, writer)
    os.close(writer)
    told = read_with_timeout(reader, COPY_SECONDS)
    if told is None:
        os.kill(
            pid, signal.SIGKILL
        )  # Another job of the same user may have stopped the child, and we would wait for ever.
    _, status = os.waitpid(pid, 0)
    if told or status != 0:
        why = (told or b"").decode("utf-8", "replace") or "the copy of the code was ended: %d" % status
        raise OSError(errno.EIO, why)


def read_with_timeout(reader: int, seconds: float) -> Optional[bytes]:
    """Reads a pipe until it is closed. Returns None if that takes longer than `seconds`."""
    content, until = b"", time.monotonic() + seconds
    try:
        while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
            piece = os.read(reader, 65536)
            if not piece:
                return content
            content += piece
        return None
    finally:
        os.close(reader)


def copy_code_in_fork(plan: Dict[str, Any], writer: int) -> None:
    """Copies folders and regular files with the rights of the job's user. Never returns."""
    try:
        switch_user(plan)
        os.umask(0o077)
        with safe_files.open_folder_path(plan["code"]) as code, safe_files.open_folder_path(
            plan["out"]
        ) as out:
            work = safe_files.make_folder(out, "work")
            safe_files.copy_tree(code, work)
        os._exit(0)
    except (OSError, ValueError) as error:
        os.write(writer, str(error).encode("utf-8", "replace"))
    finally:
        os._exit(1)


def start_program_process(
    plan: Dict[str, Any], group: Optional["shim_cgroup.Cgroup"] = None
) -> Tuple[int, Optional[Dict[str, Any]]]:
    """Forks the program into its cgroup. Returns (pid, None), or (pid, problem) if it could not be executed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        exec_program(plan, writer, group)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    return pid, json.loads(told.decode()) if told else None


def exec_program(plan: Dict[str, Any], writer: int, group: Optional["shim_cgroup.Cgroup"] = None) -> None:
    """Executes the program and never returns. Errors are written into the pipe, which a successful exec closes."""
    at = "prepare"
    try:
        if group:
            group.enter()
        enter_sandbox_and_log(plan)
        drop_privileges(plan)
        for number, name in ((1, "launcher.stdout"), (2, "launcher.stderr")):
            redirect_descriptor(number, os.path.join(plan["out"], name))
        at = "folder"
        os.chdir(plan["cwd"])
        at = "program"
        if be_rank is not None and plan["argv"][1:3] == [RANK_WRAPPER, "--"]:
            exec_rank_in_fork(plan, be_rank)
        os.execvpe(plan["argv"][0], plan["argv"], plan["environment"])
    except (
        OSError,
        ValueError,
    ) as error:  # ValueError is raised for an argument that no system call accepts.
        code = exit_code_of(error) if at == "program" and isinstance(error, OSError) else None
        problem = {"at": at, "text": str(error), "exit_code": code}
        os.write(writer, json.dumps(problem).encode())
        os.write(2, ("groundcrew: %s\n" % error).encode("utf-8", "replace"))
        os._exit(code or 125)
    finally:
        os._exit(125)


def enter_sandbox_and_log(plan: Dict[str, Any]) -> None:
    """Writes what the machine refuses into control/shim.log; the job runs without it. Raises OSError."""
    if plan.get("sandbox"):
        missing = shim_sandbox.enter_sandbox(plan["sandbox"], plan["out"])
        for power, why in sorted(missing.items()):
            os.write(2, ("not confined, %s: %s\n" % (power, why)).encode("utf-8", "replace"))


def exec_rank_in_fork(plan: Dict[str, Any], run_rank: Callable[[List[str]], int]) -> None:
    """Does in this process what exec would do; only the program itself is executed. Raises
    ValueError as exec does.
    """
    if any(b"\0" in os.fsencode(word) for word in plan["argv"]):
        raise ValueError("embedded null byte")
    os.environ.clear()
    os.environ.update(plan["environment"])
    os.closerange(3, MOST_DESCRIPTORS)  # The pipe is one of the closed descriptors.
    os._exit(run_rank(plan["argv"]))


def redirect_descriptor(number: int, path: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NOCTTY
    descriptor = os.open(path, flags, 0o640)
    os.dup2(descriptor, number)
    os.close(descriptor)


def drop_privileges(plan: Dict[str, Any]) -> None:
    reset_signals()
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    prefer_for_oom()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_files(plan.get("nofile") or 65536)
    os.umask(0o027)
    switch_user(plan)
    call_prctl(PR_SET_NO_NEW_PRIVS, 1)
    # A change of user clears this setting, so it comes last. It ends the launcher if the shim is killed.
    call_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def switch_user(plan: Dict[str, Any]) -> None:
    if plan.get("uid") is not None:
        os.setgroups([plan["gid"]])
        os.setresgid(plan["gid"], plan["gid"], plan["gid"])
        os.setresuid(plan["uid"], plan["uid"], plan["uid"])


def reset_signals() -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def limit_files(wanted: int) -> None:
    """Sets the limit of open files, but not above our own limit, which not even root may always raise."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))


def prefer_for_oom() -> None:
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return  # Some containers forbid it. The job can run without it.
    try:
        os.write(descriptor, OOM_SCORE)
    except OSError:
        pass
    finally:
        os.close(descriptor)
