"""Gives a job's program a mount namespace of its own: own /tmp, read-only system, hidden processes and folders.

The forked child calls `enter_sandbox` as root, before it becomes the job's user. Other processes do not see the
mounts, and the kernel removes them with the job's last process.
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
"""The number of mount_setattr(2), which is the same on every architecture but alpha; Linux 5.12 and newer."""
MOUNT_ATTR_RDONLY = 1
KEPT_FLAGS = {"nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC}
IN_MEMORY = ("/tmp", "/dev/shm")
LIKE_TMP = "/var/tmp"
FEATURES = ("tmp", "system", "processes_hidden", "storage_hidden")

libc = ctypes.CDLL(None, use_errno=True)


class MountAttributes(ctypes.Structure):
    """The struct mount_attr of linux/mount.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns_fd")]


def enter_sandbox(wanted: Dict[str, Any], out: Optional[str]) -> Dict[str, str]:
    """Enters the sandbox and returns what the machine refused: {feature: the kernel's error}.

    `wanted` is {"hidden": [folder], "shown": [folder], "written": [folder], "memory_bytes": int or None}. Below a
    hidden folder the program sees only the shown folders, which it can read, and `out` and the written ones, which it
    can write. If `out` is None, it can write nothing.
    Raises OSError if a folder could not be made visible after something had covered it.
    """
    try:
        check_libc(libc.unshare(CLONE_NEWNS), "unshare")
        # Later mounts of the machine appear here too, but ours do not appear there.
        call_mount(None, "/", None, MS_REC | MS_SLAVE)
    except OSError as error:
        return dict.fromkeys(FEATURES, error.strerror or str(error))
    missing: Dict[str, str] = {}
    try_feature(missing, "system", make_system_read_only)
    try_feature(missing, "processes_hidden", hide_processes)
    shown = [(path, open_path(path)) for path in wanted["shown"] if os.path.isdir(path)]
    written = [(path, open_path(path)) for path in ([out, *wanted.get("written", ())] if out else ())]
    try_feature(missing, "tmp", lambda: mount_own_tmp(wanted.get("memory_bytes")))
    covered: List[str] = []
    try_feature(missing, "storage_hidden", lambda: cover_folders(wanted["hidden"], covered))
    for path, descriptor in shown:
        # A link to the folder is hidden as well, if it is below a hidden one.
        for place in {path, os.readlink("/proc/self/fd/%d" % descriptor)}:
            bind_path(place, descriptor)
    for path, descriptor in written:
        bind_path(path, descriptor, True)
    for _, descriptor in shown + written:
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
    """Makes all current mounts read-only. Device files, sockets and pipes stay writable according to their modes."""
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
    """[(path, {option})] of this namespace. A mount that covers another one comes after it in the list."""
    found = []
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            fields = line.split()
            path = fields[4].replace(b"\\040", b" ").replace(b"\\011", b"\t").replace(b"\\012", b"\n")
            found.append((os.fsdecode(path.replace(b"\\134", b"\\")), set(os.fsdecode(fields[5]).split(","))))
    return found


def remount_read_only(path: str, options: Set[str]) -> None:
    """A mount that is covered by another one cannot be reached by its path, neither by us nor by the program."""
    kept = sum(flag for name, flag in KEPT_FLAGS.items() if name in options)
    try:
        call_mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT, errno.EACCES):
            raise


def hide_processes() -> None:
    """Mounts a /proc in which a user sees only their own processes.

    Before Linux 5.8 all mounts of /proc had the same options; those kernels refuse `invisible`.
    """
    before = os.stat("/proc").st_dev
    call_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible")
    if os.stat("/proc").st_dev == before:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def mount_own_tmp(memory_bytes: Optional[int]) -> None:
    """Mounts an empty /tmp and /dev/shm in memory. They count towards the job's memory; each may take half of it."""
    size = ",size=%d" % (memory_bytes // 2) if memory_bytes else ""
    for path in IN_MEMORY:
        call_mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777" + size)
    if not os.path.samefile(IN_MEMORY[0], LIKE_TMP):
        call_mount(IN_MEMORY[0], LIKE_TMP, None, MS_BIND)


def cover_folders(folders: List[str], covered: List[str]) -> None:
    """Covers the folders, except those below /tmp, which our own /tmp hides already."""
    for folder in folders:
        if os.path.isdir(folder):
            call_mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=1m")
            covered.append(folder)


def close_cover_folder(folder: str) -> None:
    call_mount(None, folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def open_path(path: str) -> int:
    """Opens the path so that its descriptor still leads to it after a mount has covered it."""
    return os.open(path, os.O_PATH | os.O_DIRECTORY)


def bind_path(path: str, descriptor: int, is_writable: bool = False) -> None:
    """Mounts the folder at its own path again if something covers that path, and always if `is_writable`, because the
    path is read-only.
    """
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
    """{feature: None, or why the machine refuses it}. A child process tries each feature in its own namespace."""
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
