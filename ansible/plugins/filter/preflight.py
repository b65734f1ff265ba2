"""Preflight's verdict: a pure function of the facts document that `preflight_facts` collects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

GIB = 1024**3
NVIDIA, MELLANOX = "0x10de", "0x15b3"
GPU_CLASSES = ("0x0300", "0x0302")

Document = Mapping[str, Any]
Finding = dict[str, Any]


def fatal(code: str, sentence: str, remedy: str) -> Finding:
    return {"code": code, "level": "stop", "sentence": sentence, "remedy": remedy}


def warning(code: str, sentence: str, remedy: str) -> Finding:
    return {"code": code, "level": "warn", "sentence": sentence, "remedy": remedy}


def preflight_verdict(document: Document, options: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with one host, the fatal findings first; empty: nothing.

    `options`: systems, python (at_least, below), is_master, portal_port, our_programs, address, master_address,
    master_time, master_time_zone, least_memory_bytes, least_disk_bytes, good_disk_bytes, most_clock_skew (seconds),
    hosts (how many there are), jobs_on (how many of them run jobs), storage_kind, has_kubernetes, master_storage (by
    what the master knows what is mounted there), masters (how many), others (identities of the other hosts by name),
    kernel_flavour, foreign_driver and foreign_rdma (packages), flavour_problem, adopts_driver, rdma_addresses,
    ports_between (what hosts need of each other), named_interfaces (by purpose), containerd (the
    version that the distribution or the bundle offers).
    """
    checks = (
        about_system,
        about_rights,
        about_inventory,
        about_room,
        about_used_rack,
        about_network,
        about_time,
        about_storage,
        about_driver,
        about_hardware,
        about_containers,
        about_rdma,
    )
    found = [finding for check in checks for finding in check(document, options)]
    return sorted(found, key=lambda finding: finding["level"] != "stop")


