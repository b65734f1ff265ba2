"""Restricts a program to harmless devices and its own GPUs, and reads which GPUs a container was given.

Sources of the device numbers: Linux, Documentation/admin-guide/devices.txt; NVIDIA, driver README, "Using the NVIDIA
Driver with device nodes"; nvidia-container-toolkit for the files that a CUDA program opens. Sources of the device
controllers: Documentation/ admin-guide/cgroup-v1/devices.rst, cgroup-v2.rst and include/uapi/linux/bpf.h.
"""

import ctypes
import os
import re
import stat
import struct
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

CONTROL_MINOR = 255
GPU = re.compile(r"/dev/nvidia(\d+)\Z")
CAP = re.compile(r"/dev/nvidia-caps/nvidia-cap(\d+)\Z")
SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
VERBS = re.compile(r"/dev/infiniband/(uverbs\d+|rdma_cm)\Z")
MIG_OLD = re.compile(r"MIG-(GPU-[0-9a-f-]+)/(\d+)/(\d+)\Z")
DRIVER = "/proc/driver/nvidia"
GPU_FOLDER = "/proc/driver/nvidia/gpus"
IDENTITIES = ("GPU-", "MIG-")
MODPROBE = "/usr/bin/nvidia-modprobe"
MODPROBE_SECONDS = 20

Device = NamedTuple("Device", [("path", str), ("kind", str), ("major", int), ("minor", int)])
"""A device file. `kind` is "c" or "b"."""
Rule = NamedTuple("Rule", [("kind", str), ("major", int), ("minor", Optional[int])])
"""Devices that may be read and written but not created. `minor` None stands for all minor numbers."""
Cap = NamedTuple("Cap", [("minor", int), ("gpu", int), ("instance", int), ("compute", Optional[int])])
"""A file of /dev/nvidia-caps that opens a GPU instance, or a compute instance of one."""
Owned = NamedTuple("Owned", [("gpu", int), ("instance", Optional[int]), ("compute", Optional[int])])
"""The minor number of a GPU. `instance` None stands for the whole GPU."""

STANDARD = (
    Rule("c", 1, 3),  # null
    Rule("c", 1, 5),  # zero
    Rule("c", 1, 7),  # full
    Rule("c", 1, 8),  # random
    Rule("c", 1, 9),  # urandom
    Rule("c", 5, 0),  # tty
    Rule("c", 5, 2),  # ptmx
) + tuple(Rule("c", major, None) for major in range(136, 144))  # pts


def device_rules(
    listing: Iterable[Device], owned: Iterable[Owned], caps: Iterable[Cap] = (), rdma: bool = False
) -> List[Rule]:
    """The device files that a program with these GPUs may open, on a machine with these files in /dev.

    The files of NVSwitch and NVLink stay closed: only the fabric manager uses them, and GPUs reach each other through
    their own files. nvidia-modeset is for screens. Capabilities 1 and 2 of MIG are for administrators who partition
    and monitor GPUs.
    """
    owned, caps, found = list(owned), list(caps), list(STANDARD)
    own_caps = {cap.minor for cap in caps for one in owned if is_opened(cap, one)}
    for device in sorted(listing):
        gpu, cap = GPU.match(device.path), CAP.match(device.path)
        is_gpu = gpu is not None and int(gpu.group(1)) in {one.gpu for one in owned}
        is_cap = cap is not None and int(cap.group(1)) in own_caps
        is_shared = bool(owned) and device.path in SHARED
        is_verb = rdma and VERBS.match(device.path) is not None
        if device.kind == "c" and (is_gpu or is_cap or is_shared or is_verb):
            found.append(Rule("c", device.major, device.minor))
    return found


def is_opened(cap: Cap, owned: Owned) -> bool:
    if cap.gpu != owned.gpu:
        return False
    if owned.instance is None:
        return True
    return cap.instance == owned.instance and cap.compute in (None, owned.compute)


def find_own_gpus(gpus: Iterable[str], minors: Dict[str, int]) -> Tuple[List[Owned], List[str]]:
    """The GPUs of these UUIDs, and the UUIDs whose device number is unknown."""
    owned, unknown = [], []
    for uuid in gpus:
        part = MIG_OLD.match(uuid)
        minor = minors.get(part.group(1) if part else uuid)
        if minor is None:
            unknown.append(uuid)
        else:
            owned.append(
                Owned(minor, int(part.group(2)) if part else None, int(part.group(3)) if part else None)
            )
    return owned, unknown


# What this machine has.


def list_device_files(root: str = "/dev") -> List[Device]:
    """The files of NVIDIA and InfiniBand in /dev."""
    found = []
    for folder in (root, os.path.join(root, "nvidia-caps"), os.path.join(root, "infiniband")):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if folder == root and not name.startswith("nvidia"):
                continue
            try:
                facts = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISCHR(facts.st_mode):
                shown = "/dev" + path[len(root) :]
                found.append(Device(shown, "c", os.major(facts.st_rdev), os.minor(facts.st_rdev)))
    return found


