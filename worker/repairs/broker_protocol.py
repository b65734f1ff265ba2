"""The protocol of the repair broker: what its client sends through the socket, and how the broker parses it.

The broker accepts only repairs, hosts and locks that it knows.
"""

import json
import re
import socket
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.repairs.definition import (
    HOST_CHECKS,
    KUBERNETES_CHECKS,
    OF_SERVERS,
    CheckKind,
    Repair,
    RepairCheck,
    RepairTargets,
    check_dry_run,
)

PROBE_TIMEOUT = 120
"""Seconds."""
NUMBER = re.compile(r"[1-9][0-9]{0,18}")
LOCK = re.compile(r"master|node-[1-9][0-9]{0,18}")
SITE_CHECKS = {CheckKind.SITE_ANSWERS, CheckKind.CERTIFICATE_LASTS}
MAX_QUOTED = 60
"""Characters of a request that an error message repeats."""
ANSWER_SECONDS = 30.0
"""Seconds."""
LONGEST_LINE = 65_536
"""Bytes of one line."""


@dataclass(frozen=True)
class BrokerInventory:
    """The installed repairs by name, and the hosts of the inventory."""

    repairs: Mapping[str, Repair]
    masters: Collection[str]
    nodes: Collection[str]


@dataclass(frozen=True)
class BrokerRequest:
    """A run that may begin. Everything that Ansible gets is one of these values or is derived from them."""

    number: str
    repair: Repair
    hosts: tuple[str, ...]
    locks: tuple[str, ...]
    is_dry_run: bool = False
    probe_port: int | None = None
    """The site's port, if only the probe of the repair's checks runs. None: the repair runs."""

    def to_data(self) -> dict[str, Any]:
        """The request as it is sent through the socket."""
        return {
            "number": self.number,
            "repair": self.repair.name,
            "hosts": list(self.hosts),
            "locks": list(self.locks),
            "dry_run": self.is_dry_run,
            "probe_port": self.probe_port,
        }


def parse_broker_request(words: Mapping[str, Any], known: BrokerInventory) -> BrokerRequest:
    """Raises Refused with the first field that is wrong."""
    expected = set(BrokerRequest.__dataclass_fields__) - {"is_dry_run"} | {"dry_run"}
    if set(words) != expected:
        raise Refused(
            "request", "repair.refused_request", what=", ".join(sorted(set(words) ^ expected))[:MAX_QUOTED]
        )
    repair = known.repairs.get(str(words["repair"]))
    if repair is None or not OF_SERVERS & repair.installations:
        raise Refused("repair", "repair.refused_name", name=str(words["repair"])[:MAX_QUOTED])
    port = parse_port(words["probe_port"])
    is_dry_run = parse_dry_run(words["dry_run"])
    check_dry_run(repair, is_dry_run)
    hosts = parse_hosts(words["hosts"], repair, known)
    locks = parse_locks(words["locks"], 0 if port is not None else len(hosts))
    return BrokerRequest(parse_run_number(words["number"]), repair, hosts, locks, is_dry_run, port)


def parse_run_number(said: Any) -> str:
    """The number of a run, which is also the name of its folder."""
    if not isinstance(said, str) or not NUMBER.fullmatch(said):
        raise Refused("number", "repair.refused_run", number=str(said)[:MAX_QUOTED])
    return said


def parse_dry_run(said: Any) -> bool:
    """Accepts only booleans: a value that is taken for another one would turn a dry run into a repair."""
    if not isinstance(said, bool):
        raise Refused("dry_run", "repair.refused_request", what=f"dry_run {said}"[:MAX_QUOTED])
    return said


def parse_port(said: Any) -> int | None:
    if said is None:
        return None
    if type(said) is not int or not 0 < said < 65536:
        raise Refused("probe_port", "repair.refused_request", what=f"probe_port {said}"[:MAX_QUOTED])
    return said


def parse_hosts(said: Any, repair: Repair, known: BrokerInventory) -> tuple[str, ...]:
    """A repair of the master works on the master only, one of nodes on any host of the inventory."""
    there = {*known.masters} if repair.targets is RepairTargets.MASTER else {*known.masters, *known.nodes}
    names = [str(name) for name in said] if isinstance(said, list) else []
    strange = [name[:MAX_QUOTED] for name in names if name not in there]
    if not names or strange or len(set(names)) != len(names):
        raise Refused("hosts", "repair.refused_hosts", names=strange[:5] or ["-"])
    return tuple(names)


def parse_locks(said: Any, count: int) -> tuple[str, ...]:
    """One lock for each host, or none if nothing is changed."""
    names = [str(name) for name in said] if isinstance(said, list) else []
    if len(names) != count or not all(LOCK.fullmatch(name) for name in names):
        raise Refused("locks", "repair.refused_request", what=f"locks {said}"[:MAX_QUOTED])
    return tuple(names)


def probe_variables(checks: Iterable[RepairCheck], port: int) -> dict[str, str]:
    """The variables of look.yml for each host, derived from the catalogue alone."""
    units: set[str] = set()
    doors: set[str] = set()
    kinds: set[CheckKind] = set()
    for check in (each for each in checks if each.kind in HOST_CHECKS):
        units.update(check.options.get("units", ()))
        doors.update([check.options["door"]] if "door" in check.options else [])
        kinds.add(check.kind)
    return {
        "look_units": json.dumps(sorted(units)),
        "look_doors": json.dumps(sorted(doors)),
        "look_site": str(port if kinds & SITE_CHECKS else 0),
        "look_gpus": "yes" if CheckKind.GPUS_ANSWER in kinds else "no",
        "look_kubernetes": "yes" if kinds & KUBERNETES_CHECKS else "no",
        "look_images": "yes" if CheckKind.IMAGES_STAND in kinds else "no",
    }


def ask_broker(door: Path, words: Mapping[str, Any]) -> None:
    """Returns when the broker has carried out the request, or when the run's process can be found. Raises Unavailable,
    also if it is refused.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(door))
            write_json_line(connection, words)
            answer = read_json_line(connection)
    except OSError as error:
        raise Unavailable("repair.no_runner", error=str(error)[:200]) from error
    if "code" in answer:
        raise Unavailable(str(answer["code"]), **answer.get("data", {}))
    if answer.get("done") is not True:
        raise Unavailable("repair.no_runner", error="it ended before the run began")


def write_json_line(connection: socket.socket, words: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(words).encode() + b"\n")


def read_json_line(connection: socket.socket) -> dict[str, Any]:
    """The object in one line. Empty if the other side sends none. Raises OSError."""
    said = b""
    while not said.endswith(b"\n") and len(said) < LONGEST_LINE:
        more = connection.recv(4096)
        if not more:
            break
        said += more
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
