"""The shim: one detached process per attempt that starts the program, watches it and records how it ended.

    python3 -I -S shim.py <attempt folder>             detached: belongs to no process and no service
    python3 -I -S shim.py <attempt folder> attached    started by the init of a container

It reads control/plan.json; as root it accepts only a file that root wrote (shim_plan.py). It creates control/started
exactly once and refuses to start if the file exists. It writes control/usage.json every 2 s, and control/log_times when
logs grow. It ends everything that descends from it on SIGTERM, at the time limit and when the launcher has ended, and
at once on SIGUSR1. Last it writes control/exit.json, and it ends with the exit code in that file. It prints one line of
JSON to the executor, which does not communicate with it afterwards.
"""

import json
import os
import signal
import sys
import time
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Set

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import shim_cgroup
import shim_cloud_metadata
import shim_devices
import shim_disk
import shim_files
import shim_log_times
import shim_metrics
import shim_plan
import shim_process_tree
import shim_program
import shim_result
import shim_usage

LEAVE_SECONDS = 1.0
"""Seconds that helpers of the launcher may outlive it before they count as left behind."""
USAGE_SECONDS = 2.0
TICK_SECONDS = 0.25
HURRY_SECONDS = 0.05
WRITE_AGAIN_SECONDS = 1.0
MOST_LOOKS_FULL = 3
"""A program that was refused more processes at so many checks in a row is ended, because it makes no progress."""
REMOVE_SECONDS = 1.0
WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
NO_EXIT_CODE = 125
STOP_SIGNALS = {"patiently": signal.SIGINT, "politely": signal.SIGTERM, "now": signal.SIGUSR1}


def now_text() -> str:
    return datetime.now(timezone.utc).isoformat()


def write_shim_log(text: str) -> None:
    """Appends to control/shim.log, which is the shim's standard error."""
    try:
        sys.stderr.write("%s %s\n" % (now_text(), text))
        sys.stderr.flush()
    except OSError:
        pass  # A full disk must not end the training.


def usage_meter(plan: Dict[str, Any]) -> shim_usage.UsageMeter:
    """The meter of this run. A shim whose ranks are on other nodes cannot measure them itself."""
    if int(plan.get("nodes") or 1) > 1:
        return shim_usage.GangUsageMeter(plan, shim_files.read_untrusted_json)
    return shim_usage.UsageMeter(plan)


