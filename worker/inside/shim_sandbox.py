"""Gives a job's program a mount namespace of its own: own /tmp, read-only system, hidden processes and folders.

The forked child calls `enter_sandbox` as root, before it becomes the job's user. The mounts live in a mount namespace
of its own: nobody else sees them, and the kernel removes them with the job's last process.
"""

import ctypes
import errno
import json
import os
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_SLAVE = 0x20, 0x1000, 0x4000, 1 << 19
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_SETATTR = 442
"""The number of mount_setattr(2), the same on every architecture but alpha; Linux 5.12 and newer."""
MOUNT_ATTR_RDONLY = 1
KEPT_FLAGS = {"nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC}
IN_MEMORY = ("/tmp", "/dev/shm")
LIKE_TMP = "/var/tmp"
FEATURES = ("tmp", "system", "processes_hidden", "storage_hidden")

libc = ctypes.CDLL(None, use_errno=True)


class MountAttributes(ctypes.Structure):
    """struct mount_attr of linux/mount.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns_fd")]


def enter_sandbox(wanted: Dict[str, Any], out: Optional[str]) -> Dict[str, str]:
    """Makes the view and returns what the machine refused: {power: the kernel's words}.

    `wanted` is {"hidden": [folder], "shown": [folder], "memory_bytes": int or None}. A program finds nothing beneath a
    hidden folder but those that are shown, which it reads, and `out`, which alone it writes. `out` None: nothing is
    written. Raises OSError if a folder could not be shown again after something had covered it.
    """
    try:
        check_libc(libc.unshare(CLONE_NEWNS), "unshare")
        # What the machine mounts later is seen here too, and nothing of ours is seen there.
        call_mount(None, "/", None, MS_REC | MS_SLAVE)
    except OSError as error:
        return dict.fromkeys(FEATURES, error.strerror or str(error))
    missing: Dict[str, str] = {}
    try_feature(missing, "system", make_system_read_only)
    try_feature(missing, "processes_hidden", hide_processes)
    shown = [(path, open_path(path)) for path in wanted["shown"] if os.path.isdir(path)]
    written = open_path(out) if out else None
    try_feature(missing, "tmp", lambda: mount_own_tmp(wanted.get("memory_bytes")))
    covered: List[str] = []
    try_feature(missing, "storage_hidden", lambda: cover_folders(wanted["hidden"], covered))
    for path, descriptor in shown:
        # A link to it is hidden as well, if it lies beneath something that is.
        for place in {path, os.readlink("/proc/self/fd/%d" % descriptor)}:
            bind_path(place, descriptor)
    if out is not None and written is not None:
        bind_path(out, written, True)
        os.close(written)
    for _, descriptor in shown:
        os.close(descriptor)
    for folder in covered:
        close_cover_folder(folder)
    return missing


def try_feature(missing: Dict[str, str], power: str, act: Callable[[], None]) -> None:
    try:
        act()
    except OSError as error:
        missing.setdefault(power, error.strerror or str(error))


def make_system_read_only() -> None:
    """All that is mounted by now; device files, sockets and pipes stay as writable as their modes say."""
    try:
        set_read_only_below("/")
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            raise
        for path, options in read_mounts():
            remount_read_only(path, options)


def set_read_only_below(path: str) -> None:
    wanted = MountAttributes(set=MOUNT_ATTR_RDONLY)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    where = ctypes.c_char_p(os.fsencode(path))
    done = libc.syscall(
        ctypes.c_long(MOUNT_SETATTR), AT_FDCWD, where, AT_RECURSIVE, ctypes.byref(wanted), size
    )
    check_libc(done, "mount_setattr")


def read_mounts() -> List[Tuple[str, Set[str]]]:
    """[(path, {option})] of this namespace, those that are mounted upon others after them."""
    found = []
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            fields = line.split()
            path = fields[4].replace(b"\\040", b" ").replace(b"\\011", b"\t").replace(b"\\012", b"\n")
            found.append((os.fsdecode(path.replace(b"\\134", b"\\")), set(os.fsdecode(fields[5]).split(","))))
    return found


def remount_read_only(path: str, options: Set[str]) -> None:
    """A mount that lies under another one cannot be reached by its path, neither by us nor by the program."""
    kept = sum(flag for name, flag in KEPT_FLAGS.items() if name in options)
    try:
        call_mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT, errno.EACCES):
            raise


def hide_processes() -> None:
    """A /proc in which a user sees their own processes alone.

    Before Linux 5.8 there is one /proc for all: those kernels do not know the word `invisible` and refuse it.
    """
    before = os.stat("/proc").st_dev
    call_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible")
    if os.stat("/proc").st_dev == before:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def mount_own_tmp(memory_bytes: Optional[int]) -> None:
    """Empty, in memory that counts as the job's, each at most half of it."""
    size = ",size=%d" % (memory_bytes // 2) if memory_bytes else ""
    for path in IN_MEMORY:
        call_mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777" + size)
    if not os.path.samefile(IN_MEMORY[0], LIKE_TMP):
        call_mount(IN_MEMORY[0], LIKE_TMP, None, MS_BIND)


def cover_folders(folders: List[str], covered: List[str]) -> None:
    """Those that are beneath our own /tmp are gone already."""
    for folder in folders:
        if os.path.isdir(folder):
            call_mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=1m")
            covered.append(folder)


def close_cover_folder(folder: str) -> None:
    call_mount(None, folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def open_path(path: str) -> int:
    """By the descriptor it is found again after something was mounted above it."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY)


def bind_path(path: str, descriptor: int, is_writable: bool = False) -> None:
    """At its own place again, if something covers that; with `is_writable` always, for that place is read-only."""
    here = os.fstat(descriptor)
    try:
        seen = os.stat(path)
        is_there = (seen.st_dev, seen.st_ino) == (here.st_dev, here.st_ino)
    except OSError:
        is_there = False
        os.makedirs(path, 0o755)
    if is_writable or not is_there:
        call_mount("/proc/self/fd/%d" % descriptor, path, None, MS_BIND | MS_REC)
    if is_writable:
        kept = os.statvfs(path).f_flag & MS_NOEXEC
        call_mount(None, path, None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | kept)


def call_mount(
    source: Optional[str], target: str, kind: Optional[str], flags: int, data: Optional[str] = None
) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    done = libc.mount(
        words[0], words[1], words[2], ctypes.c_ulong(flags), os.fsencode(data) if data else None
    )
    check_libc(done, "mount %s" % target)


def check_libc(done: int, what: str) -> None:
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def read_mount_features() -> Dict[str, Optional[str]]:
    """{power: None, or why the machine refuses it}: tried in a child, whose view ends with it."""
    if os.geteuid() != 0:
        return dict.fromkeys(FEATURES, os.strerror(errno.EPERM))
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            missing = enter_sandbox({"hidden": [], "shown": []}, None)
            os.write(writer, json.dumps(missing).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    os.waitpid(pid, 0)
    missing = json.loads(told.decode()) if told else {}
    return {power: missing.get(power) if told else "?" for power in FEATURES}