def about_system(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    system, known = document["system"], options["systems"]
    names = " and ".join(each["name"] for each in known)
    if not any(system["id"] == each["id"] and system["version"] == each["version"] for each in known):
        yield fatal(
            "system",
            f"This is {system['name'] or 'an unknown system'} with Python {document['python']}; "
            f"Groundcrew installs on {names}, whose own Python it uses.",
            f"Install one of {names} on this machine, then run the same command again.",
        )
    elif not python_fits(document["python"], options["python"]):
        least, below = options["python"]["at_least"], options["python"]["below"]
        yield fatal(
            "python",
            f"/usr/bin/python3 is {document['python']}; at least {least} and less than {below} is needed.",
            "Put the distribution's own python3 package back: apt-get install --reinstall python3-minimal",
        )
    if document["architecture"] != "x86_64":
        yield fatal(
            "architecture",
            f"The processor is {document['architecture']}; the drivers are installed for x86_64 only.",
            "Take this host out of the inventory.",
        )
    if not document["is_systemd"]:
        yield fatal(
            "systemd",
            "systemd is not process 1 of this host, so that no service could be started at boot.",
            "Use a machine or a virtual machine, not a plain container.",
        )


def python_fits(version: str, wanted: Mapping[str, str]) -> bool:
    found, least, below = (parts(each) for each in (version, wanted["at_least"], wanted["below"]))
    return least <= found < below


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def about_rights(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    if not document["is_root"]:
        yield fatal(
            "sudo",
            "The user that Ansible signs in as cannot become root without a password.",
            "Give it sudo without a password, or run the command with --ask-become-pass.",
        )


def about_room(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    memory, disk = document["memory_bytes"], document["disk"]
    if memory < options["least_memory_bytes"]:
        yield fatal(
            "memory",
            f"The memory is {in_gib(memory)}; at least {in_gib(options['least_memory_bytes'])} is needed.",
            "Add memory, or take this host out of the inventory.",
        )
    if disk["free_bytes"] < options["least_disk_bytes"]:
        yield fatal(
            "disk_full",
            f"{disk['path']} has {in_gib(disk['free_bytes'])} free; the installation alone needs "
            f"{in_gib(options['least_disk_bytes'])}.",
            f"Make room on {disk['path']}, or mount a larger disk there.",
        )
    elif options["is_master"] and disk["bytes"] < options["good_disk_bytes"]:
        yield warning(
            "disk_small",
            f"The disk of {disk['path']} holds {in_gib(disk['bytes'])}; datasets and checkpoints of a team "
            f"fill {in_gib(options['good_disk_bytes'])} soon.",
            f"Mount a larger disk on {disk['path']} before people begin.",
        )
    if document["swap_bytes"]:
        say = fatal if options["has_kubernetes"] else warning
        yield say(
            "swap",
            f"{in_gib(document['swap_bytes'])} of swap is on: a training that swaps looks alive and stands still"
            + (", and the kubelet does not start." if options["has_kubernetes"] else "."),
            "Turn it off: swapoff --all, and take its line out of /etc/fstab.",
        )
    if document["cpus"] < LEAST_CPUS:
        yield fatal(
            "cpus",
            f"This host has {document['cpus']} CPU; at least {LEAST_CPUS} are needed.",
            "Add CPUs to the machine, or take this host out of the inventory.",
        )
    if "avx" not in document["cpu_flags"]:
        yield warning(
            "cpu_old",
            "The processor has no AVX: TensorFlow and PyTorch end with 'Illegal instruction' on it.",
            "Where it is a virtual machine let it show the processor's own kind (cpu: host).",
        )


def about_inventory(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    if options["masters"] > 1:
        yield fatal(
            "masters",
            f"The inventory has {options['masters']} hosts in the group master; there is one database, on one of them.",
            "Leave one host in the group master, and write the others into the group worker.",
        )
    own = document["identity"]
    for key, what, remedy in IDENTITIES:
        twins = sorted(
            name for name, other in options["others"].items() if own[key] and other[key] == own[key]
        )
        if twins:
            yield fatal(
                f"same_{key}",
                f"{what} {own[key]} is also that of {', '.join(twins)}: the master could not tell the two apart.",
                remedy,
            )


IDENTITIES = (
    ("hostname", "The host name", "Give each host a name of its own: hostnamectl set-hostname NAME"),
    (
        "machine_id",
        "/etc/machine-id",
        "Machines that were copied share it. Make a new one on the copy: rm /etc/machine-id "
        "/var/lib/dbus/machine-id; systemd-machine-id-setup; then start it anew.",
    ),
    (
        "product_uuid",
        "The firmware's number",
        "A virtual machine that was copied needs a UUID of its own; take the copy's out of its definition.",
    ),
)
LEAST_CPUS = 2
DOCKERS = ("docker-ce", "containerd.io")


def about_used_rack(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    dockers = sorted(set(DOCKERS) & set(document["packages"]))
    if dockers:
        yield fatal(
            "docker",
            f"{' and '.join(dockers)} of Docker's own repository is here; the distribution's containerd would "
            "replace it and end its containers.",
            f"When its containers may end: apt-get purge {' '.join(dockers)}; or take this host out of the inventory.",
        )
    if document["firewalls"] and options["hosts"] > 1:
        yield warning(
            "firewall",
            f"{', '.join(document['firewalls'])} is on; hosts need of each other: "
            f"{', '.join(options['ports_between'])}.",
            "Let the other hosts of the inventory in, for example: ufw allow from ADDRESS; "
            "or turn it off: ufw disable, systemctl disable --now firewalld",
        )
    unknown = sorted(
        f"{purpose}: {name}"
        for purpose, names in options["named_interfaces"].items()
        for name in names
        if name not in document["links"]
    )
    if unknown:
        yield fatal(
            "interface",
            f"groundcrew_interfaces names interfaces that are not here ({', '.join(unknown)}); there are "
            f"{', '.join(document['links'])}.",
            "Correct groundcrew_interfaces of this host in the inventory; ip -brief link shows their names.",
        )
    down = sorted(each["name"] for each in document["interfaces"] if not each.get("has_link", True))
    if down:
        yield warning(
            "link_down",
            f"{', '.join(down)} has an address and no link.",
            "Look at cable and switch; ip -brief link shows it UP once it has one.",
        )


def about_network(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    unknown = sorted(name for name, known in document["resolves"].items() if not known)
    # Whoever installs from a bundle asks no nameserver.
    if unknown and not options.get("has_bundle"):
        yield fatal(
            "dns",
            f"This host cannot look up {', '.join(unknown)}, from where its packages come.",
            "Name a working nameserver in /etc/resolv.conf; try it with: getent hosts " + unknown[0],
        )
    for port, program in sorted(document["listeners"].items()):
        if program not in options["our_programs"]:
            is_portals = port == str(options["portal_port"])
            yield fatal(
                "port",
                f"Port {port} is taken by {program or 'another program'}.",
                "Stop that program"
                + (", or choose another port: -e groundcrew_portal_port=8443" if is_portals else "")
                + f" (who it is: ss -ltnp 'sport = :{port}')",
            )
    for address, seen in sorted(document["peers"].items()):
        if not seen["answers"]:
            yield fatal(
                "unreachable",
                f"This host does not reach {address} on port 22: {seen.get('problem', 'no answer')}.",
                "Open the firewall between the nodes, or correct base_address of that host in the inventory.",
            )
        elif seen["from"] not in own_addresses(document) or seen["from"] != options["address"]:
            yield from about_translation(address, seen["from"], document, options)
    speeds = [each["speed_mbps"] for each in document["interfaces"] if each["speed_mbps"]]
    if options["hosts"] >= 3 and speeds and max(speeds) < 10_000:
        yield warning(
            "slow_network",
            f"The fastest interface runs at {max(speeds)} Mbit/s; training across {options['hosts']} hosts "
            "wants 10 Gbit/s or more.",
            "Connect the hosts by 10 GbE or InfiniBand.",
        )


def about_translation(
    address: str, spoke_from: str, document: Document, options: Mapping[str, Any]
) -> Iterator[Finding]:
    """The address that others know this host by must be one that it has itself."""
    if options["address"] in own_addresses(document):
        return
    yield fatal(
        "translation",
        f"Others know this host as {options['address']}, but it speaks to {address} from {spoke_from} and has no "
        f"such address itself: an address is translated (NAT) between the nodes.",
        "Put master and workers into one routed network, or correct base_address in the inventory.",
    )


def own_addresses(document: Document) -> set[str]:
    return {each["address"] for each in document["interfaces"]}


def about_time(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    skew = abs(document["time"] - options["master_time"])
    if skew > options["most_clock_skew"]:
        yield fatal(
            "clock",
            f"The clock is {skew:.0f} s apart from the master's.",
            "Set the clock and keep it: timedatectl set-ntp true",
        )
    if document["time_zone"] != options["master_time_zone"]:
        yield warning(
            "time_zone",
            f"The time zone is {document['time_zone']}, the master's is {options['master_time_zone']}.",
            f"So that logs read alike: timedatectl set-timezone {options['master_time_zone']}",
        )


def about_storage(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    """What jobs read and write is one folder, wherever they run; an export is mounted by the role itself."""
    storage = document["storage"]
    if options["jobs_on"] > 1 and not options["has_kubernetes"]:
        yield fatal(
            "no_kubernetes",
            "groundcrew_executor is kubernetes, and groundcrew_kubernetes is false: nothing could run a job.",
            "Write groundcrew_kubernetes: true into the inventory, or take groundcrew_executor out of it.",
        )
    if options["storage_kind"] == "local" and options["jobs_on"] > 1:
        yield fatal(
            "storage_local",
            f"Jobs are to run on {options['jobs_on']} hosts, and storage_kind is local: the disk of the master alone.",
            "Take storage_kind out of the inventory: the master then serves its folder by NFS; or mount one shared "
            f"folder at {storage['path']} on every host, and write storage_kind: mounted.",
        )
    elif options["storage_kind"] == "mounted" and not storage["identity"]:
        yield fatal(
            "storage_not_mounted",
            f"Nothing is mounted at {storage['path']}, and storage_kind is mounted.",
            f"Mount the shared folder there (/etc/fstab keeps it so), then look at it: findmnt {storage['path']}",
        )
    elif options["storage_kind"] == "mounted" and storage["identity"] != options["master_storage"]:
        yield fatal(
            "storage_differs",
            f"What is mounted at {storage['path']} ({storage['kind']}) is not what the master has there.",
            f"Mount the same export on every host; compare with: findmnt {storage['path']}",
        )


def about_driver(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    """What stands in the way of the driver, before anything of it is installed."""
    if not any(map(is_gpu, document["pci"])):
        return
    if options["adopts_driver"] and document["nvidia_loaded"]:
        return
    if options["flavour_problem"]:
        yield fatal("gpus", options["flavour_problem"], "Correct it, or take this host out of the inventory.")
    if options["old_generations"]:
        yield fatal(
            "gpus_old",
            f"GPUs of {', '.join(options['old_generations'])} are here; the default image computes on compute "
            "capability 7.5 (Turing) and newer only.",
            "Take this host out of the inventory; or bring an image of your own for it, and write "
            "preflight_accepts_old_gpus: true for this host.",
        )
    if document["has_run_installer"]:
        yield fatal(
            "driver_run",
            "A driver of NVIDIA's .run file is here; apt's packages would overwrite half of it.",
            "Take it off: nvidia-uninstall; or keep it, if it works: nvidia_driver_adopt: true for this host.",
        )
    foreign = options["foreign_driver"]
    if foreign:
        yield fatal(
            "driver_foreign",
            f"{', '.join(foreign)} is here, of another driver branch or another packaging of it; two side by side end "
            "in 'Driver/library version mismatch'.",
            f"When no job needs it: apt-get purge {' '.join(foreign)}; or keep what works: nvidia_driver_adopt: true "
            "for this host.",
        )
    if not options["kernel_flavour"]:
        yield fatal(
            "driver_kernel",
            f"No packages of headers or modules carry the name of the running kernel {document['kernel']}.",
            "Start the distribution's own kernel; or install a driver yourself and write nvidia_driver_adopt: true.",
        )
    if document["secure_boot"] and document["system"]["id"] == "debian" and not document["is_key_enrolled"]:
        yield fatal(
            "secure_boot",
            "Secure Boot is on, and DKMS builds a module that the firmware does not trust: it would not load.",
            "Turn Secure Boot off in the firmware; or let the firmware know a key of your own before "
            "(docs/install/hardware.md), and have DKMS sign with it.",
        )


def about_hardware(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    gpus = [each for each in document["pci"] if is_gpu(each)]
    without = [each for each in gpus if each["driver"] != "nvidia"]
    if without:
        yield warning(
            "driver",
            f"{len(without)} of {len(gpus)} GPUs on the PCI bus have no NVIDIA driver yet.",
            "Nothing to do: the role nvidia_driver installs it.",
        )
    if gpus and options["hosts"] > 1 and options["jobs_on"] == 1 and not options["is_master"]:
        yield warning(
            "gpus_idle",
            f"Jobs run on the master alone (groundcrew_executor: process); the {len(gpus)} GPUs of this host "
            "would be shown and never given out.",
            "For jobs on every host take groundcrew_kubernetes and groundcrew_executor out of the inventory.",
        )


def about_containers(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    """A containerd without CDI gives no GPU to a pod."""
    # A bundle's is newer than the one that is here, and takes its place.
    here = None if options.get("has_bundle") else document["packages"].get("containerd")
    version = str(here or options["containerd"])
    if not options["has_kubernetes"] or not any(map(is_gpu, document["pci"])) or knows_cdi(version):
        return
    yield fatal(
        "containerd_old",
        f"GPUs are here, and {'' if here else 'the distribution offers '}containerd {version}; pods get GPUs by CDI, "
        "which containerd has from 1.7 on.",
        "Install Ubuntu 24.04 on this host; or install a package containerd of 1.7 or newer from an archive of yours "
        "before, and run the same command again; or leave Kubernetes off (groundcrew_kubernetes: false): the master's "
        "GPUs then work for processes.",
    )


def knows_cdi(version: str) -> bool:
    """By a package's version, as 1.6.20~ds1-1+deb12u1 or 1:1.7.28."""
    numbers = version.rpartition(":")[2].split(".")
    return (int(numbers[0]), int("".join(filter(str.isdigit, numbers[1])) or 0)) >= (1, 7)


def about_rdma(document: Document, options: Mapping[str, Any]) -> Iterator[Finding]:
    """InfiniBand and RoCE, by the one name that the role mofed reads."""
    taken = sorted({options["master_address"], options["address"]} & set(options["rdma_addresses"]))
    if taken:
        yield fatal(
            "rdma_address",
            f"mofed_address is {', '.join(taken)}, an address of the ordinary network.",
            "Give the RDMA interface an address of its own network and write that one into the inventory.",
        )
    if options["foreign_rdma"]:
        yield fatal(
            "rdma_foreign",
            f"{', '.join(options['foreign_rdma'])} is here, of another RDMA stack than mofed_stack names; two replace "
            "each other's kernel modules.",
            f"Take it off: apt-get purge {' '.join(options['foreign_rdma'])}; or set mofed_stack to it.",
        )
    cards = [each for each in document["pci"] if each["vendor"] == MELLANOX]
    if (
        cards
        and not options["rdma_addresses"]
        and not any(each["is_infiniband"] for each in document["interfaces"])
    ):
        yield warning(
            "rdma_off",
            f"{len(cards)} InfiniBand or ConnectX functions are on the PCI bus, and mofed_address gives them "
            "no address.",
            "Name mofed_address for this host in the inventory, or leave it: trainings use the ordinary network.",
        )
    for port in document["rdma_ports"]:
        if port["link_layer"] == "InfiniBand" and port["state"] != "ACTIVE" and options["rdma_addresses"]:
            yield warning(
                "rdma_port",
                f"InfiniBand port {port['name']} is {port['state'] or 'unknown'}, not ACTIVE.",
                "INIT: no subnet manager answers, start opensm on one host or the switch's own. "
                "DOWN: look at the cable.",
            )


def is_gpu(function: Mapping[str, Any]) -> bool:
    return function["vendor"] == NVIDIA and function["class"].startswith(GPU_CLASSES)


def in_gib(size: int) -> str:
    return f"{size / GIB:.0f} GiB" if size >= 99.95 * GIB else f"{size / GIB:.1f} GiB"


def preflight_report(findings: list[Finding], host: str) -> str:
    """One line per finding and one per remedy, as the terminal shows it."""
    if not findings:
        return f"{host}: nothing stands in the way."
    lines = []
    for finding in findings:
        mark = "STOP" if finding["level"] == "stop" else "note"
        lines += [
            f"{host}: {mark} [{finding['code']}] {finding['sentence']}",
            f"    remedy: {finding['remedy']}",
        ]
    return "\n".join(lines)


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"preflight_verdict": preflight_verdict, "preflight_report": preflight_report}
