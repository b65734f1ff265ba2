"""Find which system packages are missing and install them by apt.

It uses the standard library only. Root runs it as a program (``python3 -m worker.bootstrap.system_packages install
REQUIREMENTS``), so that a user with sudo needs root for this step only. REQUIREMENTS is a JSON list.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worker.bootstrap.terminal import exit_with_error, print_error, print_sentence

POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_BEFORE = Path("/usr/sbin/policy-rc.d.before-groundcrew")
LOCK = Path("/run/lock/groundcrew-apt.lock")
POLICY_MARK = "# Written by Groundcrew while it installs packages."
PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
SETTLED_STATES = frozenset({"installed", "not-installed", "config-files"})
NETWORK_ERROR_SIGNS = (
    "resolving",
    "resolve",
    "unable to connect",
    "could not connect",
    "network is unreachable",
    "timed out",
)


@dataclass(frozen=True)
class SystemRequirement:
    """Something the machine must have: the packages that provide it, the best first, and how it is detected."""

    packages: tuple[str, ...]
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    has_service: bool = False

    def is_met(self) -> bool:
        if any(shutil.which(program, path=PATH) for program in self.programs):
            return True
        return any(any(Path("/").glob(pattern)) for pattern in self.files)


PYTHON_HEADER = "usr/include/python{}.{}/Python.h".format(*sys.version_info)
PYTHON_VENV = "usr/lib/python{}.{}/ensurepip/__init__.py".format(*sys.version_info)

EMBEDDED_PACKAGES = (
    SystemRequirement(
        ("redis-server", "valkey-server"), programs=("redis-server", "valkey-server"), has_service=True
    ),
    SystemRequirement(("nginx",), programs=("nginx",), has_service=True),
    SystemRequirement(("openssl",), programs=("openssl",)),
    SystemRequirement(("git",), programs=("git",)),
    SystemRequirement(("openssh-client",), programs=("ssh",)),
    SystemRequirement(("zstd",), programs=("zstd",)),
    SystemRequirement(("g++",), programs=("g++",)),
    SystemRequirement(("make",), programs=("make",)),
    SystemRequirement(("cmake",), programs=("cmake",)),
    SystemRequirement(("python3-dev",), files=(PYTHON_HEADER,)),
    SystemRequirement(("python3-venv",), files=(PYTHON_VENV,)),
)
IMAGE_COPY_PACKAGES = (SystemRequirement(("skopeo",), programs=("skopeo",)),)
ANSIBLE_PACKAGES = (
    SystemRequirement(("python3-venv",), files=(PYTHON_VENV,)),
    SystemRequirement(("openssh-client",), programs=("ssh",)),
    SystemRequirement(("zstd",), programs=("zstd",)),
)
IMAGE_BUILD_PACKAGES = (
    SystemRequirement(("mmdebstrap",), programs=("mmdebstrap",)),
    SystemRequirement(("iproute2",), programs=("ip",)),
)


def read_requirements(file: Path, purpose: str) -> tuple[SystemRequirement, ...]:
    """The requirements for one purpose in a JSON file: {purpose: [{packages, programs, files, has_service}]}."""
    return parse_requirements(json.loads(file.read_text())[purpose])


def parse_requirements(values: Sequence[Mapping[str, Any]]) -> tuple[SystemRequirement, ...]:
    """Raises KeyError if a field is missing."""
    return tuple(
        SystemRequirement(
            tuple(each["packages"]),
            tuple(each.get("programs", ())),
            tuple(each.get("files", ())),
            bool(each.get("has_service")),
        )
        for each in values
    )


def list_unmet(needs: Sequence[SystemRequirement]) -> list[SystemRequirement]:
    """The requirements that this machine does not meet yet.

    A package whose installation was killed has its files already but cannot be used.
    """
    halves = list_half_installed([package for need in needs for package in need.packages])
    return [need for need in needs if not need.is_met() or halves.intersection(need.packages)]


def list_half_installed(names: Sequence[str]) -> set[str]:
    """The packages that dpkg has begun to install and not finished."""
    if not shutil.which("dpkg-query", path=PATH):
        return set()
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *names]
    shown = subprocess.run(query, env=apt_variables(), capture_output=True, text=True, check=False).stdout
    states = dict(line.split() for line in shown.splitlines())
    return {name for name, state in states.items() if state not in SETTLED_STATES}


def is_dpkg_interrupted() -> bool:
    """Whether dpkg was killed during its work. Only root can repair that, so only root checks it."""
    if os.geteuid() != 0 or not shutil.which("dpkg", path=PATH):
        return False
    audit = subprocess.run(
        ["dpkg", "--audit"], env=apt_variables(), capture_output=True, text=True, check=False
    )
    return bool(audit.stdout.strip())


def ensure_packages(needs: Sequence[SystemRequirement], log: Path) -> None:
    """Installs what is missing after it has printed it. Without the right to install it
    prints the command to type.
    """
    wanted = list_unmet(needs)
    if not wanted:
        if is_dpkg_interrupted():
            print_sentence("Finishing an installation of system packages that was interrupted.")
            with forbid_service_starts():
                configure_unpacked_packages()
        return
    names = " ".join(need.packages[0] for need in wanted)
    if not shutil.which("apt-get", path=PATH):
        exit_with_error(
            "This machine has no apt-get. Install by hand what these Debian packages bring, "
            "then run the command again: {names}",
            names=names,
        )
    print_sentence("Installing {count} system packages by apt: {names}", count=len(wanted), names=names)
    requirements = json.dumps([asdict(need) for need in wanted])
    command = [sys.executable, "-B", "-m", "worker.bootstrap.system_packages", "install", requirements]
    if os.geteuid() != 0:
        if not shutil.which("sudo"):
            exit_with_error(
                "You are not root and there is no sudo. Ask an administrator to run this line, "
                "then run the command again:\n  apt-get install -y --no-install-recommends {names}",
                names=names,
            )
        print_sentence("apt needs root: sudo may ask for your password.")
        command = ["sudo", *([] if sys.stdin.isatty() else ["-n"]), *command]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        done = subprocess.run(command, stdout=output, stderr=None, check=False)
    if done.returncode != 0:
        exit_with_error(
            "The packages are not installed; apt's own words are in {log}. The line to try by hand:\n"
            "  apt-get install -y --no-install-recommends {names}",
            log=log,
            names=names,
        )
    still = " ".join(need.packages[0] for need in list_unmet(wanted))
    if still:
        exit_with_error(
            "apt says that it is done, yet these are not there: {names}. See {log}", names=still, log=log
        )


@contextmanager
def forbid_service_starts() -> Iterator[int]:
    """Forbids services to start while packages are installed, and yields a lock that the installer inherits.

    The policy file checks this lock, so one that a killed run has left forbids nothing. The next run removes it.
    """
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    restore_service_policy()
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if POLICY.exists() or POLICY.is_symlink():
            POLICY.rename(POLICY_BEFORE)
        POLICY.write_text(
            f"#!/bin/sh\n{POLICY_MARK}\n"
            f"flock -n {LOCK} true || exit 101\n"
            f'[ ! -x {POLICY_BEFORE} ] || exec {POLICY_BEFORE} "$@"\n'
        )
        POLICY.chmod(0o755)
        try:
            yield lock.fileno()
        finally:
            restore_service_policy()


def restore_service_policy() -> None:
    """Restores the machine's own policy file, also after a run that was killed."""
    if POLICY.is_file() and POLICY_MARK in POLICY.read_text(errors="replace"):
        POLICY.unlink()
    if POLICY_BEFORE.exists() and not POLICY.exists():
        POLICY_BEFORE.rename(POLICY)


