"""The first Python that ``make`` runs: it makes the environment in which everything else runs.

Standard library only, under the distribution's own /usr/bin/python3. What it cannot know yet
(the database, the services) is left to ``python -m worker``, as which it ends.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

from worker.embedded.environment import ensure_environment, environment_path, is_built
from worker.embedded.machine import check_disk, check_own_name, check_python, check_writable
from worker.embedded.packages import TO_RUN, TO_RUN_ANSIBLE, TO_TEST, ensure_packages
from worker.embedded.places import Places, find_places
from worker.embedded.say import say, stop

COMMANDS = "up|down|status|reset|restore|support|console|audit|ansible|with-tools|with-test-machine"
USAGE = f"python3 -m worker.embedded.bootstrap {COMMANDS} ..."


def main(arguments: list[str]) -> NoReturn:
    if not arguments:
        raise SystemExit(USAGE)
    os.umask(0o022)
    check_python()
    command, rest = arguments[0], arguments[1:]
    places = find_places()
    if command == "up":
        check_own_name()
        check_writable(places)
        check_disk(places)
        ensure_packages(TO_RUN, places.log / "install.log")
        become_worker(places, ensure(places, "portal"), arguments)
    if command == "restore":
        # A fresh machine has nothing yet: what is to be put back comes before the first make up.
        check_writable(places)
        ensure_packages(TO_RUN, places.log / "install.log")
        become_worker(places, ensure(places, "portal"), arguments)
    if command in {"down", "status", "reset", "support", "console", "audit"}:
        become_worker(places, environment_of_the_last_up(places), arguments)
    if command == "ansible":
        ensure_packages(TO_RUN_ANSIBLE, places.log / "install.log")
        name_ansible(ensure(places, "ansible"), rest)
    if command in {"with-tools", "with-test-machine"} and rest:
        if command == "with-test-machine":
            ensure_packages((*TO_RUN, *TO_TEST), places.cache / "log" / "install.log")
        become(ensure(places, "test"), rest, {})
    raise SystemExit(USAGE)


def ensure(places: Places, name: str) -> Path:
    requirements = places.clone / "requirements" / f"{name}.txt"
    return ensure_environment(places.cache, name, requirements, places.cache / "log" / f"{name}.log")


def name_ansible(environment: Path, words: list[str]) -> NoReturn:
    """Say where it is and how to use it; with --path only its folder of programs, for scripts."""
    programs = environment / "bin"
    if words == ["--path"]:
        print(programs)
    else:
        say("Ansible is in {programs}", programs=programs)
        say(
            "  For this terminal:  export PATH={programs}:$PATH:/usr/local/sbin:/usr/sbin:/sbin",
            programs=programs,
        )
        say("  Then:               ansible-playbook site.yml")
    raise SystemExit(0)


def environment_of_the_last_up(places: Places) -> Path:
    """The environment that runs now, also where the clone has been updated since."""
    if places.environment_pointer.exists():
        return places.environment_pointer.resolve()
    current = environment_path(places.cache, "portal", places.clone / "requirements" / "portal.txt")
    if not is_built(current):
        stop("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
    return current


def become_worker(places: Places, environment: Path, arguments: list[str]) -> NoReturn:
    folders = {"GROUNDCREW_STATE_DIR": str(places.state), "GROUNDCREW_CACHE_DIR": str(places.cache)}
    become(environment, [str(environment / "bin" / "python"), "-m", "worker", *arguments], folders)


def become(environment: Path, command: list[str], more: dict[str, str]) -> NoReturn:
    """Go on as another program, the environment first on its path and the clone's packages importable."""
    here = find_places()
    path = f"{environment / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    values = {
        **os.environ,
        **more,
        "PATH": path,
        "PYTHONPATH": str(here.clone),
        # Compiled files stay out of the clone, which may belong to another user.
        "PYTHONPYCACHEPREFIX": str(here.cache / "pycache"),
    }
    # Container images often set it: then every process would compile every module again.
    values.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.stdout.flush()
    os.execvpe(command[0], command, values)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        stop("Interrupted. The next run goes on from here.")
