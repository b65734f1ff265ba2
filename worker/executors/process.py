"""Runs attempts as detached processes of this machine. The shim of each is no child of a service."""

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord, parse_exit_record
from cluster.domain.jobs.unix_ids import DEFAULT_UNIX_IDS, JobUnixIds
from worker.executors import attempt_folder
from worker.executors.contract import (
    Handle,
    NotStarted,
    RunningAttempt,
    RunStatus,
    StartPlan,
    start_problem_of,
)
from worker.executors.shim_start import START_SECONDS, DetachedShimStarter, ShimStarter
from worker.inside import shim_cgroup, shim_files, shim_process_tree

log = structlog.get_logger()
FORCE_SECONDS = 1.0
PAUSE_SECONDS = 0.02
OLD_SECONDS = 60.0
"""The age from which an empty group without a folder is a leftover. A younger one may belong to a start in progress."""
COMMAND_LINE_BYTES = 16 * 1024
"""The bytes that are read of a command line. A shim's consists of three paths; of others the beginning is enough."""


class ProcessExecutor:
    """`runtime` is the installed copy of worker/inside, `storage` the root of all attempt folders.

    Files in `control` decide what is signalled and deleted. They are used only if nobody but us can have written
    them.
    """

    capabilities = ExecutorKind.PROCESS.capabilities

    def __init__(
        self,
        runtime: Path,
        storage: Path,
        launcher: ShimStarter | None = None,
        job_ids: JobUnixIds = DEFAULT_UNIX_IDS,
    ) -> None:
        self.job_ids = job_ids
        self.shim = runtime / "shim.py"
        self.storage = storage
        self.shim_starter = launcher or DetachedShimStarter()
        # The prefix names the installation, so that two installations on one machine never touch each other's cgroups.
        self.cgroup_prefix = "groundcrew-" + hashlib.sha256(os.fsencode(storage.absolute())).hexdigest()[:12]

    def start(self, plan: StartPlan) -> Handle:
        try:
            self._write_plan(plan)
            answer = self.shim_starter.start_shim(self.shim, plan.folder)
        except OSError as error:
            raise start_problem_of(str(error), error.errno) from error
        except subprocess.TimeoutExpired as error:
            raise NotStarted("start.too_slow", seconds=START_SECONDS) from error
        if answer.get("refused") == "already_started":
            handle = read_shim_handle(plan.folder)
            if handle is None:
                raise NotStarted("start.forestalled")
            return handle
        if "pid" not in answer:
            raise start_problem_of(str(answer.get("text", "the shim gave no answer")), answer.get("errno"))
        return handle_of_marker(answer)

    def read_confinement(self, uids: tuple[int, int]) -> dict[str, Any]:
        """Returns what shims can enforce on this machine. If that is unknown, `failed` has the reason."""
        try:
            return self.shim_starter.read_confinement(self.shim, uids)
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"failed": str(error)}

    def _write_plan(self, plan: StartPlan) -> None:
        """Writes the plan. Every folder but `out` stays ours. The job may enter them, but not `control`."""
        attempt_folder.check_plan_ids(plan, self.job_ids)
        with attempt_folder.open_created(plan) as attempt:
            group = (-1, plan.program.services[1] if plan.program.services else -1)
            control = attempt_folder.ensure_own_folder(
                attempt, attempt_folder.CONTROL, 0o2750 if plan.program.services else 0o700, group
            )
            try:
                if not os.access("started", os.F_OK, dir_fd=control, follow_symlinks=False):
                    name = f"{self.cgroup_prefix}-{plan.job}-{plan.attempt}"
                    attempt_folder.write_plan_file(control, plan.to_json() | {"group": name}, group)
            finally:
                os.close(control)

    def prevent_start(self, folder: Path) -> bool:
        with attempt_folder.open_attempt_folder(folder) as attempt:
            os.close(attempt_folder.ensure_own_folder(attempt, attempt_folder.CONTROL))
        started = str(folder / attempt_folder.CONTROL / "started")
        return shim_files.create_json_once(started, {"forestalled": True}) or (
            read_shim_handle(folder) is None
        )

    def read_status(self, folder: Path) -> RunStatus:
        handle = read_shim_handle(folder)
        if handle is None:
            return RunStatus(ObservedState.ABSENT)
        of_this_boot = handle["boot_id"] == shim_process_tree.read_boot_id()
        return RunStatus(
            ObservedState.ALIVE if is_shim_alive(handle) else ObservedState.ENDED, handle, of_this_boot
        )

    def find_notebook(self, folder: Path) -> str:
        return ""

    def list_running(self) -> list[RunningAttempt]:
        """Finds shims by their command line. `control/started` confirms that it is one, and the plan says of which
        attempt.
        """
        found = []
        for pid in shim_process_tree.list_pids():
            folder = self._folder_of_shim(pid)
            handle = read_shim_handle(folder) if folder else None
            if folder is None or handle is None or handle["pid"] != pid or not is_shim_alive(handle):
                continue
            plan = attempt_folder.read_own_json(folder, "plan.json") or {}
            if isinstance(plan.get("job"), int) and isinstance(plan.get("attempt"), int):
                found.append(RunningAttempt(plan["job"], plan["attempt"], folder, handle))
        return found

    def _folder_of_shim(self, pid: int) -> Path | None:
        try:
            # This reads without pathlib and a buffer, because every process of the machine is read every few seconds.
            command = os.open(f"/proc/{pid}/cmdline", os.O_RDONLY | os.O_CLOEXEC)
            try:
                words = os.read(command, COMMAND_LINE_BYTES).decode().split("\0")
            finally:
                os.close(command)
        except (OSError, UnicodeDecodeError):
            return None
        if len(words) < 5 or not words[3].endswith("/shim.py"):
            return None
        folder = Path(words[4])
        return folder if folder.is_absolute() and folder.is_relative_to(self.storage) else None

    def read_exit_record(self, folder: Path) -> ExitRecord | None:
        content = attempt_folder.read_own_file(folder, "exit.json")
        return None if content is None else parse_exit_record(content)

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        with open_shim_pidfd(handle) as shim, suppress(ProcessLookupError):
            if shim is not None:
                signal.pidfd_send_signal(shim, signal.SIGINT if patiently else signal.SIGTERM)
                signal.pidfd_send_signal(shim, signal.SIGCONT)

    def kill(self, handle: Handle) -> None:
        """Ends all processes that the shim watches first, so that it can still write its exit record, then the shim
        itself.

        The shim is frozen before it is killed, so that its children cannot move to init unnoticed.
        """
        folder = self._folder_of_shim(handle["pid"])
        self.stop(handle)
        deadline = time.monotonic() + FORCE_SECONDS
        while time.monotonic() < deadline:
            if not is_shim_alive(handle):
                break
            self._end_all(handle, folder)
            time.sleep(PAUSE_SECONDS)
        with open_shim_pidfd(handle) as shim, suppress(ProcessLookupError):
            if shim is not None:
                signal.pidfd_send_signal(shim, signal.SIGSTOP)
                while self._end_all(handle, folder) and time.monotonic() < deadline + FORCE_SECONDS:
                    time.sleep(PAUSE_SECONDS)
                signal.pidfd_send_signal(shim, signal.SIGKILL)

    def _end_all(self, handle: Handle, folder: Path | None) -> int:
        in_group = self._end_group(folder) if folder else 0
        return in_group + len(shim_process_tree.kill_descendants(handle["pid"]))

    def _end_group(self, folder: Path) -> int:
        """Ends the attempt's cgroup and returns how many processes it had. The number is not 0 if it may still have
        some.
        """
        try:
            return self.shim_starter.end_cgroup(self.shim, folder)
        except (OSError, subprocess.TimeoutExpired) as error:
            log.warning("a group does not end", folder=str(folder), error=str(error))
            return 1

    def _end_unrecorded(self, folder: Path) -> int:
        """Ends a cgroup by its name if the attempt's folder was removed."""
        if (folder / "control" / shim_cgroup.RECORD_FILE).exists():
            return 0
        wanted = f"{self.cgroup_prefix}-{folder.parent.name}-{folder.name}"
        left = 0
        for group in shim_cgroup.list_cgroups(wanted):
            if group.name == wanted and os.access(group.folders[0].path, os.W_OK):
                left += len(group.pids())
                group.end()
                group.remove()
        return left

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """Ends the processes of the cgroup, and those whose environment names the attempt's `out` folder.

        A shim that wrote its exit record had seen its cgroup empty.
        """
        if has_ended:
            return 0
        in_group = self._end_group(folder) + self._end_unrecorded(folder)
        marker = b"GROUNDCREW_OUT=" + os.fsencode(folder / "out")
        born_here: set[int] = set()
        for _ in range(shim_process_tree.ENOUGH_SCANS):
            # The list is read twice, because a process may fork before it is stopped. A stopped one forks no more.
            born_here |= (found := pids_with_environment(marker))
            shim_process_tree.signal_pids(found, signal.SIGSTOP, wake=False)
        shim_process_tree.signal_pids(born_here, signal.SIGKILL)
        return in_group + len(born_here)

    def remove_ended_except(self, known: Collection[tuple[int, int]]) -> None:
        """Removes the cgroups that killed shims have left. An ended process leaves nothing else but its attempt's
        folder.
        """
        for group in shim_cgroup.list_cgroups(self.cgroup_prefix + "-"):
            job, attempt = (int(word) for word in group.name.rsplit("-", 2)[1:])
            if (job, attempt) in known or not os.access(group.folders[0].path, os.W_OK):
                continue
            folders = self.storage.glob(f"workspaces/*/jobs/{job}/{attempt}")
            sights = [self.read_status(folder).observed for folder in folders]
            if (sights and set(sights) == {ObservedState.ENDED}) or (
                not sights and is_old_folder(group.folders[0].path)
            ):
                if pids := group.end():
                    log.warning("a group does not end", group=group.name, processes=len(pids))
                group.remove()


