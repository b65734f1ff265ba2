"""Moves of a job: all that its user and group may do, in its own folders and against everything else it can reach."""

import array
import ctypes
import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.adversaries.moves import Ground, Moves, link, must_not, once, remove

MOVES = Moves()
move = MOVES.move

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH = 16
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
AT_FDCWD, RENAME_EXCHANGE = -100, 2
CHECKPOINT, NOTE = "epoch-0001.weights.h5", "epoch-0001.json"


def checkpoint(ground: Ground) -> Path:
    """A whole checkpoint of the running attempt, by its file."""
    folder = ground.own / "checkpoints"
    folder.mkdir(exist_ok=True)
    (folder / CHECKPOINT).write_bytes(b"weights")
    (folder / NOTE).write_text(json.dumps({"epoch": 1, "step": 10}))
    return folder / CHECKPOINT


def exchange(one: Path, other: Path) -> None:
    """Both names at once (renameat2). Raises OSError."""
    if libc.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def swap_when_there(path: Path, aside: Path, target: Path, at_rest: float = 0.0) -> Callable[[], None]:
    """Exchanges a folder for a link once nothing was made in it for so many seconds: a large file is being copied.

    At no moment there is nothing. It raises OSError until then.
    """
    names = os.fsencode(path), os.fsencode(aside)

    def swap() -> None:
        if time.time() - os.stat(names[0]).st_mtime < at_rest:
            raise BlockingIOError
        if not os.path.lexists(aside):
            os.symlink(target, aside)
        if libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")

    return swap