def read_minors(driver: str = DRIVER) -> Dict[str, int]:
    """The minor number of each GPU by its UUID, as the driver reports them."""
    found = {}
    folder = os.path.join(driver, "gpus")
    for name in list_folder(folder):
        words = read_pairs(os.path.join(folder, name, "information"))
        if words.get("GPU UUID", "").startswith("GPU-") and words.get("Device Minor", "").isdigit():
            found[words["GPU UUID"]] = int(words["Device Minor"])
    return found


def read_caps(driver: str = DRIVER) -> List[Cap]:
    """The files capabilities/gpu<minor>/mig/gi<number>/access and …/ci<number>/access."""
    found = []
    folder = os.path.join(driver, "capabilities")
    for gpu in list_folder(folder):
        if not re.match(r"gpu\d+\Z", gpu):
            continue
        instances = os.path.join(folder, gpu, "mig")
        for instance in list_folder(instances):
            if not re.match(r"gi\d+\Z", instance):
                continue
            place = os.path.join(instances, instance)
            computes = [name for name in list_folder(place) if re.match(r"ci\d+\Z", name)]
            for compute in [None] + computes:  # type: Optional[str]
                words = read_pairs(os.path.join(place, compute or "", "access"))
                if words.get("DeviceFileMinor", "").isdigit():
                    number = int(compute[2:]) if compute else None
                    found.append(Cap(int(words["DeviceFileMinor"]), int(gpu[3:]), int(instance[2:]), number))
    return sorted(found, key=lambda cap: cap.minor)


def list_folder(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def read_pairs(path: str) -> Dict[str, str]:
    """Reads lines of the form `Name: value`."""
    try:
        with open(path) as file:
            pairs = [line.partition(":") for line in file]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in pairs}


def modprobe_commands(
    owned: Iterable[Owned], caps: Iterable[Cap], program: str = MODPROBE
) -> List[List[str]]:
    """The commands that create the files of these GPUs: one for the driver, with its control file last, and one for
    unified memory.
    """
    owned = list(owned)
    words = [program]
    for minor in sorted({one.gpu for one in owned}) + [CONTROL_MINOR]:
        words += ["-c", str(minor)]
    found = [words, [program, "-u", "-c", "0"]]
    paths = [device_path_of_cap(cap) for cap in caps if any(is_opened(cap, one) for one in owned)]
    if paths:
        found.append([program] + [word for path in paths for word in ("-f", path)])
    return found


def device_path_of_cap(cap: Cap) -> str:
    compute = "" if cap.compute is None else "ci%d/" % cap.compute
    return "%s/capabilities/gpu%d/mig/gi%d/%saccess" % (DRIVER, cap.gpu, cap.instance, compute)


