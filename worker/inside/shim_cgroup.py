"""Holds an attempt's program in a cgroup of its own, which limits it, ends it as a whole and counts refusals.

    python3 -I -S shim_cgroup.py end <attempt folder>      ends what a killed shim has left; exit code 0: none is alive

The shim stays outside, so that it can freeze and kill. Each controller is used where the machine has it: in its own
hierarchy (version 1), in the unified one (version 2), or mixed. Only root can make groups; without one, a
program is ended by a search in /proc (shim_process_tree.kill_descendants), which can miss processes. Sources: Linux,
Documentation/admin-guide/cgroup-v1/*.rst and cgroup-v2.rst; systemd, docs/CGROUP_DELEGATION.md.
"""

import errno
import json
import os
import re
import signal
import sys
import time
from typing import Any, Dict, FrozenSet, Iterator, List, Optional, Set

NAME = re.compile(r"groundcrew-[0-9a-f]{12}-[0-9]+-[0-9]+\Z")
UNIT = re.compile(r"gc-[0-9]+-[0-9]+\.service\Z")
"""A transient unit of worker/executors/shim_systemd_unit.py: what lies beneath its cgroup is ours."""
RECORD_FILE = "group.json"
SHIM_LEAF = "shim"
MOST_BYTES = 64 * 1024
FREEZE_SECONDS = 0.5
"""A process in an uninterruptible wait is frozen later than this; it is killed all the same."""
EMPTY_SECONDS = 0.5
PAUSE_SECONDS = 0.002
LIMITED = ("memory", "pids", "devices")
UNIFIED_LIMITS = ("memory", "pids")


class CgroupHierarchy:
    """A mounted hierarchy: `top` is the mount point, `own` the folder of this process's own group."""

    def __init__(self, version: int, controllers: FrozenSet[str], top: str, own: str) -> None:
        self.version, self.controllers, self.top, self.own = version, controllers, top, own

    def can_write(self) -> bool:
        return os.access(self.top, os.W_OK)


class CgroupFolder:
    """The group's folder in one hierarchy, and which controllers are used there; `stop` is freezing and killing."""

    def __init__(self, version: int, uses: List[str], path: str) -> None:
        self.version, self.uses, self.path = version, uses, path

    def read(self, name: str) -> str:
        """The file's text; empty if there is no such file (any more)."""
        try:
            with open(os.path.join(self.path, name)) as file:
                return file.read(MOST_BYTES * 16)
        except OSError:
            return ""

    def write(self, name: str, text: str) -> None:
        """Writes a file of the group. Raises ValueError if the folder's name is none that Groundcrew gives."""
        if not NAME.match(os.path.basename(self.path)) or os.path.normpath(self.path) != self.path:
            raise ValueError("not a group of Groundcrew: %s" % self.path)
        write_kernel_file(os.path.join(self.path, name), text)

    def pids(self) -> Set[int]:
        return {int(pid) for pid in self.read("cgroup.procs").split()} - {0, os.getpid()}

    def count(self, name: str, word: str) -> int:
        """The number after this word in a file of counters; 0 if the file does not have the word."""
        for line in self.read(name).splitlines():
            words = line.split()
            if len(words) == 2 and words[0] == word and words[1].isdigit():
                return int(words[1])
        return 0