def owner_of(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


# Races against the start of an attempt.


@move(races=True)
def working_folder_becomes_a_link(ground: Ground) -> None:
    """The next attempt's working folder is renamed away while the code is copied, and a link stands there instead."""
    out = ground.next / "out"
    once(ground, swap_when_there(out / "work", out / "aside", ground.target))


@move(races=True)
def working_folder_becomes_a_link_within_a_file(ground: Ground) -> None:
    """While a large file is copied its folder is exchanged for a link to where root has a file of that name."""
    out = ground.next / "out"
    swap = swap_when_there(out / "work", out / "aside", ground.target, at_rest=0.008)
    once(ground, swap, pause=0.0005)


@move()
def working_folder_is_made_first(ground: Ground) -> None:
    """A link of the working folder's name is put into the next attempt's folder before the code is copied."""
    work = str(ground.next / "out" / "work")
    once(ground, lambda: os.symlink(ground.target, work))


@move(races=True)
def copied_file_becomes_a_link(ground: Ground) -> None:
    """Each copied file is replaced by a link between its copy and the moment in which it is given away."""
    work = ground.next / "out" / "work"
    ground.ready()
    while ground.goes_on():
        with suppress(OSError), os.scandir(work) as entries:
            for entry in entries:
                if not entry.is_symlink():
                    os.unlink(entry.path)
                    os.symlink(ground.secret, entry.path)


@move()
def output_of_the_launcher_is_a_link(ground: Ground) -> None:
    """Links stand where the next attempt opens its launcher's and its rank's output."""
    out = ground.next / "out"
    ground.ready()
    while ground.goes_on():
        for name in ("launcher.stdout", "launcher.stderr", "rank-0.stdout", "rank-0.stderr"):
            with suppress(OSError):
                (out / name).symlink_to(ground.secret)


@move(races=True)
def kept_descriptors(ground: Ground) -> None:
    """Descriptors of the next attempt's folders are kept, and links are made through them."""
    out, kept = ground.next / "out", []
    ground.ready()
    while ground.goes_on():
        for path in (out, out / "work", ground.next):
            with suppress(OSError):
                kept.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        for descriptor in kept[-3:]:
            with suppress(OSError):
                os.rename("work", "aside", src_dir_fd=descriptor, dst_dir_fd=descriptor)
                os.symlink(ground.target, "work", dir_fd=descriptor)
                ground.wait()
        for descriptor in kept[:-3]:
            os.close(descriptor)
        kept = kept[-3:]


@move(races=True, is_long=True)
def copied_folders_are_deleted(ground: Ground) -> None:
    """What is copied for the next attempt is deleted while it is copied."""
    ground.ready()
    while ground.goes_on():
        shutil.rmtree(ground.next / "out" / "work", ignore_errors=True)


@move()
def attempt_folder_is_taken(ground: Ground) -> None:
    """The job tries to change the folder of its attempts and what the shim keeps beside `out`."""
    attempt = Path(ground.running)
    for name in ("out", "control"):
        must_not((attempt / name).rename, attempt / f"{name}-of-ours")
        must_not((attempt / f"more-{name}").symlink_to, ground.target)
    for name in ("plan.json", "started", "exit.json", "usage.json", "shim.log"):
        must_not((attempt / "control" / name).write_text, "{}")
    must_not(os.listdir, attempt / "control")
    must_not(os.mkdir, attempt.parent / "2")
    must_not(os.mkdir, ground.next.parent)
    must_not(os.chmod, attempt, 0o777)
    ground.ready()


@move(is_long=True)
def out_is_closed(ground: Ground) -> None:
    """`out` has no rights at all, for its owner neither, and so have the folders in it."""
    (ground.own / "closed").mkdir()
    (ground.own / "closed").chmod(0)
    ground.own.chmod(0)
    ground.ready()
    while ground.goes_on():
        with suppress(OSError):
            (ground.next / "out").chmod(0)
    ground.own.chmod(0o700)


@move(is_long=True)
def out_is_read_only(ground: Ground) -> None:
    """`out` may be read alone, while the next attempt is prepared."""
    ground.own.chmod(0o500)
    ground.ready()
    while ground.goes_on():
        with suppress(OSError):
            (ground.next / "out").chmod(0o500)
    ground.own.chmod(0o700)


# What the shim, the scheduler and the services read of a job.


@move(resumes=True)
def checkpoints_are_a_link(ground: Ground) -> None:
    """The folder of checkpoints is a link into a folder of root's in which there is one."""
    remove(ground.own / "checkpoints")
    (ground.own / "checkpoints").symlink_to(ground.target)
    ground.ready()


@move(resumes=True)
def checkpoint_is_a_link(ground: Ground) -> None:
    """The newest checkpoint and its note are links to a file of root's."""
    file = checkpoint(ground)
    for path in (file, file.with_name(NOTE)):
        link(path, ground.secret)
    ground.ready()


@move(resumes=True)
def checkpoint_is_a_hard_link(ground: Ground) -> None:
    """The newest checkpoint is a second name of somebody else's file, where the system lets it be made."""
    file = checkpoint(ground)
    file.unlink()
    with suppress(OSError):
        os.link(ground.secret, file)
    with suppress(OSError):
        os.link(Path(ground.code, "train.py"), file)
    with suppress(OSError):
        os.link(Path(ground.outside, "etc", "passwd"), file)
    ground.ready()


@move(resumes=True, is_long=True)
def checkpoint_is_a_pipe(ground: Ground) -> None:
    """Nobody writes into the named pipe that stands for the newest checkpoint, and into that of its note."""
    file = checkpoint(ground)
    for path in (file, file.with_name(NOTE)):
        path.unlink()
        os.mkfifo(path)
    ground.ready()


@move(resumes=True, is_long=True)
def checkpoint_is_a_socket(ground: Ground) -> None:
    """A unix socket stands for the newest checkpoint."""
    file = checkpoint(ground)
    file.unlink()
    os.chdir(file.parent)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(file.name)
        listener.listen()
        ground.wait()


@move(resumes=True)
def checkpoint_is_swapped(ground: Ground) -> None:
    """The newest checkpoint and a link to a file of root's exchange their names without pause."""
    file = checkpoint(ground)
    twin = file.with_name("twin.tmp")
    twin.symlink_to(ground.secret)
    ground.ready()
    while ground.goes_on():
        exchange(file, twin)


@move(resumes=True, is_long=True)
def checkpoints_are_swapped(ground: Ground) -> None:
    """The folder of checkpoints and a link into a folder of root's exchange their names without pause."""
    folder = checkpoint(ground).parent
    twin = ground.own / "twin"
    twin.symlink_to(ground.target)
    ground.ready()
    while ground.goes_on():
        exchange(folder, twin)


@move(resumes=True, is_long=True)
def checkpoint_has_strange_names(ground: Ground) -> None:
    """Checkpoints with line breaks, broken text, leading dashes and the longest names there are."""
    folder = checkpoint(ground).parent
    for name in (
        b"a\nb.h5",
        b"\xff\xfe.h5",
        b"-rf",
        b"--",
        b"$(id)",
        b"x" * 255,
        b" ",
        b"..\n",
        b"epoch\r.h5",
    ):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"weights")
    ground.ready()


