"""The first Python program that ``make`` runs. It builds the virtual environment in which all other programs run.

It runs under the distribution's own /usr/bin/python3 with the standard library only. At its end it executes ``python
-m worker``, which does what needs the database or the services.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

from worker.bootstrap.machine_checks import (
    check_disk_space,
    check_folders_writable,
    check_hostname,
    check_system_python,
)
from worker.bootstrap.paths import InstallationPaths, find_installation_paths
from worker.bootstrap.system_packages import (
    ANSIBLE_PACKAGES,
    EMBEDDED_PACKAGES,
    ensure_packages,
    read_requirements,
)
from worker.bootstrap.terminal import exit_with_error, print_sentence
from worker.bootstrap.virtual_environments import (
    ensure_virtual_environment,
    is_built,
    virtual_environment_path,
)

COMMANDS = "up|down|status|reset|restore|support|console|audit|ansible|with-tools|with-test-machine"
USAGE = f"python3 -m worker.bootstrap {COMMANDS} ..."


def main(arguments: list[str]) -> NoReturn:
    if not arguments:
        raise SystemExit(USAGE)
    os.umask(0o022)
    check_system_python()
    command, rest = arguments[0], arguments[1:]
    places = find_installation_paths()
    if command == "up":
        check_hostname()
        check_folders_writable(places)
        check_disk_space(places)
        ensure_packages(EMBEDDED_PACKAGES, places.log_dir / "install.log")
        exec_worker(places, ensure_environment_named(places, "portal"), arguments)
    if command == "restore":
        # A fresh machine has no folders yet, and a restore may come before the first make up.
        check_folders_writable(places)
        ensure_packages(EMBEDDED_PACKAGES, places.log_dir / "install.log")
        exec_worker(places, ensure_environment_named(places, "portal"), arguments)
    if command in {"down", "status", "reset", "support", "console", "audit"}:
        exec_worker(places, find_running_environment(places), arguments)
    if command == "ansible":
        ensure_packages(ANSIBLE_PACKAGES, places.log_dir / "install.log")
        print_ansible_environment(ensure_environment_named(places, "ansible"), rest)
    if command in {"with-tools", "with-test-machine"} and rest:
        if command == "with-test-machine":
            of_tests = read_requirements(places.clone / "tests" / "machine" / "system_packages.json", "test")
            ensure_packages((*EMBEDDED_PACKAGES, *of_tests), places.cache_dir / "log" / "install.log")
        exec_in_environment(ensure_environment_named(places, "test"), rest, {})
    raise SystemExit(USAGE)


def ensure_environment_named(places: InstallationPaths, name: str) -> Path:
    requirements = places.clone / "requirements" / f"{name}.txt"
    return ensure_virtual_environment(
        places.cache_dir, name, requirements, places.cache_dir / "log" / f"{name}.log"
    )


def print_ansible_environment(environment: Path, words: list[str]) -> NoReturn:
    """Prints the environment and how to use it. With --path it prints only its folder of programs, for scripts."""
    programs = environment / "bin"
    if words == ["--path"]:
        print(programs)
    else:
        print_sentence("Ansible is in {programs}", programs=programs)
        print_sentence(
            "  For this terminal:  export PATH={programs}:$PATH:/usr/local/sbin:/usr/sbin:/sbin",
            programs=programs,
        )
        print_sentence("  Then:               ansible-playbook site.yml")
    raise SystemExit(0)


def find_running_environment(places: InstallationPaths) -> Path:
    """The environment that runs now, even if the clone has been updated since."""
    if places.environment_link.exists():
        return places.environment_link.resolve()
    current = virtual_environment_path(
        places.cache_dir, "portal", places.clone / "requirements" / "portal.txt"
    )
    if not is_built(current):
        exit_with_error("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
    return current


def exec_worker(places: InstallationPaths, environment: Path, arguments: list[str]) -> NoReturn:
    folders = {"GROUNDCREW_STATE_DIR": str(places.state_dir), "GROUNDCREW_CACHE_DIR": str(places.cache_dir)}
    exec_in_environment(
        environment, [str(environment / "bin" / "python"), "-m", "worker", *arguments], folders
    )


def exec_in_environment(environment: Path, command: list[str], more: dict[str, str]) -> NoReturn:
    """Executes another program, with the environment first on its PATH and the clone's packages importable."""
    here = find_installation_paths()
    path = f"{environment / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    values = {
        **os.environ,
        **more,
        "PATH": path,
        "PYTHONPATH": str(here.clone),
        # Compiled files are kept out of the clone, which may belong to another user.
        "PYTHONPYCACHEPREFIX": str(here.cache_dir / "pycache"),
    }
    # Container images often set this variable; then every process would compile every module again.
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.stdout.flush()
    os.execvpe(command[0], command, values)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        exit_with_error("Interrupted. The next run goes on from here.")
