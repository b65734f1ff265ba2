"""The repair broker alone holds the hosts' ssh keys: it starts a repair from a request that names only a run number,
a repair and inventory hosts.

``python -m worker repair-door TREE RUNS LOCKS PYTHON ASKER``, with a connection as standard input. A request consists
of a number, a name of the catalogue and hosts of the inventory. Playbook, variables, environment and times follow from
what root has installed. The run's folder belongs to this unit, and the client may read it.
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
from cluster.domain.repairs.definition import CatalogueInvalid, Repair, parse_repair
from worker.adapters import playbooks
from worker.adapters.installed_playbooks import check_installed_playbooks
from worker.adapters.playbooks import PlaybookRequest
from worker.repairs.broker_protocol import (
    MAX_QUOTED,
    PROBE_TIMEOUT,
    BrokerInventory,
    BrokerRequest,
    parse_broker_request,
    parse_run_number,
    probe_variables,
    read_json_line,
    write_json_line,
)

log = structlog.get_logger()
REQUEST_TIMEOUT_SECONDS = 10.0
"""Seconds in which a client has to send its request."""
ROOT_UID = 0
REPAIR_COMMAND = "/usr/local/sbin/groundcrew-upkeep"
"""The application's own commands on the master, as the role portal has written them."""


@dataclass(frozen=True)
class BrokerPaths:
    """The paths of the broker. `client_user` is the user of the task worker, which has no key."""

    playbooks: Path
    runs: Path
    locks: Path
    python: Path
    """The Python of the Ansible environment."""
    client_user: str
    keys: Path
    """The folder with `key`, `known_hosts` and `inventory.yml`."""
    owner: int = ROOT_UID
    """The user who must own the tree."""


def main(arguments: list[str]) -> int:
    tree, runs, locks, python, asker = arguments
    keys = Path(os.environ["CREDENTIALS_DIRECTORY"])
    place = BrokerPaths(Path(tree), Path(runs), Path(locks), Path(python), asker, keys)
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as connection:
        return serve_connection(place, connection)


def serve_connection(place: BrokerPaths, connection: socket.socket) -> int:
    """Carries out the request, or reports the error to the client and to the log."""
    connection.settimeout(REQUEST_TIMEOUT_SECONDS)
    try:
        check_peer(place, connection)
        run_verb(place, read_json_line(connection), connection)
    except GroundcrewError as error:
        log.warning("refused", code=error.code, **error.data)
        reply(connection, {"code": error.code, "data": error.data})
        return 1
    reply(connection, {"done": True})
    return 0


def reply(connection: socket.socket, words: Mapping[str, Any]) -> None:
    """Answers the client. One that has closed its connection gets no answer; the run's folder records what was done."""
    with suppress(OSError):
        write_json_line(connection, words)


def check_peer(place: BrokerPaths, connection: socket.socket) -> None:
    """Checks the client's user, in addition to the socket's mode. Raises Refused."""
    said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", said)
    if user not in (ROOT_UID, pwd.getpwnam(place.client_user).pw_uid):
        raise Refused("asker", "repair.refused_asker", user=user)


def run_verb(place: BrokerPaths, words: dict[str, Any], connection: socket.socket) -> None:
    """Raises Refused, Unavailable."""
    verb = str(words.pop("do", ""))
    if verb == "run":
        check_installed_playbooks(place.playbooks, place.owner)
        start_run(place, parse_broker_request(words, read_installed_catalogue(place)), connection)
    elif verb in VERBS:
        folder = place.runs / parse_run_number(words.get("number"))
        if not playbooks.has_playbook_started(folder):
            raise Refused("number", "repair.refused_run", number=folder.name)
        VERBS[verb](folder)
    else:
        raise Refused("request", "repair.refused_request", what=f"do {verb}"[:MAX_QUOTED])


def read_installed_catalogue(place: BrokerPaths) -> BrokerInventory:
    """Reads the catalogue from files that only root can have written."""
    with (place.keys / "inventory.yml").open() as file:
        groups = yaml.load(file, Loader=yaml.CSafeLoader)["all"]["children"]
    masters, nodes = ({*map(str, groups[name].get("hosts") or {})} for name in ("master", "nodes"))
    return BrokerInventory(read_repair_files(place.playbooks), masters, nodes)


