"""Looks at hosts by a playbook of its own that changes nothing, as the checks of a repair ask for."""

import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
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
            seen[host] = by_our_clock(data["res"], datetime.fromisoformat(event["created"]).timestamp())
        elif data.get("task") == NAME_OF_CLUSTER and seen.get(host):
            seen[host] = {**seen[host], "kubernetes": data["res"]["kubernetes"]}
    return seen


def by_our_clock(state: Mapping[str, Any], told_at: float) -> dict[str, Any]:
    """When each unit and the host began, seconds since 1970, 0 where it does not run.

    A host's clock may be ahead of ours or behind: it tells ages, which are counted back from when we were told.
    """

    def since(age: float | None) -> float:
        return 0.0 if age is None else told_at - age

    units = {name: {**unit, "since": since(unit["age"])} for name, unit in state["units"].items()}
    return {**state, "units": units, "started": since(state["age"])}