class Cgroup:
    """The folders of one attempt's group in all hierarchies. `refused_limits` has the error of each limit that the
    kernel refused, by controller."""

    def __init__(self, name: str, parts: List[CgroupFolder]) -> None:
        if not NAME.match(name):
            raise ValueError("no name of a group: %r" % name)
        self.name, self.folders = name, parts
        self.refused_limits: Dict[str, str] = {}
        self.memory_bytes: Optional[int] = None
        self.most_processes: Optional[int] = None

    def folder_for(self, use: str) -> Optional[CgroupFolder]:
        return next((part for part in self.folders if use in part.uses), None)

    # Making it.

    def make(self) -> None:
        """Makes the folders. One that exists was left by a shim that died before its program began. Raises OSError."""
        for part in self.folders:
            try:
                os.mkdir(part.path, 0o755)
            except FileExistsError:
                self.end()
        for part in self.folders:
            os.stat(os.path.join(part.path, "cgroup.procs"))

    def limit(self, memory_bytes: Optional[int], most_processes: Optional[int]) -> None:
        """Sets the limits. The memory limit allows no swap, because a training that swaps makes no progress."""
        if memory_bytes:
            names = (
                ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
                ("memory.max", "memory.swap.max"),
            )
            self._set("memory", names, (str(memory_bytes), str(memory_bytes)), (str(memory_bytes), "0"))
            self.memory_bytes = None if "memory" in self.refused_limits else memory_bytes
            part = self.folder_for("memory")
            if part and part.version == 2:
                self._try(part, "memory.oom.group", "1")
        if most_processes:
            self._set("pids", (("pids.max",), ("pids.max",)), (str(most_processes),), (str(most_processes),))
            self.most_processes = None if "pids" in self.refused_limits else most_processes

    def _set(self, use: str, names: Any, old: Any, new: Any) -> None:
        part = self.folder_for(use)
        if part is None:
            self.refused_limits[use] = "no hierarchy has it"
            return
        values = old if part.version == 1 else new
        for number, (name, value) in enumerate(zip(names[part.version - 1], values)):
            try:
                part.write(name, value)
            except OSError as error:
                if number == 0:  # This kernel may not count swap.
                    self.refused_limits[use] = str(error)
                    return

    def _try(self, part: CgroupFolder, name: str, value: str) -> None:
        try:
            part.write(name, value)
        except OSError:
            pass

    def enter(self) -> None:
        """Moves this process, which is about to execute the program, into the group. Raises OSError."""
        for part in self.folders:
            part.write("cgroup.procs", "0")

    # Ending it.

    def pids(self) -> Set[int]:
        found: Set[int] = set()
        for part in self.folders:
            found |= part.pids()
        return found

    def end(self, seconds: float = EMPTY_SECONDS) -> Set[int]:
        """Freezes, kills and thaws the processes, waits up to `seconds`, and returns the pids that are still alive.

        The caller repeats it until the set is empty.
        """
        until = time.monotonic() + seconds
        while True:
            if not self.pids():
                return set()
            self._freeze(True)
            try:
                self._kill()
            finally:
                self._freeze(False)
            left = self._wait_until_empty(min(until, time.monotonic() + EMPTY_SECONDS / 4))
            if not left or time.monotonic() >= until:
                return left

    def _freeze(self, wanted: bool) -> None:
        """A frozen process forks no more and keeps its pid; the child of a fork that was under way begins frozen."""
        part = self.folder_for("stop")
        if part is None:
            return
        try:
            if part.version == 1:
                part.write("freezer.state", "FROZEN" if wanted else "THAWED")
            else:
                part.write("cgroup.freeze", "1" if wanted else "0")
        except OSError:
            return  # The kernel is older than Linux 5.2, or the group is gone.
        until = time.monotonic() + FREEZE_SECONDS
        while wanted and not is_frozen(part) and time.monotonic() < until:
            time.sleep(PAUSE_SECONDS)

    def _kill(self) -> None:
        part = self.folder_for("stop")
        if part is not None and part.version == 2:
            # The file exists from Linux 5.14 on. Killing each pid below in addition does no harm.
            self._try(part, "cgroup.kill", "1")
        for pid in self.pids():
            if is_in_group(pid, self.name):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass

    def _wait_until_empty(self, until: float) -> Set[int]:
        while True:
            left = self.pids()
            if not left or time.monotonic() >= until:
                return left
            time.sleep(PAUSE_SECONDS)

    def remove(self) -> bool:
        """Removes the folders and returns whether all of them are gone."""
        is_gone = True
        for part in self.folders:
            try:
                os.rmdir(part.path)
            except FileNotFoundError:
                pass
            except OSError:
                is_gone = False
        return is_gone

    # What the kernel refused.

    def memory_kills(self) -> int:
        """How many processes of the group the kernel killed because memory ran out."""
        part = self.folder_for("memory")
        return (
            part.count("memory.oom_control" if part.version == 1 else "memory.events", "oom_kill")
            if part
            else 0
        )

    def refused_processes(self) -> int:
        """How often the kernel refused the group another process."""
        part = self.folder_for("pids")
        return part.count("pids.events", "max") if part else 0

    def is_full(self) -> bool:
        part = self.folder_for("pids")
        number = part.read("pids.current").strip() if part and self.most_processes else ""
        return number.isdigit() and int(number) >= (self.most_processes or 0)

    def to_json(self) -> Dict[str, Any]:
        parts = [{"version": part.version, "uses": part.uses, "path": part.path} for part in self.folders]
        return {"name": self.name, "parts": parts}


