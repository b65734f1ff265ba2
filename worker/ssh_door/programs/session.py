"""One session inside a job: joins the attempt's cgroup and mount namespace, becomes the job's user and runs there.

    python3 -I -S session.py <runtime folder> <descriptor>

Root starts it for each session, with the session's input and output as descriptors 0 to 2. From the other descriptor
it reads one line of JSON, the request; to it it writes why it refuses, or nothing. This process stays outside of the
job as the parent of the session. It ends the session when it is told to (SIGTERM), when the door has died, and when the
job's launcher has ended.

Between joining the job's namespace and becoming its user nothing is imported, and no path is opened that the job could
have made: everything that root does there names folders that only root can write.
"""

import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import sys
from typing import Any

RUNTIME = sys.argv[1] if len(sys.argv) > 1 else ""
sys.path.insert(0, RUNTIME)

import safe_files  # noqa: E402
import shim_cgroup  # noqa: E402
import shim_plan  # noqa: E402
import shim_process_tree  # noqa: E402
import shim_program  # noqa: E402
import shim_sandbox  # noqa: E402

CHANNEL = 3
"""The number of that descriptor from here on."""
MOST_BYTES = 256 * 1024
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWNS = 0x00020000
MS_PRIVATE = 1 << 18
NS_GET_USERNS = 0xB701
TIOCSCTTY = 0x540E
NO_TERMINAL = 25
"""ENOTTY."""
OWN_FILES = "/etc/ssh"
"""A folder of the machine's, replaced within a session: it holds the session's names and the inner sshd's files."""
PTY_MAJORS = range(136, 144)
TICK_SECONDS = 0.5
START_POLLS, POLL_SECONDS = 100, 0.1
"""How often a session asks whether a job that is starting is ready: for ten seconds."""
NO_ENTRY = 255
libc = ctypes.CDLL(None, use_errno=True)


class Refusal(Exception):
    """Why nobody can enter the attempt: a code of cluster/words."""


class Target:
    """The attempt as root's own files and the kernel describe it, with a descriptor of its launcher."""

    def __init__(
        self, plan: dict[str, Any], group: shim_cgroup.Cgroup, launcher: int, namespace: int
    ) -> None:
        self.plan, self.group, self.launcher, self.namespace = plan, group, launcher, namespace

    def is_running(self) -> bool:
        return not select.select([self.launcher], [], [], 0)[0]


def wait_for_target(folder: str) -> Target:
    """Raises OSError, ValueError, and Refusal if the attempt does not run, or does not get ready in time."""
    for _ in range(START_POLLS):
        try:
            return find_target(folder)
        except Refusal as refusal:
            if str(refusal) != "ssh.not_ready":
                raise
        select.select([], [], [], POLL_SECONDS)
    return find_target(folder)


def find_target(folder: str) -> Target:
    """Raises OSError, ValueError, and Refusal if the attempt does not run any more."""
    plan = shim_plan.read_start_plan(folder)
    control = os.path.join(folder, "control")
    group = shim_cgroup.read_cgroup_record(control)
    if group is None or not group.folders or group.name != plan.get("group"):
        raise Refusal("ssh.no_group")
    started = read_own_json(folder, "started")
    shim = shim_process_tree.read_process(int(started["pid"]))
    if shim is None or shim.is_gone() or shim.start_ticks != started["start_ticks"]:
        raise Refusal("ssh.has_ended")
    if started["boot_id"] != shim_process_tree.read_boot_id():
        raise Refusal("ssh.has_ended")
    pid = find_launcher(folder, shim.pid, group.name, int(plan["uid"]))
    launcher = os.pidfd_open(pid)
    namespace = os.open("/proc/%d/ns/mnt" % pid, os.O_RDONLY | os.O_CLOEXEC)
    # The pid stood for the launcher before, and still does: only now do both descriptors count.
    if not is_launcher(pid, shim.pid, group.name, int(plan["uid"])):
        raise Refusal("ssh.has_ended")
    check_namespace(namespace, plan)
    return Target(plan, group, launcher, namespace)


def read_own_json(folder: str, name: str) -> dict[str, Any]:
    """A file in `control` that only root can have written. Raises OSError, ValueError."""
    with safe_files.open_folder_path(folder) as attempt:
        control = safe_files.open_folder_at("control", attempt)
        try:
            shim_plan.check_owned_by_root(control, "control")
            found = json.loads(shim_plan.read_trusted_file(control, name).decode())
        finally:
            os.close(control)
    if not isinstance(found, dict):
        raise ValueError(name)
    return found