class Shim:
    def __init__(self, folder: str, plan: Dict[str, Any], attached: bool = False) -> None:
        self.control = os.path.join(folder, "control")
        self.plan = plan
        self.launcher: Optional[int] = None
        self.status: Optional[int] = None
        """The launcher's wait status, after it has ended."""
        self.problem: Optional[Dict[str, Any]] = None
        self.ending: Optional[shim_process_tree.ProcessTreeEnding] = None
        self.stopped = self.timed_out = False
        self.left_behind = 0
        self.has_no_children = False
        """Whether the shim has no descendants. A process that loses its parent becomes the shim's child."""
        self.started_at, self.started = now_text(), time.monotonic()
        self.ended_at: Optional[str] = None
        self.launcher_ended: Optional[float] = None
        self.usage_at = 0.0
        self.usage = usage_meter(plan)
        self.pids: Set[int] = set()
        self.results = shim_metrics.MetricResults()
        self.kernel_log = shim_result.KernelOomLog()
        self.container_cgroup = shim_result.ContainerCgroup() if attached else None
        self.is_attached = attached
        self.cgroup: Optional[shim_cgroup.Cgroup] = None
        """The cgroup that contains the program but not the shim. None without root, and in a container, which has its
        own.
        """
        self.refused_processes = self.refusals_in_a_row = 0
        self.disk_watch = shim_disk.DiskFullWatch(folder)
        self.log_times = shim_log_times.LogTimes(self.control, plan["out"], int(plan.get("ranks") or 1))
        self.last_stop_request: Optional[str] = None
        """The last contents of the file by which a pod is asked to end."""

    def run(self) -> None:
        try:
            self.block_cloud_metadata()
            shim_program.prepare_out(self.plan)
            self.make_cgroup()
            self.launcher, self.problem = shim_program.start_program_process(self.plan, self.cgroup)
        except (OSError, LookupError) as error:
            write_shim_log("could not start: %s" % error)
            self.disk_watch.note_write_error(error)
            self.problem = {"at": "prepare", "text": str(error), "exit_code": None}
            return
        if self.problem:
            write_shim_log("could not run the program: %s" % self.problem["text"])
        while not self.is_over():
            self.disk_watch.check()
            self.log_times.look()
            self.measure()
            hurry = self.ending is not None or self.status is not None
            self.handle_signal(signal.sigtimedwait(WATCHED, HURRY_SECONDS if hurry else TICK_SECONDS))
            self.reap()
        self.disk_watch.check()
        self.log_times.look(is_last=True)
        self.reap()  # Everything that is left are zombies, which have become our children.
        self.ended_at = now_text()

    def make_cgroup(self) -> None:
        """Creates the program's cgroup if there can be one. Raises OSError, LookupError."""
        if self.is_attached:
            return
        group = shim_cgroup.make_cgroup(self.control, self.plan)
        self.cgroup = group
        if group is None:
            return
        part = group.folder_for("devices")
        if part is None:
            group.refused_limits["devices"] = "no hierarchy has it"
        else:
            opened = shim_devices.find_rules(self.plan.get("gpus") or (), self.plan.get("gpu_minors") or {})
            try:
                shim_devices.restrict_devices(part, opened)
            except OSError as error:
                group.refused_limits["devices"] = str(error)
        for power, why in sorted(group.refused_limits.items()):
            write_shim_log("not confined, %s: %s" % (power, why))

    def remove_cgroup(self) -> None:
        """Removes the cgroup. The kernel may take a moment; the scheduler removes what is left."""
        until = time.monotonic() + REMOVE_SECONDS
        while self.cgroup and not self.cgroup.remove() and time.monotonic() < until:
            time.sleep(shim_cgroup.PAUSE_SECONDS)

    def block_cloud_metadata(self) -> None:
        sandbox = self.plan.get("sandbox")
        missing = shim_cloud_metadata.block_cloud_metadata(*sandbox["uids"]) if sandbox else None
        if missing:
            write_shim_log("not confined, metadata_address: %s" % missing)

    def handle_signal(self, told: Optional[signal.struct_siginfo]) -> None:
        if told is not None and told.si_signo != signal.SIGCHLD:
            # The kubelet of a node that is drained gives as much time as the job's grace time.
            self.stop(signal.SIGINT if self.plan.get("stop") else told.si_signo)
        self.read_stop_request()
        limit = self.plan.get("time_limit_seconds")
        if limit and not self.ending and time.monotonic() - self.started >= limit:
            write_shim_log("time limit of %d s reached" % limit)
            self.timed_out = self.status is None
            self.end("time limit", self.own_grace())

    def read_stop_request(self) -> None:
        """Reads the file beside the plan by which the scheduler stops a pod, because only the kubelet can signal a
        pod.
        """
        told = (
            shim_files.read_untrusted_json(self.control, self.plan["stop"]) if self.plan.get("stop") else None
        )
        word = told.get("how") if told else None
        if word != self.last_stop_request and word in STOP_SIGNALS:
            self.last_stop_request = word
            self.stop(STOP_SIGNALS[word])

    def stop(self, number: int) -> None:
        """Ends the program. SIGINT leaves it the job's grace time for a checkpoint, SIGUSR1 no time, others a few
        seconds.
        """
        patience: Dict[int, float] = {signal.SIGINT: self.own_grace(), signal.SIGUSR1: 0.0}
        grace = min(
            patience.get(number, shim_process_tree.GRACE_SECONDS), shim_process_tree.LONGEST_CHECKPOINT_GRACE
        )
        self.stopped = self.stopped or self.status is None
        if self.ending:
            self.ending.shorten(grace)
        else:
            self.end("asked by signal %d" % number, grace)

    def own_grace(self) -> float:
        return float(self.plan.get("grace_seconds") or shim_process_tree.GRACE_SECONDS)

    def end(self, why: str, grace: float = shim_process_tree.GRACE_SECONDS) -> None:
        write_shim_log("ending after at most %d s: %s" % (grace, why))
        self.ending = shim_process_tree.ProcessTreeEnding(why, grace, self.cgroup, self.reap)

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.has_no_children = True
                return
            if pid == 0:
                return
            if pid == self.launcher:
                self.status = status
                self.launcher_ended = time.monotonic()

    def is_over(self) -> bool:
        """Whether the launcher has ended and no descendant of the shim is alive.

        A process that loses its parent becomes our child, so without children we have no descendants. A search in
        /proc could miss a process that forks faster than it reads.
        """
        if self.ending:
            self.ending.advance()
        if self.status is None or self.launcher_ended is None:
            return False
        in_group = self.cgroup.pids() if self.cgroup else set()
        if self.has_no_children and not in_group:
            return True
        if self.ending:
            return False
        left = in_group | {each.pid for each in shim_process_tree.living_descendants(os.getpid())}
        if not left:
            return False  # These are zombies, which are reaped in a moment.
        if time.monotonic() - self.launcher_ended >= LEAVE_SECONDS:
            self.left_behind = len(left)
            self.end("left behind by the launcher")
        return False

    def watch_processes(self) -> None:
        """Ends a program that forks too often. A single refusal may be handled by the program; a fork bomb is refused
        at every check.
        """
        if self.cgroup is None:
            return
        before, self.refused_processes = self.refused_processes, self.cgroup.refused_processes()
        is_full = self.refused_processes > before or (before > 0 and self.cgroup.is_full())
        self.refusals_in_a_row = self.refusals_in_a_row + 1 if is_full else 0
        if self.refusals_in_a_row >= MOST_LOOKS_FULL and not self.ending:
            self.end("limit of %s processes reached" % self.cgroup.most_processes, 0.0)

    def measure(self) -> None:
        if time.monotonic() - self.usage_at < USAGE_SECONDS:
            return
        self.usage_at = time.monotonic()
        self.watch_processes()
        living = shim_process_tree.living_descendants(os.getpid())
        self.pids.update(process.pid for process in living)
        self.usage.measure(living, shim_usage.reaped_cpu_seconds())
        usage = dict(
            self.usage.to_json(),
            at=now_text(),
            rss_bytes=self.usage.rss_bytes,
            pid=self.launcher,
            processes=len(living),
        )
        self.results.read_more(self.plan["out"])
        usage.update(self.metric_results(), course=self.results.progress.to_json())
        try:
            shim_files.write_json_atomically(os.path.join(self.control, "usage.json"), usage)
        except OSError as error:
            write_shim_log("usage not written: %s" % error)
            self.disk_watch.note_write_error(error)

    def metric_results(self) -> Dict[str, Any]:
        return {
            "results": self.results.by_name,
            "not_finite": self.results.not_finite,
            "objective": self.results.objective,
        }

    def exit_record(self) -> Dict[str, Any]:
        while self.results.read_more(self.plan["out"]):
            pass
        ranks = shim_result.read_ranks(self.plan)
        result: Dict[str, Any] = {key: self.plan[key] for key in ("job", "attempt", "fence")}
        result.update(shim_result.combine_exits(self.status, self.problem, ranks))
        result.update(
            stopped=self.stopped,
            timed_out=self.timed_out,
            out_of_memory=self.was_out_of_memory(ranks),
            left_behind=self.left_behind,
            started_at=self.started_at,
            ended_at=self.ended_at or now_text(),
            memory_limit_bytes=self.memory_limit(),
            process_limit=self.process_limit(),
            disk_full=self.disk_watch.was_full(self.launcher_ended),
            out_bytes=shim_disk.folder_size(self.plan["out"]),
        )
        self.usage.finish(shim_usage.reaped_cpu_seconds(), shim_usage.reaped_max_rss_bytes())
        result.update(self.usage.to_json())
        result.update(self.metric_results())
        return result

    def memory_limit(self) -> Optional[int]:
        if self.cgroup:
            return self.cgroup.memory_bytes
        return self.container_cgroup.limit if self.container_cgroup else None

    def process_limit(self) -> Optional[int]:
        """The limit of processes, if the program was refused another process. Else None."""
        return self.cgroup.most_processes if self.cgroup and self.cgroup.refused_processes() else None

    def was_out_of_memory(self, ranks: List[Dict[str, Any]]) -> bool:
        # A program may have ended itself after one of its workers was killed for memory.
        if self.cgroup and self.cgroup.memory_kills():
            return bool(shim_result.combine_exits(self.status, self.problem, ranks)["exit_code"] != 0)
        if (
            self.container_cgroup
            and self.container_cgroup.has_oom_kill()
            and shim_result.was_sigkilled(self.status, ranks)
        ):
            return True
        pids = self.pids | {rank["pid"] for rank in ranks} | {self.launcher}
        return shim_result.has_killed_ours(self.kernel_log.read_killed(), pids, self.plan.get("uid"))