@move(resumes=True, is_long=True)
def many_and_deep_checkpoints(ground: Ground) -> None:
    """Two thousand checkpoints, a folder three hundred deep and links that lead in circles."""
    folder = checkpoint(ground).parent
    for number in range(2000):
        (folder / f"epoch-{number:05}.h5").touch()
    (ground.own / "circle").symlink_to("circle")
    (ground.own / "up").symlink_to("..")
    os.chdir(ground.own)
    for _ in range(300):
        os.mkdir("deeper")
        os.chdir("deeper")
    ground.ready()


@move(resumes=True)
def checkpoint_is_leased(ground: Ground) -> None:
    """A lease on the newest checkpoint holds up whoever opens it, unless they do not wait."""
    with checkpoint(ground).open("rb+") as file:
        with suppress(OSError):
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        fcntl.flock(file, fcntl.LOCK_EX)
        ground.wait()


@move(ends=True)
def results_are_links(ground: Ground) -> None:
    """What a rank reports when it ends, its logs and its metrics are links to files of root's."""
    for name in ("rank-0.exit.json", "metrics.jsonl", "rank-0.stdout", "rank-0.stderr", "launcher.stdout"):
        link(ground.own / name, ground.secret)
    ground.ready()


@move(ends=True)
def results_are_pipes(ground: Ground) -> None:
    """What a rank reports when it ends, its logs and its metrics are pipes into which nobody writes."""
    for name in ("rank-0.exit.json", "metrics.jsonl", "rank-0.stdout", "rank-0.stderr", "launcher.stdout"):
        remove(ground.own / name)
        os.mkfifo(ground.own / name)
    ground.ready()


@move(ends=True)
def results_are_sockets_and_devices(ground: Ground) -> None:
    """Sockets stand for a rank's report and the metrics; devices cannot be made."""
    kept = []
    os.chdir(ground.own)
    for name in ("rank-0.exit.json", "metrics.jsonl"):
        remove(Path(name))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        kept.append(listener)
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        must_not(os.mknod, "device", 0o666 | kind, os.makedev(1, 1))
    ground.wait()
    for listener in kept:
        listener.close()


@move(ends=True, is_long=True)
def results_lie(ground: Ground) -> None:
    """A rank's report and the metrics say what they like, in deep, huge and broken JSON."""
    (ground.own / "rank-0.exit.json").write_text(
        json.dumps({"exit_code": 0, "signal": -1, "ended": -1e300, "pid": 1})
    )
    deep = b'{"scalars":' * 3000
    rows = [deep, b'{"scalars": {"../../etc/x": 1, "loss": 1e999}}', b"\xff" * 70_000, b"A" * 300_000]
    (ground.own / "metrics.jsonl").write_bytes(b"\n".join(rows) + b"\n")
    ground.ready()


@move(ends=True)
def metrics_are_swapped(ground: Ground) -> None:
    """The metrics and a link to a file of root's exchange their names without pause."""
    file, twin = ground.own / "metrics.jsonl", ground.own / "twin.jsonl"
    file.write_text('{"scalars": {"loss": 1}}\n')
    twin.symlink_to(ground.secret)
    ground.ready()
    while ground.goes_on():
        exchange(file, twin)


@move()
def out_has_an_access_list(ground: Ground) -> None:
    """Access lists and attributes on `out` let everybody in, and hand that on to what is made in it."""
    entries = [(0x01, 7, -1), (0x04, 7, -1), (0x10, 7, -1), (0x20, 7, -1)]
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    ground.ready()
    while ground.goes_on():
        for out in (ground.own, ground.next / "out", ground.next / "out" / "work"):
            for name in ("system.posix_acl_access", "system.posix_acl_default"):
                with suppress(OSError):
                    os.setxattr(out, name, content)
            with suppress(OSError):
                os.setxattr(out, "user.groundcrew", b"x" * 1000)