def find_launcher(folder: str, shim: int, group: str, uid: int) -> int:
    """The pid that the shim has written down, if it is what the shim says. Raises Refusal, OSError, ValueError."""
    try:
        pid = read_own_json(folder, "usage.json").get("pid")
    except FileNotFoundError:
        raise Refusal("ssh.not_ready") from None
    if not isinstance(pid, int) or not is_launcher(pid, shim, group, uid):
        raise Refusal("ssh.not_ready")
    return pid


def is_launcher(pid: int, shim: int, group: str, uid: int) -> bool:
    """A child of this shim, in this group, that has become the job's user, so that its namespace is complete."""
    process = shim_process_tree.read_process(pid)
    return (
        process is not None
        and not process.is_gone()
        and process.parent == shim
        and shim_cgroup.is_in_group(pid, group)
        and read_uids(pid) == [uid] * 4
    )


def read_uids(pid: int) -> list[int]:
    try:
        with open("/proc/%d/status" % pid) as file:
            line = next(line for line in file if line.startswith("Uid:"))
        return [int(word) for word in line.split()[1:]]
    except (OSError, StopIteration, ValueError):
        return []


def check_namespace(namespace: int, plan: dict[str, Any]) -> None:
    """Only a namespace that root has made is entered as root. Raises Refusal."""
    owner = fcntl.ioctl(namespace, NS_GET_USERNS)
    try:
        is_roots = os.fstat(owner).st_ino == os.stat("/proc/self/ns/user").st_ino
    finally:
        os.close(owner)
    is_own = os.fstat(namespace).st_ino == os.stat("/proc/self/ns/mnt").st_ino
    if not is_roots or (plan.get("sandbox") and is_own):
        raise Refusal("ssh.no_sandbox")


# In the child.


