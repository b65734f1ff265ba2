"""The program of each pod of an Indexed Job: pod 0 becomes the attempt's shim, the others run their ranks.

    python3 -I -S shim_pod.py <attempt folder>

A pod other than 0 writes no exit record: its ranks write theirs in the shared folder, and its exit code tells
Kubernetes whether the gang is complete. As process 1 it reaps, and it passes the kubelet's signals on.
"""

import json
import os
import signal
import sys
import time
from typing import Any, Dict, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import shim_files  # noqa: E402
import shim_process_tree  # noqa: E402
import shim_program  # noqa: E402
import shim_result  # noqa: E402

WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
POLL_SECONDS = 0.25
LEAVE_SECONDS = 1.0
REFUSED_EXIT_CODE = 125


def exec_member(plan: Dict[str, Any], index: int) -> None:
    """Executes the pod's ranks in this process and never returns."""
    try:
        shim_program.drop_privileges(plan)
        for number, name in ((1, "stdout"), (2, "stderr")):
            path = os.path.join(plan["out"], "launcher-%d.%s" % (index, name))
            shim_program.redirect_descriptor(number, path)
        os.chdir(plan["cwd"])
        os.execvpe(plan["argv"][0], plan["argv"], dict(plan["environment"], GROUNDCREW_INDEX=str(index)))
    except (OSError, ValueError) as error:
        os.write(2, ("groundcrew: %s\n" % error).encode("utf-8", "replace"))
    finally:
        os._exit(REFUSED_EXIT_CODE)


def wait_for_member(pid: int, grace: float) -> int:
    """Waits until all processes of the member have ended, and returns its wait status."""
    status: Optional[int] = None
    ending: Optional[shim_process_tree.ProcessTreeEnding] = None
    ended = 0.0
    while True:
        told = signal.sigtimedwait(WATCHED, POLL_SECONDS)
        if told is not None and told.si_signo != signal.SIGCHLD and ending is None:
            ending = shim_process_tree.ProcessTreeEnding("asked by signal %d" % told.si_signo, grace)
        found = reap_processes()
        if pid in found:
            status, ended = found[pid], time.monotonic()
        living = ending.advance() if ending else shim_process_tree.living_descendants(os.getpid())
        if status is not None and not living:
            return status
        if status is not None and ending is None and time.monotonic() - ended >= LEAVE_SECONDS:
            ending = shim_process_tree.ProcessTreeEnding("left behind", shim_process_tree.GRACE_SECONDS)


def reap_processes() -> Dict[int, int]:
    found: Dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found[pid] = status


def run_member(folder: str, index: int) -> int:
    """Runs the member. It runs nothing if the start was prevented after the pod was created."""
    control = os.path.join(folder, "control")
    if (shim_files.read_untrusted_marker(control, "started") or {}).get("forestalled"):
        return REFUSED_EXIT_CODE
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    shim_program.call_prctl(shim_program.PR_SET_CHILD_SUBREAPER, 1)
    with open(os.path.join(control, "plan.json")) as file:
        plan = json.load(file)
    pid = os.fork()
    if pid == 0:
        exec_member(plan, index)
    grace = min(float(plan.get("grace_seconds") or 0), shim_process_tree.LONGEST_CHECKPOINT_GRACE)
    exit_code, _ = shim_result.parse_wait_status(wait_for_member(pid, grace))
    assert exit_code is not None
    return exit_code


def main(folder: str) -> int:
    index = int(os.environ.get("JOB_COMPLETION_INDEX") or 0)
    if index == 0:
        os.execv(
            sys.executable, [sys.executable, "-I", "-S", os.path.join(HERE, "shim.py"), folder, "attached"]
        )
    return run_member(folder, index)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