def write_kernel_file(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def is_frozen(part: CgroupFolder) -> bool:
    if part.version == 1:
        return part.read("freezer.state").strip() == "FROZEN"
    return part.count("cgroup.events", "frozen") == 1


def is_in_group(pid: int, name: str) -> bool:
    """Whether the process is in the group now; another process may have got a pid that was read a moment ago."""
    try:
        with open("/proc/%d/cgroup" % pid) as file:
            return any(name in line.rstrip("\n").split("/") for line in file)
    except OSError:
        return False


# Where the hierarchies are.


def read_hierarchies(root: str = "") -> List[CgroupHierarchy]:
    """The hierarchies that this process sees; `root` is put before every path, for a machine recorded by tests."""
    try:
        with open(root + "/proc/self/mountinfo") as file:
            mounts = [line.split() for line in file]
        with open(root + "/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    own = {controller: words[2] for words in lines if len(words) == 3 for controller in words[1].split(",")}
    trees: List[CgroupHierarchy] = []
    for words in mounts:
        kind, options = words[words.index("-") + 1], words[-1].split(",")
        top = root + words[4].replace("\\040", " ")
        if kind == "cgroup2":
            controllers = frozenset(read_words(os.path.join(top, "cgroup.controllers")))
            path = own.get("")
        elif kind == "cgroup":
            controllers = frozenset(options) & frozenset(own)
            path = next((own[each] for each in sorted(controllers)), None)
        else:
            continue
        if path is not None and not any(tree.top == top for tree in trees):
            trees.append(
                CgroupHierarchy(
                    2 if kind == "cgroup2" else 1, controllers, top, mount_path(top, words[3], path)
                )
            )
    return trees


def mount_path(top: str, shown: str, path: str) -> str:
    """The path below the mount. `shown` is the part of the hierarchy that is mounted: a container sees only its own
    part.
    """
    if shown != "/":
        path = path[len(shown) :] if path == shown or path.startswith(shown + "/") else "/"
    inside = os.path.normpath(path).lstrip("/")
    return top if not inside or inside.startswith("..") else os.path.join(top, inside)


def read_words(path: str) -> List[str]:
    try:
        with open(path) as file:
            return file.read().split()
    except OSError:
        return []


def choose_hierarchies(
    trees: List[CgroupHierarchy], wants_unified: bool = False
) -> Dict[str, CgroupHierarchy]:
    """Chooses a hierarchy for each controller: its own one if the machine has it, else the unified one."""
    unified = next((tree for tree in trees if tree.version == 2), None)
    chosen: Dict[str, CgroupHierarchy] = {}
    for use, controller in (
        ("stop", "freezer"),
        ("memory", "memory"),
        ("pids", "pids"),
        ("devices", "devices"),
    ):
        old = next((tree for tree in trees if tree.version == 1 and controller in tree.controllers), None)
        has_unified = unified is not None and (
            controller in unified.controllers or use in ("stop", "devices")
        )
        if old is not None and not (wants_unified and has_unified):
            chosen[use] = old
        elif unified is not None and has_unified:
            chosen[use] = unified
    return chosen


def read_cgroup_features(root: str = "") -> Dict[str, Any]:
    """Returns what a shim with the rights of this process can enforce here.

    {"stop": "cgroup-v2" | "cgroup-v1" | "scan", "memory": bool, "processes": bool, "devices": bool}
    """
    trees = [tree for tree in read_hierarchies(root) if tree.can_write()] if os.geteuid() == 0 else []
    chosen = choose_hierarchies(trees)
    if "stop" not in chosen:
        return {"stop": "scan", "memory": False, "processes": False, "devices": False}
    return {
        "stop": "cgroup-v%d" % chosen["stop"].version,
        "memory": is_controller_delegated(chosen.get("memory"), "memory"),
        "processes": is_controller_delegated(chosen.get("pids"), "pids"),
        "devices": "devices" in chosen,
    }


def is_controller_delegated(tree: Optional[CgroupHierarchy], controller: str) -> bool:
    """Whether groups that we make get the controller.

    In a container with version 2, a top group that has processes of its own cannot pass controllers on.
    """
    if tree is None or tree.version == 1:
        return tree is not None
    parent = parent_cgroup(tree)
    is_unit, is_root = parent != tree.top, not os.path.exists(os.path.join(parent, "cgroup.type"))
    is_given_already = controller in read_words(os.path.join(parent, "cgroup.subtree_control"))
    return is_unit or is_root or is_given_already or not read_words(os.path.join(parent, "cgroup.procs"))


def parent_cgroup(tree: CgroupHierarchy) -> str:
    """The folder in which a group is made: our own group, or, in version 2, our own only if it is a unit of ours.

    Otherwise it is the top: in version 2 no other group may have both processes and groups beneath it.
    """
    if tree.version == 1:
        return tree.own
    own = os.path.dirname(tree.own) if os.path.basename(tree.own) == SHIM_LEAF else tree.own
    return own if UNIT.match(os.path.basename(own)) else tree.top


def plan_cgroup(name: str, trees: List[CgroupHierarchy], wants_unified: bool = False) -> Optional[Cgroup]:
    """The group that `make_cgroup` would make; None if no hierarchy could stop it as a whole. Changes nothing."""
    chosen = choose_hierarchies([tree for tree in trees if tree.can_write()], wants_unified)
    if "stop" not in chosen:
        return None
    parts: List[CgroupFolder] = []
    for use, tree in chosen.items():
        path = os.path.join(parent_cgroup(tree), name)
        there = next((part for part in parts if part.path == path), None)
        if there:
            there.uses.append(use)
        else:
            parts.append(CgroupFolder(tree.version, [use], path))
    return Cgroup(name, parts)


def delegate_controllers(trees: List[CgroupHierarchy], group: Cgroup) -> None:
    """Version 2: takes a unit's own processes into a leaf and gives the controllers to the groups beneath."""
    for tree in trees:
        part = next((each for each in group.folders if each.version == 2), None)
        if tree.version == 1 or part is None or parent_cgroup(tree) != os.path.dirname(part.path):
            continue
        parent = parent_cgroup(tree)
        given = read_words(os.path.join(parent, "cgroup.subtree_control"))
        missing = [use for use in UNIFIED_LIMITS if use in part.uses and use not in given]
        try:
            if missing:
                make_leaf(parent)
        except OSError:
            pass  # Writing the first controller fails with the same error, which is handled there.
        for use in missing:
            try:
                write_kernel_file(os.path.join(parent, "cgroup.subtree_control"), "+" + use)
            except OSError as error:
                group.refused_limits[use] = str(error)
                part.uses.remove(use)


def make_leaf(parent: str) -> None:
    """Moves the unit's processes into a leaf group; our parent process may still be among them. Raises OSError."""
    if not UNIT.match(os.path.basename(parent)):
        return
    leaf = os.path.join(parent, SHIM_LEAF)
    os.makedirs(leaf, exist_ok=True)
    for pid in read_words(os.path.join(parent, "cgroup.procs")):
        try:
            write_kernel_file(os.path.join(leaf, "cgroup.procs"), pid)
        except OSError as error:
            if error.errno != errno.ESRCH:
                raise


def make_cgroup(control: str, plan: Dict[str, Any], wants_unified: bool = False) -> Optional[Cgroup]:
    """The group that `plan` names, with its limits; None without root, or if no hierarchy could stop it
    as a whole.

    Its record is written before the group is made, so that the group is found if this process is killed. Raises
    OSError.
    """
    name = plan.get("group")
    if not name or os.geteuid() != 0:
        return None
    trees = read_hierarchies()
    group = plan_cgroup(name, trees, wants_unified)
    if group is None:
        return None
    delegate_controllers(trees, group)
    write_cgroup_record(control, group)
    try:
        group.make()
    except OSError:
        group.remove()
        raise
    group.limit(plan.get("memory_bytes"), plan.get("most_processes"))
    return group


# Finding a group again.


def write_cgroup_record(control: str, group: Cgroup) -> None:
    path = os.path.join(control, RECORD_FILE)
    with open(path + ".tmp", "w") as file:
        json.dump(group.to_json(), file)
    os.rename(path + ".tmp", path)


def read_cgroup_record(control: str, trees: Optional[List[CgroupHierarchy]] = None) -> Optional[Cgroup]:
    """The group of the record; None if there is none, or if another user wrote it: the group's processes get killed.

    Folders that have no name of ours, or are in no hierarchy of this machine, are skipped.
    """
    try:
        descriptor = os.open(os.path.join(control, RECORD_FILE), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor) as file:
            if os.fstat(descriptor).st_uid != os.geteuid():
                return None
            found = json.loads(file.read(MOST_BYTES))
        name = found["name"]
        parts = [
            CgroupFolder(int(part["version"]), list(part["uses"]), str(part["path"]))
            for part in found["parts"]
        ]
        group = Cgroup(name, parts)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    tops = [tree.top for tree in (read_hierarchies() if trees is None else trees)]
    group.folders = [part for part in parts if is_cgroup_path(part.path, name, tops)]
    return group


def is_cgroup_path(path: str, name: str, tops: List[str]) -> bool:
    is_plain = os.path.normpath(path) == path and os.path.basename(path) == name
    return is_plain and any(path.startswith(top + "/") for top in tops)


def list_cgroups(prefix: str, trees: Optional[List[CgroupHierarchy]] = None) -> Iterator[Cgroup]:
    """The groups whose names begin with `prefix`, in the folders in which a shim that we start would make its own."""
    chosen = choose_hierarchies(read_hierarchies() if trees is None else trees)
    parts: Dict[str, List[CgroupFolder]] = {}
    for use, tree in chosen.items():
        parent = parent_cgroup(tree)
        try:
            names = [name for name in os.listdir(parent) if name.startswith(prefix) and NAME.match(name)]
        except OSError:
            continue
        for name in names:
            parts.setdefault(name, []).append(CgroupFolder(tree.version, [use], os.path.join(parent, name)))
    for name in sorted(parts):
        yield Cgroup(name, parts[name])


def end_recorded_cgroup(control: str) -> int:
    """Ends and removes the group whose record is in this folder; returns how many processes it had.

    Raises OSError; BlockingIOError if a process of it does not end.
    """
    group = read_cgroup_record(control)
    if group is None:
        return 0
    found = group.pids()
    if group.end():
        raise BlockingIOError(errno.EAGAIN, "it does not end", group.name)
    group.remove()
    return len(found)


if __name__ == "__main__":
    try:
        end_recorded_cgroup(os.path.join(os.path.abspath(sys.argv[2]), "control"))
    except OSError as error:
        sys.stderr.write("%s\n" % error)
        sys.exit(1)