def is_old_folder(folder: str) -> bool:
    with suppress(OSError):
        return time.time() - Path(folder).stat().st_mtime > OLD_SECONDS
    return False


def pids_with_environment(marker: bytes) -> set[int]:
    found = set()
    for pid in shim_process_tree.list_pids():
        with suppress(OSError):  # The group is gone already, or we may not read it.
            if marker in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") and pid != os.getpid():
                found.add(pid)
    return found


def handle_of_marker(started: dict[str, Any]) -> Handle:
    return {key: started[key] for key in ("boot_id", "pid", "start_ticks")}


def read_shim_handle(folder: Path) -> Handle | None:
    """The shim that started this attempt. None if there is none or if the start was prevented."""
    started = attempt_folder.read_own_json(folder, "started")
    if started is None or not isinstance(started.get("pid"), int) or started["pid"] < 2:
        return None
    if not isinstance(started.get("boot_id"), str) or not isinstance(started.get("start_ticks"), int):
        return None
    return handle_of_marker(started)


def is_shim_alive(handle: Handle) -> bool:
    """Compares boot id, pid and start ticks, because another process may have got the pid."""
    if handle["boot_id"] != shim_process_tree.read_boot_id():
        return False
    process = shim_process_tree.read_process(handle["pid"])
    return process is not None and process.start_ticks == handle["start_ticks"] and not process.is_gone()


@contextmanager
def open_shim_pidfd(handle: Handle) -> Iterator[int | None]:
    """Opens a descriptor of exactly this process, so that a signal cannot reach another one with its pid."""
    try:
        descriptor = os.pidfd_open(handle["pid"])
    except OSError:
        yield None
        return
    try:
        yield descriptor if is_shim_alive(handle) else None
    finally:
        os.close(descriptor)
