"""Looks at hosts by a playbook of its own that changes nothing, as the checks of a repair ask for."""

import json
import shutil
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cluster.crash_points import outside
from cluster.domain.errors import Unavailable
from cluster.domain.repairs import ON_HOSTS, Check, CheckKind
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import Entry
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.ansible_environment import check_ansible
from worker.adapters.playbooks import Play
from worker.tasks.repair_facts import Seen

LOOK_WITHIN = 120
"""Seconds."""
SITE = {CheckKind.SITE_ANSWERS, CheckKind.CERTIFICATE_LASTS}
NAME = "Look at what the checks ask for"
NAME_OF_CLUSTER = "Look at the node and its cluster"
CLUSTER = {
    CheckKind.CONTROL_PLANE_ANSWERS,
    CheckKind.CONTROL_CERTIFICATES_LAST,
    CheckKind.WORKLOADS_READY,
    CheckKind.NODE_READY,
    CheckKind.PODS_NETWORKED,
}


def look_at_hosts(cluster: Cluster, entry: Entry, run: RepairRun) -> Seen | None:
    """By host, None for one that was not reached; None at all where no check asks. Raises Unavailable."""
    settings = cluster.settings
    wanted = [check for check in entry.repair.checks if check.kind in ON_HOSTS]
    if not wanted or settings.ansible_dir is None or settings.ansible_programs is None:
        return None
    number = str(uuid.uuid4().int % 10**15 + 10**15)
    folder = settings.state_dir / "repairs" / number
    play = Play(
        folder=folder,
        playbook=settings.ansible_dir / "playbooks" / "look.yml",
        hosts=run.hosts,
        variables=variables_of(wanted, settings.port),
        python=check_ansible(settings.ansible_programs).parent / "python",
        locks=[folder / "lock"],
        timeout=LOOK_WITHIN,
        door=settings.repair_door,
        config=settings.ansible_dir / "repairs.cfg",
    )
    with outside("playbooks.look"):
        try:
            playbooks.begin(play)
        except OSError as error:
            raise Unavailable("repair.no_runner", error=str(error)[:200]) from error
        seen = wait_for(folder, run.hosts)
        shutil.rmtree(folder, ignore_errors=True)
    return seen


def variables_of(checks: Iterable[Check], port: int) -> dict[str, str]:
    units: set[str] = set()
    doors: set[str] = set()
    kinds: set[CheckKind] = set()
    for check in checks:
        units.update(check.options.get("units", ()))
        doors.update([check.options["door"]] if "door" in check.options else [])
        kinds.add(check.kind)
    return {
        "look_units": json.dumps(sorted(units)),
        "look_doors": json.dumps(sorted(doors)),
        "look_site": str(port if kinds & SITE else 0),
        "look_gpus": "yes" if CheckKind.GPUS_ANSWER in kinds else "no",
        "look_kubernetes": "yes" if kinds & CLUSTER else "no",
    }


def wait_for(folder: Path, hosts: Iterable[str]) -> Seen:
    deadline = time.monotonic() + 2 * LOOK_WITHIN
    while playbooks.read_end(folder) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    seen: dict[str, Any] = dict.fromkeys(hosts)
    for event in playbooks.read_events(folder):
        data = event.get("event_data") or {}
        if event.get("event") != "runner_on_ok":
            continue
        host = str(data.get("host"))
        if data.get("task") == NAME:
            seen[host] = data.get("res")
        elif data.get("task") == NAME_OF_CLUSTER and seen.get(host):
            seen[host] = {**seen[host], "kubernetes": data["res"]["kubernetes"]}
    return seen