def make_nodes(owned: Iterable[Owned], caps: Iterable[Cap], program: str = MODPROBE) -> None:
    """Creates device files with NVIDIA's own tool, if the driver brought it. A program may not create its devices
    itself.
    """
    if not os.path.exists(program):
        return
    import subprocess  # The import takes as long as the rest of a shim's start, so it is done only here.

    for words in modprobe_commands(owned, caps, program):
        try:
            subprocess.call(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=MODPROBE_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            pass  # If a file is missing, the program itself reports it.


# Closing.


def find_rules(gpus: Iterable[str], minors: Dict[str, int], rdma: bool = False) -> List[Rule]:
    """The rules for a program with these GPUs on this machine. Missing device files are created first.

    `minors` are the numbers that the node's agent reported; the driver's own answer has precedence. Raises
    LookupError if a GPU's device file is unknown: otherwise the program would start without it.
    """
    owned, unknown = find_own_gpus(gpus, dict(minors, **read_minors()))
    caps = read_caps() if owned else []
    if owned:
        make_nodes(owned, caps)
    listing = list_device_files()
    if unknown and any(GPU.match(device.path) for device in listing):
        raise LookupError("which device files belong to %s is not known" % ", ".join(unknown))
    return device_rules(listing, owned, caps, rdma)


def restrict_devices(part: Any, opened: Iterable[Rule]) -> None:
    """Restricts all processes in this folder of a cgroup (shim_cgroup.CgroupFolder) to the devices in `opened`.
    Raises OSError.
    """
    if part.version == 1:
        part.write("devices.deny", "a")
        for rule in opened:
            minor = "*" if rule.minor is None else str(rule.minor)
            part.write("devices.allow", "%s %d:%s rw" % (rule.kind, rule.major, minor))
    else:
        attach(part.path, load_program(bpf_program(opened)))


CHARACTER, BLOCK = 2, 1
READ_WRITE = 2 | 4
BPF_PROG_LOAD, BPF_PROG_ATTACH = 5, 8
CGROUP_DEVICE_PROGRAM, CGROUP_DEVICE_ATTACH = 15, 6
ALLOW_MULTI = 2
SYSTEM_CALLS = {"x86_64": 321, "aarch64": 280, "ppc64le": 361, "s390x": 351, "riscv64": 280}
LOAD_WORD, MOVE, AND, SHIFT, COPY, COMPARE, LEAVE = 0x61, 0xB4, 0x54, 0x74, 0xBC, 0x55, 0x95


def can_filter() -> bool:
    """Whether this module knows the number of bpf(2) on this processor."""
    return os.uname().machine in SYSTEM_CALLS


def bpf_program(opened: Iterable[Rule]) -> bytes:
    """The program that the kernel runs: it returns 1 if a rule matches the request (type, access, major, minor), else
    0.
    """
    words = [
        bpf_instruction(LOAD_WORD, 2, 1, 0),  # access << 16 | type
        bpf_instruction(LOAD_WORD, 4, 1, 4),  # major
        bpf_instruction(LOAD_WORD, 5, 1, 8),  # minor
        bpf_instruction(COPY, 3, 2),
        bpf_instruction(AND, 3, value=0xFFFF),
        bpf_instruction(SHIFT, 2, value=16),
        bpf_instruction(COPY, 6, 2),
        bpf_instruction(AND, 6, value=~READ_WRITE & 0xFFFF),
    ]
    for rule in opened:
        checks = [(3, CHARACTER if rule.kind == "c" else BLOCK), (6, 0), (4, rule.major)]
        checks += [] if rule.minor is None else [(5, rule.minor)]
        for number, (register, value) in enumerate(checks):
            words.append(bpf_instruction(COMPARE, register, offset=len(checks) - number + 1, value=value))
        words += [bpf_instruction(MOVE, 0, value=1), bpf_instruction(LEAVE)]
    return b"".join(words + [bpf_instruction(MOVE, 0, value=0), bpf_instruction(LEAVE)])


def bpf_instruction(code: int, target: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", code, target | source << 4, offset, value)


def load_program(program: bytes) -> int:
    """Loads the program and returns its descriptor. Raises OSError."""
    code, licence = (
        ctypes.create_string_buffer(program, len(program)),
        ctypes.create_string_buffer(b"Apache-2.0"),
    )
    words = struct.pack(
        "=IIQQ", CGROUP_DEVICE_PROGRAM, len(program) // 8, ctypes.addressof(code), ctypes.addressof(licence)
    )
    return ask_kernel(BPF_PROG_LOAD, words + b"\0" * 48)


def attach(path: str, program: int) -> None:
    """Attaches the program, which stays with the group after both descriptors are closed. Raises OSError."""
    try:
        group = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            ask_kernel(
                BPF_PROG_ATTACH, struct.pack("=IIII", group, program, CGROUP_DEVICE_ATTACH, ALLOW_MULTI)
            )
        finally:
            os.close(group)
    finally:
        os.close(program)


def ask_kernel(command: int, words: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    room = ctypes.create_string_buffer(words, len(words))
    number = ctypes.c_long(SYSTEM_CALLS[os.uname().machine])
    done = libc.syscall(number, ctypes.c_int(command), room, ctypes.c_uint(len(words)))
    if done < 0:
        raise OSError(ctypes.get_errno(), "bpf: " + os.strerror(ctypes.get_errno()))
    return int(done)


def container_facts() -> Dict[str, Any]:
    """The UUIDs of a container's `gpus` and its `node`, as far as they are known. May be empty."""
    found: Dict[str, Any] = {}
    gpus = gpus_in_environment() or gpus_in_proc()
    if gpus:
        found["gpus"] = gpus
    if os.environ.get("GROUNDCREW_NODE"):
        found["node"] = os.environ["GROUNDCREW_NODE"]
    return found


def gpus_in_environment() -> List[str]:
    words = os.environ.get("NVIDIA_VISIBLE_DEVICES", "").split(",")
    return sorted(word for word in words if word.startswith(IDENTITIES))


def gpus_in_proc() -> List[str]:
    """The UUIDs in the lines `GPU UUID: GPU-…` of /proc, for devices that were given by CDI."""
    found = []
    try:
        for name in os.listdir(GPU_FOLDER):
            with open(os.path.join(GPU_FOLDER, name, "information")) as file:
                for line in file:
                    key, _, value = line.partition(":")
                    if key == "GPU UUID" and value.strip().startswith(IDENTITIES):
                        found.append(value.strip())
    except OSError:
        return []
    return sorted(found)