@move()
def files_with_special_bits(ground: Ground) -> None:
    """Files of ours carry the bits that hand on user and group, and a folder the one of shared folders."""
    for bits in (0o4755, 0o2755, 0o6777):
        copy = ground.own / f"program-{bits:o}"
        shutil.copyfile(ground.program, copy)
        copy.chmod(bits)
    (ground.own / "shared").mkdir()
    (ground.own / "shared").chmod(0o7777)
    must_not(os.chown, ground.own / "program-4755", 0, 0)
    must_not(os.chown, ground.own / "program-4755", -1, ground.gid_base)
    ground.ready()


# Other processes.


@move()
def every_process_is_signalled(ground: Ground) -> None:
    """The shim, processes of root and of another person are asked to end, killed and stopped."""
    for pid in (ground.shim, *ground.processes):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
            with suppress(OSError):
                os.kill(pid, number)
                raise AssertionError(f"process {pid} of {owner_of(pid)} took signal {number}")
    ground.ready()


@move()
def every_process_is_traced(ground: Ground) -> None:
    """Shims, services and other people's processes are attached to, and their memory is opened."""
    for pid in [ground.shim, *ground.processes, 1]:
        assert libc.ptrace(PTRACE_ATTACH, pid, 0, 0) == -1, f"process {pid} was attached to"
        must_not(open, f"/proc/{pid}/mem", "rb+")
    ground.ready()


@move()
def the_shim_is_read_through_proc(ground: Ground) -> None:
    """Folders and descriptors of the shim are reached by way of /proc."""
    for way in ("cwd", "root", "fd/0", "fd/2", "exe"):
        must_not(os.stat, f"/proc/{ground.shim}/{way}")
    must_not(os.listdir, f"/proc/{ground.shim}/fd")
    must_not(os.listdir, f"/proc/{ground.shim}/map_files")
    for name in ("oom_score_adj", "clear_refs", "coredump_filter", "uid_map"):
        must_not(Path(f"/proc/{ground.shim}/{name}").write_text, "0")
    ground.ready()


@move()
def own_processes_are_traced(ground: Ground) -> None:
    """The memory of each process of our user is opened the moment it shows, also before its program has begun."""
    ground.ready()
    us, seen = os.getpid(), set()
    while ground.goes_on():
        for name in os.listdir("/proc"):
            if not name.isdigit() or name in seen or int(name) == us:
                continue
            seen.add(name)
            if owner_of(int(name)) == ground.uid or owner_of(int(name)) == 0:
                with (
                    suppress(OSError),
                    open(f"/proc/{name}/mem", "rb+"),
                    open(f"/proc/{name}/status") as file,
                ):
                    ids = [line.split()[1:] for line in file if line.startswith("Uid:")][0]
                    assert set(ids) == {str(ground.uid)}, f"the memory of a process of {ids} is open"
        if len(seen) > 20_000:
            seen.clear()


@move()
def environment_of_another_attempt(ground: Ground) -> None:
    """A process carries the folder of another person's attempt in its environment, by which leftovers are ended."""
    pid = os.fork()
    if pid == 0:
        os.environ["GROUNDCREW_OUT"] = str(Path(ground.foreign, "out"))
        os.execvpe("/bin/sleep", ["sleep", "30"], os.environ)
    ground.wait()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@move(is_long=True)
def process_that_looks_like_a_shim(ground: Ground) -> None:
    """A process is called like the shim of a folder of ours, whose files name another person's attempt and process."""
    for number in range(len(ground.processes) + 1):
        control = ground.own / f"false-{number}" / "control"
        control.mkdir(parents=True)
        (control / "plan.json").write_text(json.dumps({"job": 1, "attempt": 1, "uid": 0}))
    kept = []
    for number, pid in enumerate((*ground.processes, 0)):
        folder = ground.own / f"false-{number}"
        child = os.fork()
        if child == 0:
            pid = pid or os.getpid()
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            told = {"pid": pid, "boot_id": boot, "start_ticks": int(ticks)}
            (folder / "control" / "started").write_text(json.dumps(told))
            program = "import time; time.sleep(30)"
            (folder / "shim.py").write_text(program)
            name = str(folder / "shim.py")
            os.execv("/usr/bin/python3", ["/usr/bin/python3", "-I", "-S", name, str(folder)])
        kept.append(child)
    ground.wait()
    for child in kept:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@move()