def write_exit_record(shim: Shim, reserved: str) -> int:
    """Writes the exit record and repeats until it succeeds. While the disk is full the units stay booked, and
    shim.log says why.
    """
    result = shim.exit_record()
    shim.remove_cgroup()
    while True:
        try:
            shim_files.write_reserved(reserved, os.path.join(shim.control, "exit.json"), result)
            return NO_EXIT_CODE if result["exit_code"] is None else int(result["exit_code"])
        except OSError as error:
            write_shim_log("exit.json not written, trying again: %s" % error)
            time.sleep(WRITE_AGAIN_SECONDS)


def detach() -> None:
    """Continues in a grandchild with a session of its own, which depends on no service and no terminal."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def send_answer(value: Dict[str, Any]) -> None:
    try:
        os.write(1, (json.dumps(value) + "\n").encode())
    except OSError:
        pass  # The scheduler was killed while it started us. The next one finds us by `started`.


def redirect_output(control: str) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(os.path.join(control, "shim.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number, descriptor in ((0, null), (1, null), (2, log)):
        os.dup2(descriptor, number)


def main(folder: str, attached: bool = False) -> int:
    """Runs the shim and returns its exit code."""
    if not attached:
        detach()
    os.chdir("/")
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    shim_program.call_prctl(shim_program.PR_SET_CHILD_SUBREAPER, 1)
    control = os.path.join(folder, "control")
    reserved = os.path.join(control, "exit.json.%d.tmp" % os.getpid())
    this_process = shim_process_tree.read_process(os.getpid())
    assert this_process is not None
    handle: Dict[str, Any] = {
        "pid": os.getpid(),
        "boot_id": shim_process_tree.read_boot_id(),
        "start_ticks": this_process.start_ticks,
        "at": now_text(),
    }
    handle.update(shim_devices.container_facts() if attached else {})
    try:
        plan = shim_plan.read_start_plan(folder)
        shim_files.reserve_file(reserved)
        if not shim_files.create_json_once(os.path.join(control, "started"), handle):
            os.unlink(reserved)
            send_answer({"refused": "already_started"})
            return NO_EXIT_CODE
    except (OSError, ValueError) as error:
        send_answer({"refused": "error", "errno": getattr(error, "errno", None), "text": str(error)})
        return NO_EXIT_CODE
    send_answer(handle)
    redirect_output(control)
    shim = Shim(folder, plan, attached)
    shim.run()
    return write_exit_record(shim, reserved)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:] == ["attached"]))
