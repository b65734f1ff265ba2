"""The shim: one detached process per attempt that starts the program, watches it and says how it ended.

    python3 -I -S shim.py <attempt folder>             detached: nobody's child and nobody's service
    python3 -I -S shim.py <attempt folder> attached    in a container of its own, whose init started it

Reads control/plan.json, as root only one that is root's (shim_plan.py); creates control/started exactly once and
refuses to start where it stands; writes control/usage.json every 2 s; ends everything that descends from it on SIGTERM, at the time limit and
when the launcher has ended, at once on SIGUSR1; writes control/exit.json as its last act and ends with the exit
code that stands there. Prints one line of JSON to the executor, which then leaves it alone.
"""

import json
import os
import signal
import sys
import time
from datetime import datetime, timezone

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import shim_ending  # noqa: E402
import shim_files  # noqa: E402
import shim_memory  # noqa: E402
import shim_metrics  # noqa: E402
import shim_plan  # noqa: E402
import shim_program  # noqa: E402
import shim_rank_use  # noqa: E402
import shim_result  # noqa: E402
import shim_tree  # noqa: E402
import shim_units  # noqa: E402
import shim_usage  # noqa: E402

LEAVE_SECONDS = 1.0
"""How long helpers of the launcher may outlive it before they count as left behind."""
USAGE_SECONDS = 2.0
TICK_SECONDS = 0.25
HURRY_SECONDS = 0.05
WRITE_AGAIN_SECONDS = 1.0
WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
NO_EXIT_CODE = 125
WORDS = {"patiently": signal.SIGINT, "politely": signal.SIGTERM, "now": signal.SIGUSR1}


def now_text():
    return datetime.now(timezone.utc).isoformat()


def note(text):
    """To control/shim.log, which is our standard error."""
    try:
        sys.stderr.write("%s %s\n" % (now_text(), text))
        sys.stderr.flush()
    except OSError:
        pass  # A full disk must not end the training.


def usage_of(plan):
    """Who has ranks on other nodes cannot measure them."""
    return shim_rank_use.GangUsage(plan) if int(plan.get("nodes") or 1) > 1 else shim_usage.Usage(plan)