def apt_variables() -> dict[str, str]:
    """An environment in which no package asks a question, and messages are in the language that we parse."""
    return {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "PATH": PATH}


def run_apt(arguments: list[str], lock: int) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2", *arguments],
        env=apt_variables(),
        pass_fds=[lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    return done


def configure_unpacked_packages() -> None:
    """Configures packages that a killed run has unpacked; apt refuses to continue before."""
    configure = ["dpkg", "--configure", "-a"]
    subprocess.run(configure, env=apt_variables(), stdin=subprocess.DEVNULL, capture_output=True, check=False)


def has_candidate(name: str) -> bool:
    shown = subprocess.run(["apt-cache", "show", "--no-all-versions", name], capture_output=True, check=False)
    return shown.returncode == 0


def disable_service(service: str) -> None:
    """Stops and disables the service, because at the next boot it would run beside the one that Groundcrew starts.

    Both commands exist on every Debian, even without systemd.
    """
    for command in (
        ["deb-systemd-helper", "disable", f"{service}.service"],
        ["update-rc.d", service, "disable"],
    ):
        subprocess.run(command, env=apt_variables(), capture_output=True, check=False)


def install_packages(needs: Sequence[SystemRequirement]) -> int:
    """Installs the packages as root. If the first package of a requirement is unknown, it takes the next one.
    Services stay off.
    """
    with forbid_service_starts() as lock:
        configure_unpacked_packages()
        updated = run_apt(["update"], lock)
        chosen = [next(filter(has_candidate, need.packages), need.packages[0]) for need in needs]
        done = run_apt(["install", "--no-install-recommends", *chosen], lock)
        if done.returncode == 0:
            for need, package in zip(needs, chosen, strict=True):
                if need.has_service:
                    disable_service(package)
    if done.returncode == 0:
        return 0
    words = (updated.stdout + done.stdout).lower()
    if any(sign in words for sign in NETWORK_ERROR_SIGNS):
        print_error(
            "The package server did not answer. Connect this machine to its network "
            "(or to the package mirror of /etc/apt/sources.list), then run the command again."
        )
    elif "no space left" in words or "not enough free space" in words:
        print_error("The disk is full. Make room on /var and /usr, then run the command again.")
    return done.returncode


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "install":
        raise SystemExit("python3 -m worker.bootstrap.system_packages install REQUIREMENTS")
    raise SystemExit(install_packages(parse_requirements(json.loads(sys.argv[2]))))
