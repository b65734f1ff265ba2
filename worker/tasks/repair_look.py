"""Looks at hosts by a playbook of its own that changes nothing, as the checks of a repair ask for."""

import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cluster.domain.repair_requests import LOOK_WITHIN
from cluster.domain.repairs import ON_HOSTS
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import Entry
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.tasks.repair_facts import Seen
from worker.tasks.repair_process import begin_look, forget

NAME = "Look at what the checks ask for"
NAME_OF_CLUSTER = "Look at the node and its cluster"


def look_at_hosts(cluster: Cluster, entry: Entry, run: RepairRun) -> Seen | None:
    """By host, None for one that was not reached; None at all where no check asks. Raises Unavailable."""
    settings = cluster.settings
    asks = any(check.kind in ON_HOSTS for check in entry.repair.checks)
    if not asks or settings.ansible_dir is None or settings.ansible_programs is None:
        return None
    folder = settings.state_dir / "repairs" / str(uuid.uuid4().int % 10**15 + 10**15)
    begin_look(cluster, entry, run, folder)
    seen = wait_for(folder, run.hosts)
    forget(cluster, folder)
    return seen


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