def join_and_run(request: dict[str, Any], target: Target, files: dict[str, tuple[bytes, int, int]]) -> None:
    """Never returns. Everything that may fail before the program runs is told over the channel."""
    plan = target.plan
    try:
        os.setsid()
        target.group.enter()
        # The shim records an end once its launcher has ended and the group is empty. We are in the group, and the
        # launcher lives: so the shim will see us.
        if not target.is_running():
            raise Refusal("ssh.has_ended")
        check_libc(libc.setns(target.namespace, CLONE_NEWNS))
        show_own_files(files)
        os.chdir("/")
        if request["terminal"] is not None:
            take_terminal(int(plan["uid"]), request["door_uid"])
        become_job_user(plan)
        change_folder(plan["cwd"])
        os.closerange(CHANNEL + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.set_inheritable(CHANNEL, False)
        argv, variables = request["argv"], request["variables"]
        os.execve(argv[0], argv, variables)
    except Refusal as refusal:
        os.write(CHANNEL, json.dumps({"refused": str(refusal)}).encode())
    except OSError as error:
        os.write(CHANNEL, json.dumps({"refused": "ssh.failed", "reason": error.strerror or "?"}).encode())
    finally:
        os._exit(NO_ENTRY)


def check_libc(done: int) -> None:
    if done != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def show_own_files(files: dict[str, tuple[bytes, int, int]]) -> None:
    """Gives the session a mount namespace with the names of the job's user and the files that the inner sshd reads.

    Raises OSError.
    """
    check_libc(libc.unshare(CLONE_NEWNS))
    mount = shim_sandbox.call_mount
    mount(None, "/", None, shim_sandbox.MS_REC | MS_PRIVATE)
    plain = shim_sandbox.MS_NOSUID | shim_sandbox.MS_NODEV
    mount("tmpfs", OWN_FILES, "tmpfs", plain, "mode=0755,size=1m")
    for name, (content, uid, mode) in files.items():
        path = os.path.join(OWN_FILES, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        try:
            os.write(descriptor, content)
            os.fchmod(descriptor, mode)
            os.fchown(descriptor, uid, 0)
        finally:
            os.close(descriptor)
    for name in ("passwd", "group"):
        mount(os.path.join(OWN_FILES, name), "/etc/" + name, None, shim_sandbox.MS_BIND)
        mount(
            None,
            "/etc/" + name,
            None,
            shim_sandbox.MS_REMOUNT | shim_sandbox.MS_BIND | shim_sandbox.MS_RDONLY | plain,
        )
    mount(
        None, OWN_FILES, None, shim_sandbox.MS_REMOUNT | shim_sandbox.MS_BIND | shim_sandbox.MS_RDONLY | plain
    )


def take_terminal(uid: int, door_uid: int) -> None:
    """Makes the terminal that sshd has opened for its own user the session's. Raises OSError."""
    found = os.fstat(0)
    is_pty = os.isatty(0) and os.major(found.st_rdev) in PTY_MAJORS
    if not is_pty or found.st_uid != door_uid:
        raise OSError(NO_TERMINAL, os.strerror(NO_TERMINAL))
    fcntl.ioctl(0, TIOCSCTTY, 1)
    os.fchown(0, uid, -1)


def become_job_user(plan: dict[str, Any]) -> None:
    """Raises OSError."""
    shim_program.reset_signals()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    shim_program.prefer_for_oom()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    shim_program.limit_files(plan.get("nofile") or 65536)
    os.umask(0o027)
    shim_program.switch_user(plan)
    shim_program.call_prctl(shim_program.PR_SET_NO_NEW_PRIVS, 1)
    if os.getresuid() != (plan["uid"],) * 3 or plan["uid"] < shim_plan.MIN_UID:
        raise PermissionError("not the user of the job")
    shim_program.call_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def change_folder(path: str) -> None:
    try:
        os.chdir(path)
    except OSError:
        pass  # The job may have removed its folder.


# In the parent.


def watch(child: int, target: Target, door: int) -> int:
    """The exit code of the session's program, after it or its reason to be there has ended."""
    hung_up = False
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    while True:
        status = reap(child)
        if status is not None:
            return status
        ready = select.select([reader, target.launcher], [], [], TICK_SECONDS)[0]
        numbers = os.read(reader, 4096) if reader in ready else b""
        if signal.SIGTERM in numbers or target.launcher in ready or os.getppid() != door:
            # A job that ends with its shell ends because the child has: its exit code counts.
            status = reap(child)
            return end_session(child) if status is None else status
        if signal.SIGHUP in numbers and not hung_up:
            hung_up = True
            shim_process_tree.signal_pids([child], signal.SIGHUP)


def reap(child: int) -> int | None:
    """Reaps whatever has ended; the exit code of the session's program, or None while it runs."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return NO_ENTRY if code is None else code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def end_session(child: int) -> int:
    """Ends the program and all that it has started. What has left it is in the job's group, and ends with the job."""
    for _ in range(50):
        if not shim_process_tree.kill_descendants(os.getpid(), lambda: reap(child)):
            break
    return 128 + signal.SIGKILL


def session_files(request: dict[str, Any], plan: dict[str, Any]) -> dict[str, tuple[bytes, int, int]]:
    """{name in OWN_FILES: (content, owner, mode)}, with this machine's own users before the job's."""
    uid, gid = int(plan["uid"]), int(plan["gid"])
    variables = request["variables"]
    name, home = request["login"], variables["HOME"]
    user = "%s:x:%d:%d::%s:%s\n" % (name, uid, gid, home, request["shell"])
    # A name that is the same in every job, so that one entry of an ssh configuration serves all of them.
    user += "job:x:%d:%d::%s:%s\n" % (uid, gid, home, request["shell"])
    files = {
        "passwd": (read_machine_file("/etc/passwd") + user.encode(), 0, 0o644),
        "group": (read_machine_file("/etc/group") + ("%s:x:%d:\n" % (name, gid)).encode(), 0, 0o644),
    }
    for each, content in request["files"].items():
        mode = 0o600 if each == "host_key" else 0o755 if each == "shell" else 0o644
        files[each] = (content.encode(), uid if each == "host_key" else 0, mode)
    return files


def read_machine_file(path: str) -> bytes:
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES)
    return content if content.endswith(b"\n") else content + b"\n"


def read_request() -> dict[str, Any]:
    content = b""
    while not content.endswith(b"\n"):
        piece = os.read(CHANNEL, MOST_BYTES)
        if not piece:
            raise BrokenPipeError("no request")
        content += piece
    request: dict[str, Any] = json.loads(content.decode())
    return request


def tell_refused(refusal: str, reason: str = "") -> int:
    os.write(CHANNEL, json.dumps({"refused": refusal, "reason": reason}).encode())
    return NO_ENTRY


def main() -> int:
    door, channel = os.getppid(), int(sys.argv[2])
    if channel != CHANNEL:
        os.dup2(channel, CHANNEL)
        os.close(channel)
    shim_program.call_prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    shim_program.call_prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.umask(0o022)
    try:
        request = read_request()
        target = wait_for_target(request["folder"])
        plan = target.plan
        if (plan["job"], plan["attempt"]) != (request["job"], request["attempt"]):
            return tell_refused("ssh.has_ended")
        request["variables"] = dict(plan["environment"], **request["variables"])
        files = session_files(request, plan)
    except Refusal as refusal:
        return tell_refused(str(refusal))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return tell_refused("ssh.failed", type(error).__name__)
    child = os.fork()
    if child == 0:
        join_and_run(request, target, files)
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(CHANNEL)  # The door reads to its end: nothing is refused once the program runs.
    return watch(child, target, door)


if __name__ == "__main__":
    try:
        exit_code = main()
    except BaseException:  # noqa: BLE001  A traceback would go to the person's terminal.
        exit_code = NO_ENTRY
    os._exit(exit_code)
