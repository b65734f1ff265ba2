"""The wrapper of one rank's program: it writes the rank's log files and exit record.

    python3 shim_rank.py [told] -- program argument …

The program writes stdout and stderr directly into out/rank-<n>.stdout and .stderr. A pipe in between could block,
reorder or lose what a killed process had written. The launcher sees only the exit code. With `told` the wrapper also
writes the rank's usage into a file, because the attempt's shim cannot measure it.
"""

import ctypes
import errno
import os
import signal
import stat
import sys
import time

RANK_VARIABLES = ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK")
LOG_LIMIT = 1024**3
"""The limit of a log file in bytes on disk. Of a longer one the middle is freed; its beginning and its end stay
readable.
"""
KEEP_HEAD = 64 * 1024**2
KEEP_TAIL = 256 * 1024**2
LOOK_SECONDS = 2.0
PR_SET_PDEATHSIG = 1
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")

TYPE_CHECKING = False
"""The value is what `typing` defines. Importing `typing` for it would be a third of the wrapper's start."""
if TYPE_CHECKING:
    from typing import Callable, List, Mapping, Optional, Union

    from shim_usage import RankUsage

libc = ctypes.CDLL(None, use_errno=True)


def read_rank_number(environment: "Mapping[str, str]") -> int:
    for name in RANK_VARIABLES:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return 0


def missing_script(argv: "List[str]") -> "Optional[str]":
    """The script in the arguments of a Python interpreter, if it does not exist. Python
    itself would end with code 2.
    """
    if not os.path.basename(argv[0]).startswith("python"):
        return None
    rest = iter(argv[1:])
    for argument in rest:
        if argument in OPTIONS_WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return None if os.path.exists(argument) else argument
        elif argument == "-" or argument[1:2] in ("m", "c"):
            return None
    return None


def open_log(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o640)


def write_log_line(descriptor: int, text: str) -> None:
    os.write(descriptor, ("groundcrew: %s\n" % text).encode("utf-8", "replace"))


def start_program(argv: "List[str]", logs: "List[int]") -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(128 + signal.SIGKILL)
        os.dup2(logs[0], 1)
        os.dup2(logs[1], 2)
        missing = missing_script(argv)
        if missing:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), missing)
        os.execvp(argv[0], argv)
    except OSError as error:
        write_log_line(2, "%s: %s" % (error.strerror, error.filename or argv[0]))
        os._exit(127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126)
    finally:
        os._exit(125)


def wait_for_program(pid: int, logs: "List[int]", look: "Callable[[], None]") -> int:
    """Returns the program's wait status. It passes SIGTERM on to the program and keeps the
    logs within their limits.
    """
    while True:
        told = signal.sigtimedwait(WATCHED, LOOK_SECONDS)
        if told is not None and told.si_signo != signal.SIGCHLD:
            os.kill(pid, told.si_signo)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if told is None:
            look()
            for log in logs:
                punch_log_hole(log)


def punch_log_hole(log: int, limit: int = LOG_LIMIT, head: int = KEEP_HEAD, tail: int = KEEP_TAIL) -> bool:
    """Frees the middle of a file. Byte offsets do not change, and readers see zeros instead of the text."""
    facts = os.fstat(log)
    if not stat.S_ISREG(facts.st_mode) or facts.st_blocks * 512 <= limit:
        return False
    length = facts.st_size - head - tail
    mode = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
    if length <= 0 or libc.fallocate(log, mode, ctypes.c_int64(head), ctypes.c_int64(length)) != 0:
        return False
    write_log_line(log, "the log is longer than %d MiB; its middle was not kept" % (limit >> 20))
    return True


def write_exit(out: str, rank: int, text: str) -> None:
    path = os.path.join(out, "rank-%d.exit.json" % rank)
    temporary = "%s.%d.tmp" % (path, os.getpid())
    try:
        with open(temporary, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except OSError:
        pass  # The launcher's exit code still tells the shim that something failed.


class UnmeasuredUsage:
    """Measures nothing, because the attempt's shim sees all processes of this rank."""

    def measure(self) -> None:
        pass

    def finish(self) -> None:
        pass


def main(argv: "List[str]") -> int:
    is_told = argv[:1] == ["told"]
    argv = argv[1:] if is_told else argv
    argv = argv[1:] if argv[:1] == ["--"] else argv
    out, rank = os.environ["GROUNDCREW_OUT"], read_rank_number(os.environ)
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    logs = [open_log(os.path.join(out, "rank-%d.%s" % (rank, kind))) for kind in ("stdout", "stderr")]
    started = time.time()
    pid = start_program(argv, logs)
    # The import is done while the program runs: before it, this one import would be a third of the wrapper's start.
    import json

    use: "Union[UnmeasuredUsage, RankUsage]" = UnmeasuredUsage()
    if is_told:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import shim_files
        import shim_process_tree
        import shim_usage

        use = shim_usage.RankUsage(
            out, rank, shim_process_tree.living_descendants, shim_files.write_json_atomically
        )
    status = wait_for_program(pid, logs, use.measure)
    use.finish()
    by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    exit_code = 128 + by if by else os.WEXITSTATUS(status)
    told = {
        "rank": rank,
        "exit_code": exit_code,
        "signal": by,
        "pid": pid,
        "started": started,
        "ended": time.time(),
    }
    write_exit(out, rank, json.dumps(told, sort_keys=True))
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
