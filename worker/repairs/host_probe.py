"""Probes hosts by a playbook that changes nothing, and returns the state of each."""

import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.repairs.broker_protocol import PROBE_TIMEOUT
from cluster.domain.repairs.definition import HOST_CHECKS
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.repairs.check_facts import HostStates
from worker.repairs.playbook_runs import delete_run_folder_of, start_probe

PROBE_TASK = "Look at what the checks ask for"
CLUSTER_PROBE_TASK = "Look at the node and its cluster"


def probe_hosts(cluster: Cluster, entry: CatalogueEntry, run: RepairRun) -> HostStates | None:
    """By host, None for one that was not reached; None at all where no check asks. Raises Unavailable."""
    settings = cluster.settings
    asks = any(check.kind in HOST_CHECKS for check in entry.repair.checks)
    if not asks or settings.ansible_dir is None or settings.ansible_programs is None:
        return None
    folder = settings.state_dir / "repairs" / str(uuid.uuid4().int % 10**15 + 10**15)
    start_probe(cluster, entry, run, folder)
    seen = read_probe(folder, run.hosts)
    delete_run_folder_of(cluster, folder)
    return seen


def read_probe(folder: Path, hosts: Iterable[str]) -> HostStates:
    deadline = time.monotonic() + 2 * PROBE_TIMEOUT
    while playbooks.read_playbook_end(folder) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    seen: dict[str, Any] = dict.fromkeys(hosts)
    for event in playbooks.read_events(folder):
        data = event.get("event_data") or {}
        if event.get("event") != "runner_on_ok":
            continue
        host = str(data.get("host"))
        if data.get("task") == PROBE_TASK:
            seen[host] = with_local_times(data["res"], datetime.fromisoformat(event["created"]).timestamp())
        elif data.get("task") == CLUSTER_PROBE_TASK and seen.get(host):
            seen[host] = {**seen[host], "kubernetes": data["res"]["kubernetes"]}
    return seen


def with_local_times(state: Mapping[str, Any], told_at: float) -> dict[str, Any]:
    """When each unit and the host began, seconds since 1970, 0 where it does not run.

    A host's clock may be ahead of ours or behind: it tells ages, which are counted back from when we were told.
    """

    def since(age: float | None) -> float:
        return 0.0 if age is None else told_at - age

    units = {name: {**unit, "since": since(unit["age"])} for name, unit in state["units"].items()}
    return {**state, "units": units, "started": since(state["age"])}