def read_repair_files(tree: Path) -> Mapping[str, Repair]:
    found = {}
    for path in sorted(tree.glob("repairs/*.yml")):
        try:
            documents = [read_yaml(each) for each in (path, tree / "playbooks" / "repair" / path.name)]
            found[path.stem] = parse_repair(path.stem, *documents)
        except (CatalogueInvalid, OSError, yaml.YAMLError) as error:
            # A broken repair must not affect the others. If it is requested, it is unknown.
            log.warning("left out", repair=path.stem, error=str(error)[:200])
    return found


def read_yaml(path: Path) -> Any:
    with path.open() as file:
        return yaml.load(file, Loader=yaml.CSafeLoader)


def start_run(place: BrokerPaths, wanted: BrokerRequest, connection: socket.socket) -> None:
    """Starts the run. If it has begun already, nothing happens. Otherwise this process becomes the run's process,
    which answers the client.
    """
    play = playbook_request(place, wanted)
    check_client_connected(connection)
    try:
        play.folder.mkdir()
    except FileExistsError:
        return
    # The request is logged too, because the client could delete the row of the run.
    log.info("begun", run=wanted.number, playbook=str(play.playbook), hosts=list(wanted.hosts))
    alive = os.open(play.folder / playbooks.ALIVE, os.O_RDWR | os.O_CREAT, 0o640)
    fcntl.flock(alive, fcntl.LOCK_EX)
    playbooks.write_request(play)
    (play.folder / "started").touch()
    exec_playbook_process(play, alive, connection)


def check_client_connected(connection: socket.socket) -> None:
    """Raises Refused if the client has closed the connection: it has already reported that nothing ran, so nothing
    may start."""
    # Python waits before it reads from a socket with a timeout, whatever flags are given.
    speaks, _, _ = select.select([connection], [], [], 0)
    if speaks and connection.recv(1, socket.MSG_PEEK) == b"":
        raise Refused("asker", "repair.refused_gone")


def playbook_request(place: BrokerPaths, wanted: BrokerRequest) -> PlaybookRequest:
    folder = place.runs / wanted.number
    port, name = wanted.probe_port, wanted.repair.name
    if port is not None:
        playbook, variables = "look.yml", probe_variables(wanted.repair.checks, port)
    else:
        playbook = f"repair/{name}.yml"
        variables = {
            "repair_command": REPAIR_COMMAND,
            "repair_folder": str(folder),
            "repair_run": wanted.number,
        }
    return PlaybookRequest(
        folder=folder,
        playbook=place.playbooks / "playbooks" / playbook,
        hosts=wanted.hosts,
        variables=variables,
        python=place.python,
        locks=[place.locks / f"repair-{lock}.lock" for lock in wanted.locks],
        timeout=wanted.repair.timeout if port is None else PROBE_TIMEOUT,
        is_check=wanted.is_dry_run,
        config=place.playbooks / "repairs.cfg",
        keys=place.keys,
    )


def exec_playbook_process(play: PlaybookRequest, alive: int, connection: socket.socket) -> NoReturn:
    """Executes the run's process with its own Python and an environment that contains nothing of the request."""
    reply = os.dup(connection.fileno())
    for handed_on in (alive, reply):
        os.set_inheritable(handed_on, True)
    log_file = os.open(play.folder / "process.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log_file), (2, log_file)):
        os.dup2(source, number)
    handed = {"GROUNDCREW_REPAIR_REPLY": str(reply), playbooks.ALIVE_DESCRIPTOR: str(alive)}
    command = [str(play.python), "-I", "-B", str(playbooks.PROGRAM), str(play.folder)]
    os.execve(command[0], command, playbooks.playbook_environment(play) | handed)


def delete_run_folder(folder: Path) -> None:
    """Deletes the folder of an ended run. Raises Refused while the run is in progress."""
    if playbooks.read_playbook_end(folder) is None:
        raise Refused("number", "repair.refused_run", number=folder.name)
    log.info("forgotten", run=folder.name)
    shutil.rmtree(folder, ignore_errors=True)


VERBS = {"cancel": playbooks.request_cancel, "end": playbooks.kill_run_processes, "forget": delete_run_folder}