def mounts_of_our_own(ground: Ground) -> None:
    """In a user namespace of our own, the folder of root's is mounted over ours, and ours over the next attempt's."""
    child = os.fork()
    if child == 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
            os._exit(0 if ctypes.get_errno() in (errno.EPERM, errno.EINVAL, errno.ENOSPC) else 1)
        for source, target in ((ground.target, ground.own), (ground.own, Path(ground.outside))):
            libc.mount(os.fsencode(source), os.fsencode(target), None, 4096, None)
        with suppress(OSError):
            os.chmod(ground.target, 0o777)
        ground.wait()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status


# Services.


@move()
def redis_is_spoken_to(ground: Ground) -> None:
    """The job connects to Redis, deletes everything and leaves a message for the task workers."""
    with socket.socket(socket.AF_UNIX) as connection:
        must_not(connection.connect, ground.redis)
    ground.ready()


@move()
def every_socket_is_connected_to(ground: Ground) -> None:
    """The job connects to each socket of the services, among them that behind which repairs run."""
    found = [
        Path(root, name)
        for root, _, names in os.walk(ground.state)
        for name in names
        if name.endswith(".sock")
    ]
    found += [
        Path(ground.state, "run", name) for name in ("redis.sock", "repair-run.sock", "supervisor.sock")
    ]
    for path in found:
        with socket.socket(socket.AF_UNIX) as connection:
            must_not(connection.connect, str(path))
    ground.ready()


@move()
def database_and_secrets_are_opened(ground: Ground) -> None:
    """Database, secrets, backups, logs, telemetry and records of repairs are read, written and replaced."""
    for name in ("database", "secrets", "backups", "log", "telemetry", "repairs", "run"):
        folder = Path(ground.state, name)
        must_not((folder / "of-ours").write_text, "x")
        must_not(folder.rename, folder.with_name("of-ours"))
        must_not(os.chmod, folder, 0o777)
        for child in folder.iterdir() if os.access(folder, os.R_OK) else ():
            must_not(child.open, "r+")
    must_not(open, ground.secret)
    ground.ready()


@move()
def what_jobs_import_is_changed(ground: Ground) -> None:
    """The shim, the module of jobs and the code of the training are written to and replaced."""
    for folder in (
        Path(ground.state, "runtime"),
        Path(ground.code),
        *Path(ground.state, "runtime").glob("*"),
    ):
        must_not((folder / "shim.py").write_text, "x")
        must_not(os.mkdir, folder / "__pycache__")
        must_not(folder.rename, folder.with_name("of-ours"))
    for file in Path(ground.state, "runtime").glob("*/*.py"):
        must_not(file.open, "r+")
        must_not(os.chmod, file, 0o777)
    ground.ready()


@move()
def other_people_are_read(ground: Ground) -> None:
    """Attempts of another person and the other workspace are listed, read and changed."""
    foreign = Path(ground.foreign)
    for folder in (foreign, foreign / "out", foreign.parents[2], foreign.parents[2] / "code"):
        must_not(os.listdir, folder)
        must_not((folder / "of-ours").write_text, "x")
        must_not(os.chmod, folder, 0o777)
    ground.ready()


@move(is_long=True)
def descriptors_are_sent_to_services(ground: Ground) -> None:
    """Descriptors that this process has inherited reach nothing of root's, and none leads to a service."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            status = os.stat(f"/proc/self/fd/{name}")
            assert status.st_uid in (0, ground.uid) or not stat.S_ISREG(status.st_mode), name
    ours, theirs = socket.socketpair()
    with ours, theirs:
        descriptors = array.array("i", [ours.fileno()])
        ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    ground.ready()