class Shim:
    def __init__(self, folder, plan, attached=False):
        self.control = os.path.join(folder, "control")
        self.plan = plan
        self.launcher = None
        self.status = None
        """The launcher's wait status, once it has ended."""
        self.problem = None
        self.ending = None
        self.stopped = self.timed_out = False
        self.left_behind = 0
        self.is_alone = False
        """Nothing descends from us any more: whoever loses its parent becomes our child."""
        self.started_at, self.started = now_text(), time.monotonic()
        self.ended_at = None
        self.launcher_ended = None
        self.usage_at = 0.0
        self.usage = usage_of(plan)
        self.pids = set()
        self.results = shim_metrics.Results()
        self.kernel_log = shim_memory.KernelLog()
        self.own_group = shim_memory.OwnGroup() if attached else None
        self.heard = None
        """The last word that stood in the file by which a pod is told to end."""

    def run(self):
        try:
            shim_program.prepare_out(self.plan)
            self.launcher, self.problem = shim_program.start(self.plan)
        except OSError as error:
            note("could not start: %s" % error)
            self.problem = {"at": "prepare", "text": str(error), "exit_code": None}
            return
        if self.problem:
            note("could not run the program: %s" % self.problem["text"])
        while not self.is_over():
            self.measure()
            hurry = self.ending is not None or self.status is not None
            self.hear(signal.sigtimedwait(WATCHED, HURRY_SECONDS if hurry else TICK_SECONDS))
            self.reap()
        self.reap()  # The last ones: all that is left of the tree are zombies, and they are ours now.
        self.ended_at = now_text()

    def hear(self, told):
        if told is not None and told.si_signo != signal.SIGCHLD:
            # A kubelet that empties its node leaves as much time as the job itself wants.
            self.stop(signal.SIGINT if self.plan.get("stop") else told.si_signo)
        self.read_word()
        limit = self.plan.get("time_limit_seconds")
        if limit and not self.ending and time.monotonic() - self.started >= limit:
            note("time limit of %d s reached" % limit)
            self.timed_out = self.status is None
            self.end("time limit", self.own_grace())

    def read_word(self):
        """In a pod only its kubelet can send a signal: what we want stands in a file beside the plan."""
        told = shim_files.read_object(self.control, self.plan["stop"]) if self.plan.get("stop") else None
        word = told.get("how") if told else None
        if word != self.heard and word in WORDS:
            self.heard = word
            self.stop(WORDS[word])

    def stop(self, number):
        """SIGINT: patiently, so that a checkpoint can be saved. SIGUSR1: at once. Else: within seconds."""
        patience = {signal.SIGINT: self.own_grace(), signal.SIGUSR1: 0.0}
        grace = min(patience.get(number, shim_ending.GRACE_SECONDS), shim_ending.LONGEST_GOODBYE)
        self.stopped = self.stopped or self.status is None
        if self.ending:
            self.ending.shorten(grace)
        else:
            self.end("asked by signal %d" % number, grace)

    def own_grace(self):
        return float(self.plan.get("grace_seconds") or shim_ending.GRACE_SECONDS)

    def end(self, why, grace=shim_ending.GRACE_SECONDS):
        note("ending after at most %d s: %s" % (grace, why))
        self.ending = shim_ending.Ending(why, grace)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.is_alone = True
                return
            if pid == 0:
                return
            if pid == self.launcher:
                self.status = status
                self.launcher_ended = time.monotonic()

    def is_over(self):
        """The launcher has ended and nothing that descends from us runs any more."""
        if self.ending:
            return not self.ending.act() and self.status is not None
        if self.status is None:
            return False
        if self.is_alone:
            return True
        left = shim_tree.living_descendants(os.getpid())
        if not left:
            return True
        if time.monotonic() - self.launcher_ended >= LEAVE_SECONDS:
            self.left_behind = len(left)
            self.end("left behind by the launcher")
        return False

    def measure(self):
        if time.monotonic() - self.usage_at < USAGE_SECONDS:
            return
        self.usage_at = time.monotonic()
        living = shim_tree.living_descendants(os.getpid())
        self.pids.update(process.pid for process in living)
        self.usage.measure(living, shim_result.cpu_of_reaped())
        usage = dict(
            self.usage.told(),
            at=now_text(),
            rss_bytes=self.usage.rss_bytes,
            pid=self.launcher,
            processes=len(living),
        )
        self.results.read_on(self.plan["out"])
        usage.update(self.said_results(), course=self.results.course.told())
        try:
            shim_files.write_whole(os.path.join(self.control, "usage.json"), usage)
        except OSError as error:
            note("usage not written: %s" % error)

    def said_results(self):
        return {"results": self.results.by_name, "not_finite": self.results.not_finite}

    def result(self):
        while self.results.read_on(self.plan["out"]):
            pass
        ranks = shim_result.read_ranks(self.plan)
        result = {key: self.plan[key] for key in ("job", "attempt", "fence")}
        result.update(shim_result.how_it_ended(self.status, self.problem, ranks))
        result.update(
            stopped=self.stopped,
            timed_out=self.timed_out,
            out_of_memory=self.was_out_of_memory(ranks),
            left_behind=self.left_behind,
            started_at=self.started_at,
            ended_at=self.ended_at or now_text(),
            memory_limit_bytes=self.own_group.limit if self.own_group else None,
        )
        self.usage.finish(shim_result.cpu_of_reaped(), shim_result.biggest_of_reaped())
        result.update(self.usage.told())
        result.update(self.said_results())
        return result

    def was_out_of_memory(self, ranks):
        if self.own_group and self.own_group.has_killed() and shim_result.was_killed(self.status, ranks):
            return True
        pids = self.pids | {rank["pid"] for rank in ranks} | {self.launcher}
        return shim_memory.was_ours(self.kernel_log.read_killed(), pids, self.plan.get("uid"))


def write_result(shim, reserved):
    """Tries until it is written: while the disk is full the units stay booked, and the log says why."""
    result = shim.result()
    while True:
        try:
            shim_files.write_reserved(reserved, os.path.join(shim.control, "exit.json"), result)
            return NO_EXIT_CODE if result["exit_code"] is None else result["exit_code"]
        except OSError as error:
            note("exit.json not written, trying again: %s" % error)
            time.sleep(WRITE_AGAIN_SECONDS)


def detach():
    """A grandchild in a session of its own: no service is its parent, no terminal its master."""
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def answer(value):
    try:
        os.write(1, (json.dumps(value) + "\n").encode())
    except OSError:
        pass  # The scheduler died while it started us; the next one finds us by `started`.


def leave_terminal(control):
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(os.path.join(control, "shim.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number, descriptor in ((0, null), (1, null), (2, log)):
        os.dup2(descriptor, number)


def main(folder, attached=False):
    """The exit code with which the shim itself ends."""
    if not attached:
        detach()
    os.chdir("/")
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    shim_program.prctl(shim_program.PR_SET_CHILD_SUBREAPER, 1)
    control = os.path.join(folder, "control")
    reserved = os.path.join(control, "exit.json.%d.tmp" % os.getpid())
    handle = {
        "pid": os.getpid(),
        "boot_id": shim_tree.read_boot_id(),
        "start_ticks": shim_tree.read_process(os.getpid()).start_ticks,
        "at": now_text(),
    }
    handle.update(shim_units.seen() if attached else {})
    try:
        plan = shim_plan.read_plan(folder)
        shim_files.reserve(reserved)
        if not shim_files.create_once(os.path.join(control, "started"), handle):
            os.unlink(reserved)
            answer({"refused": "already_started"})
            return NO_EXIT_CODE
    except (OSError, ValueError) as error:
        answer({"refused": "error", "errno": getattr(error, "errno", None), "text": str(error)})
        return NO_EXIT_CODE
    answer(handle)
    leave_terminal(control)
    shim = Shim(folder, plan, attached)
    shim.run()
    return write_result(shim, reserved)


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:] == ["attached"]))
