"""Behind the door of repairs on servers: this unit alone has the keys of the hosts, and takes nobody's word.

``python -m worker repair-door TREE RUNS LOCKS PYTHON ASKER``, with a connection as standard input. What is said there
is a number, a name of the catalogue and hosts of the inventory; playbook, variables, environment and times follow from
what root has installed. The folder of the run is this unit's own: whoever asked may read it.
"""

import fcntl
import os
import pwd
import select
import shutil
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import structlog
import yaml

from cluster.domain.errors import GroundcrewError, Refused
from cluster.domain.repair_requests import (
    LOOK_WITHIN,
    SHOWN,
    Known,
    Wanted,
    look_variables,
    parse_number,
    parse_wanted,
)
from cluster.domain.repairs import CatalogueBroken, Repair, parse_repair
from worker.adapters import playbooks
from worker.adapters.door import read_line, write_line
from worker.adapters.playbooks import Play
from worker.adapters.repair_tree import check_tree

log = structlog.get_logger()
HEARS_WITHIN = 10.0
"""Seconds that whoever connects has for saying what it wants."""
ROOT = 0
UPKEEP = "/usr/local/sbin/groundcrew-upkeep"
"""On the master: the application's own commands, as the role portal has written it."""


@dataclass(frozen=True)
class Place:
    """Where things are; `asker` is the user of the task worker, which has no key."""

    tree: Path
    runs: Path
    locks: Path
    python: Path
    """Of the Ansible environment."""
    asker: str
    keys: Path
    """The folder with `key`, `known_hosts` and `inventory.yml`."""
    owner: int = ROOT
    """Whose the tree has to be."""


def main(arguments: list[str]) -> int:
    tree, runs, locks, python, asker = arguments
    keys = Path(os.environ["CREDENTIALS_DIRECTORY"])
    place = Place(Path(tree), Path(runs), Path(locks), Path(python), asker, keys)
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as connection:
        return answer(place, connection)


def answer(place: Place, connection: socket.socket) -> int:
    """Does what is asked for, or says to both sides why not."""
    connection.settimeout(HEARS_WITHIN)
    try:
        check_asker(place, connection)
        do(place, read_line(connection), connection)
    except GroundcrewError as error:
        log.warning("refused", code=error.code, **error.data)
        say(connection, {"code": error.code, "data": error.data})
        return 1
    say(connection, {"done": True})
    return 0


def say(connection: socket.socket, words: Mapping[str, Any]) -> None:
    """Whoever has gone hears nothing, and misses nothing: what was done is in the run's folder."""
    with suppress(OSError):
        write_line(connection, words)


def check_asker(place: Place, connection: socket.socket) -> None:
    """The socket's mode says the same. Raises Refused."""
    said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", said)
    if user not in (ROOT, pwd.getpwnam(place.asker).pw_uid):
        raise Refused("asker", "repair.refused_asker", user=user)


def do(place: Place, words: dict[str, Any], connection: socket.socket) -> None:
    """Raises Refused, Unavailable."""
    verb = str(words.pop("do", ""))
    if verb == "run":
        check_tree(place.tree, place.owner)
        begin(place, parse_wanted(words, read_known(place)), connection)
    elif verb in VERBS:
        folder = place.runs / parse_number(words.get("number"))
        if not playbooks.has_begun(folder):
            raise Refused("number", "repair.refused_run", number=folder.name)
        VERBS[verb](folder)
    else:
        raise Refused("request", "repair.refused_request", what=f"do {verb}"[:SHOWN])


def read_known(place: Place) -> Known:
    """From files of root alone."""
    with (place.keys / "inventory.yml").open() as file:
        groups = yaml.load(file, Loader=yaml.CSafeLoader)["all"]["children"]
    masters, nodes = ({*map(str, groups[name].get("hosts") or {})} for name in ("master", "nodes"))
    return Known(read_repairs(place.tree), masters, nodes)


def read_repairs(tree: Path) -> Mapping[str, Repair]:
    found = {}
    for path in sorted(tree.glob("repairs/*.yml")):
        try:
            documents = [read_yaml(each) for each in (path, tree / "playbooks" / "repair" / path.name)]
            found[path.stem] = parse_repair(path.stem, *documents)
        except (CatalogueBroken, OSError, yaml.YAMLError) as error:
            # It is none of the others'; asked for, it is not known.
            log.warning("left out", repair=path.stem, error=str(error)[:200])
    return found


def read_yaml(path: Path) -> Any:
    with path.open() as file:
        return yaml.load(file, Loader=yaml.CSafeLoader)


def begin(place: Place, wanted: Wanted, connection: socket.socket) -> None:
    """Harmless where it has begun already. Otherwise this process becomes the run's, and says itself that it is."""
    play = play_of(place, wanted)
    check_still_there(connection)
    try:
        play.folder.mkdir()
    except FileExistsError:
        return
    # Here and not only in the database: whoever asks could also have the run forgotten.
    log.info("begun", run=wanted.number, playbook=str(play.playbook), hosts=list(wanted.hosts))
    alive = os.open(play.folder / playbooks.ALIVE, os.O_RDWR | os.O_CREAT, 0o640)
    fcntl.flock(alive, fcntl.LOCK_EX)
    playbooks.write_request(play)
    (play.folder / "started").touch()
    become(play, alive, connection)


def check_still_there(connection: socket.socket) -> None:
    """Who has given up waiting tells people that nothing ran, and watches nothing. Raises Refused."""
    # Python itself waits before it reads from a socket that has a time limit, whatever flags are given.
    speaks, _, _ = select.select([connection], [], [], 0)
    if speaks and connection.recv(1, socket.MSG_PEEK) == b"":
        raise Refused("asker", "repair.refused_gone")


def play_of(place: Place, wanted: Wanted) -> Play:
    folder = place.runs / wanted.number
    port, name = wanted.looks_at_port, wanted.repair.name
    if port is not None:
        playbook, variables = "look.yml", look_variables(wanted.repair.checks, port)
    else:
        playbook = f"repair/{name}.yml"
        variables = {"repair_command": UPKEEP, "repair_folder": str(folder), "repair_run": wanted.number}
    return Play(
        folder=folder,
        playbook=place.tree / "playbooks" / playbook,
        hosts=wanted.hosts,
        variables=variables,
        python=place.python,
        locks=[place.locks / f"repair-{lock}.lock" for lock in wanted.locks],
        timeout=wanted.repair.timeout if port is None else LOOK_WITHIN,
        is_check=wanted.is_look_ahead,
        config=place.tree / "repairs.cfg",
        keys=place.keys,
    )


def become(play: Play, alive: int, connection: socket.socket) -> NoReturn:
    """Its own Python, and an environment of which nothing was said at the door."""
    reply = os.dup(connection.fileno())
    for handed_on in (alive, reply):
        os.set_inheritable(handed_on, True)
    log_file = os.open(play.folder / "process.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log_file), (2, log_file)):
        os.dup2(source, number)
    handed = {"GROUNDCREW_REPAIR_REPLY": str(reply), playbooks.HANDED_ON: str(alive)}
    command = [str(play.python), "-I", "-B", str(playbooks.PROGRAM), str(play.folder)]
    os.execve(command[0], command, playbooks.environment_of(play) | handed)


def forget(folder: Path) -> None:
    """What is under way stays. Raises Refused."""
    if playbooks.read_end(folder) is None:
        raise Refused("number", "repair.refused_run", number=folder.name)
    log.info("forgotten", run=folder.name)
    shutil.rmtree(folder, ignore_errors=True)


VERBS = {"cancel": playbooks.cancel, "end": playbooks.end_strays, "forget": forget}
