"""Runs attempts as detached processes of this machine, each under a shim that is nobody's child."""

import os
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cluster.domain.attempts import Seen
from cluster.domain.exits import ExitTruth, parse_exit
from cluster.domain.job_ids import USUAL_IDS, JobIds
from worker.executors import attempt_folder
from worker.executors.contract import Handle, NotStarted, Running, Sight, StartPlan
from worker.executors.launchers import START_SECONDS, DetachedLauncher, Launcher
from worker.inside import shim_files, shim_tree

FORCE_SECONDS = 1.0
PAUSE_SECONDS = 0.02


class ProcessExecutor:
    """`runtime` is the installed copy of worker/inside, `storage` the root of all attempt folders.

    What stands in `control` is believed only where nobody but us can have written it: by it we start, end and clear.
    """

    def __init__(
        self, runtime: Path, storage: Path, launcher: Launcher | None = None, job_ids: JobIds = USUAL_IDS
    ) -> None:
        self.job_ids = job_ids
        self.shim = runtime / "shim.py"
        self.storage = storage
        self.launcher = launcher or DetachedLauncher()

    def start(self, plan: StartPlan) -> Handle:
        try:
            self._write_plan(plan)
            answer = self.launcher.launch(self.shim, plan.folder)
        except OSError as error:
            raise NotStarted("start.failed", reason=str(error)) from error
        except subprocess.TimeoutExpired as error:
            raise NotStarted("start.too_slow", seconds=START_SECONDS) from error
        if answer.get("refused") == "already_started":
            handle = read_started(plan.folder)
            if handle is None:
                raise NotStarted("start.forestalled")
            return handle
        if "pid" not in answer:
            raise NotStarted("start.failed", reason=str(answer.get("text", "the shim gave no answer")))
        return to_handle(answer)

    def _write_plan(self, plan: StartPlan) -> None:
        """Everything above `out` stays ours; the job may pass through, the control folder is closed to it."""
        attempt_folder.check_ids(plan, self.job_ids)
        with attempt_folder.made(plan) as attempt:
            group = (-1, plan.services[1] if plan.services else -1)
            control = attempt_folder.ensure_ours(
                attempt, attempt_folder.CONTROL, 0o2750 if plan.services else 0o700, group
            )
            try:
                if not os.access("started", os.F_OK, dir_fd=control, follow_symlinks=False):
                    attempt_folder.write_plan(control, plan.to_json(), group)
            finally:
                os.close(control)

    def forestall(self, folder: Path) -> bool:
        with attempt_folder.opened(folder) as attempt:
            os.close(attempt_folder.ensure_ours(attempt, attempt_folder.CONTROL))
        started = str(folder / attempt_folder.CONTROL / "started")
        return shim_files.create_once(started, {"forestalled": True}) or (read_started(folder) is None)

    def look(self, folder: Path) -> Sight:
        handle = read_started(folder)
        if handle is None:
            return Sight(Seen.ABSENT)
        of_this_boot = handle["boot_id"] == shim_tree.read_boot_id()
        return Sight(Seen.ALIVE if is_alive(handle) else Seen.GONE, handle, of_this_boot)

    def list_running(self) -> list[Running]:
        """Shims by their command line; `control/started` confirms that it is one, the plan whose it is."""
        found = []
        for pid in shim_tree.list_pids():
            folder = self._folder_of_shim(pid)
            handle = read_started(folder) if folder else None
            if folder is None or handle is None or handle["pid"] != pid or not is_alive(handle):
                continue
            plan = attempt_folder.read_object(folder, "plan.json") or {}
            if isinstance(plan.get("job"), int) and isinstance(plan.get("attempt"), int):
                found.append(Running(plan["job"], plan["attempt"], folder, handle))
        return found

    def _folder_of_shim(self, pid: int) -> Path | None:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            return None
        if len(words) < 5 or not words[3].endswith("/shim.py"):
            return None
        folder = Path(words[4])
        return folder if folder.is_absolute() and folder.is_relative_to(self.storage) else None

    def read_end(self, folder: Path) -> ExitTruth | None:
        content = attempt_folder.read_ours(folder, "exit.json")
        return None if content is None else parse_exit(content)

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        with hold(handle) as shim, suppress(ProcessLookupError):
            if shim is not None:
                signal.pidfd_send_signal(shim, signal.SIGINT if patiently else signal.SIGTERM)
                signal.pidfd_send_signal(shim, signal.SIGCONT)

    def force_stop(self, handle: Handle) -> None:
        """First all that the shim watches, so that it can still say how it ended; then the shim itself.

        A shim that is to be killed is stopped first: what it has started cannot slip away to init unseen.
        """
        self.stop(handle)
        deadline = time.monotonic() + FORCE_SECONDS
        while time.monotonic() < deadline:
            if not is_alive(handle):
                return
            kill_below(handle["pid"])
            time.sleep(PAUSE_SECONDS)
        with hold(handle) as shim, suppress(ProcessLookupError):
            if shim is not None:
                signal.pidfd_send_signal(shim, signal.SIGSTOP)
                while kill_below(handle["pid"]) and time.monotonic() < deadline + FORCE_SECONDS:
                    time.sleep(PAUSE_SECONDS)
                signal.pidfd_send_signal(shim, signal.SIGKILL)

    def clear(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """By the name of their `out` folder in the environment they were born with."""
        if has_ended:
            return 0
        marker = b"GROUNDCREW_OUT=" + os.fsencode(folder / "out")
        ended = 0
        for pid in shim_tree.list_pids():
            try:
                words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if marker in words and pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
                    ended += 1
            except OSError:
                continue  # Gone meanwhile, or not ours to look at.
        return ended

    def forget_all_but(self, known: Collection[tuple[int, int]]) -> None:
        """A process that has ended leaves nothing but its attempt's folder."""


def to_handle(started: dict[str, Any]) -> Handle:
    return {key: started[key] for key in ("boot_id", "pid", "start_ticks")}


def read_started(folder: Path) -> Handle | None:
    """The shim that won this attempt; None where none did, or where the start was forestalled."""
    started = attempt_folder.read_object(folder, "started")
    if started is None or not isinstance(started.get("pid"), int) or started["pid"] < 2:
        return None
    if not isinstance(started.get("boot_id"), str) or not isinstance(started.get("start_ticks"), int):
        return None
    return to_handle(started)


def is_alive(handle: Handle) -> bool:
    """Boot id, pid and start ticks together: a reused pid is somebody else."""
    if handle["boot_id"] != shim_tree.read_boot_id():
        return False
    process = shim_tree.read_process(handle["pid"])
    return process is not None and process.start_ticks == handle["start_ticks"] and not process.is_gone()


@contextmanager
def hold(handle: Handle) -> Iterator[int | None]:
    """A descriptor of exactly this process, so that a signal cannot reach another that got its pid."""
    try:
        descriptor = os.pidfd_open(handle["pid"])
    except OSError:
        yield None
        return
    try:
        yield descriptor if is_alive(handle) else None
    finally:
        os.close(descriptor)


def kill_below(pid: int) -> int:
    living = shim_tree.living_descendants(pid)
    shim_tree.send([process.pid for process in living], signal.SIGKILL)
    return len(living)
