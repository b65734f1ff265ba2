"""The agent of a node sends a heartbeat every few seconds with the units and facts of its machine.

In the embedded set it writes to the database itself, elsewhere it reports to the portal with its node's token.
Telemetry goes to a file, never into SQL.
"""

import json
import signal
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog
from httpx import HTTPError
from sqlalchemy.exc import DBAPIError

from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_FACT
from cluster.domain.nodes.gpu_minors import MINORS_FACT
from cluster.domain.states import UnitKind, UnitState
from cluster.files.atomic import write_atomically
from cluster.services.context import Cluster
from cluster.services.nodes.heartbeats import ReportedUnit, record_heartbeat
from cluster.settings import AgentSettings, Settings
from worker.adapters import host
from worker.adapters.control_plane_certificates import read_expiry_dates
from worker.adapters.nvml import GpuInventory, read_gpus
from worker.adapters.portal_client import PortalClient
from worker.composition import open_cluster

log = structlog.get_logger()

HEARTBEAT_SECONDS = 4.5
"""At most one row per node per 5 s, and a beat that comes a little late is still in time."""


def units_of_node(gpus: GpuInventory, cpu_slots: int) -> list[ReportedUnit]:
    """GPUs by UUID. CPU slots only where no GPU is built in: one whose driver is broken is no CPU slot."""
    if gpus.gpus:
        return [
            ReportedUnit(
                identity=gpu.uuid,
                kind=UnitKind.GPU,
                position=gpu.position,
                model=gpu.model,
                memory_bytes=gpu.memory_bytes,
                state=UnitState.BROKEN if gpu.is_broken else UnitState.OK,
                simulated=gpus.is_simulated,
                island=gpu.island,
            )
            for gpu in gpus.gpus
        ]
    if gpus.is_hardware_there:
        return []
    return [ReportedUnit(f"cpu-{number}", UnitKind.CPU_SLOT, number) for number in range(cpu_slots)]


def record_own_heartbeat(cluster: Cluster) -> None:
    """One heartbeat into the rows: facts and units as they are now."""
    settings = cluster.settings
    gpus = read_gpus()
    facts, units = read_node_facts(settings.storage_dir, gpus), units_of_node(gpus, settings.cpu_slots)
    record_heartbeat(cluster, host.read_host_name(), host.read_boot_id(), facts, units, True)
    write_telemetry(settings.state_dir / "telemetry", gpus)


def post_heartbeat(settings: AgentSettings, portal: PortalClient) -> None:
    """One heartbeat to the portal. Raises HTTPError."""
    gpus = read_gpus()
    facts, units = read_node_facts(settings.state_dir, gpus), units_of_node(gpus, settings.cpu_slots)
    write_telemetry(settings.state_dir / "telemetry", gpus)
    portal.post_heartbeat(host.read_boot_id(), facts, [asdict(unit) for unit in units])


def read_node_facts(storage: Path, gpus: GpuInventory) -> dict[str, Any]:
    facts = host.read_facts(storage) | {
        key: value for key, value in (("driver", gpus.driver), ("fabric", host.read_fabric())) if value
    }
    if ends := read_expiry_dates():
        facts[CERTIFICATES_FACT] = ends
    if minors := {gpu.uuid: gpu.minor for gpu in gpus.gpus if gpu.minor is not None}:
        facts[MINORS_FACT] = minors
    if gpus.is_hardware_there and gpus.problem:
        facts["driver_problem"] = gpus.problem
    return facts


def write_telemetry(folder: Path, gpus: GpuInventory) -> None:
    """The newest measurements, whole; history is kept by whoever reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = host.read_load() | {"gpus": [asdict(gpu) for gpu in gpus.gpus]}
    path = folder / f"{host.read_host_name()}.json"
    write_atomically(path, json.dumps(measured), 0o644, is_synced=False)


def run_agent(beat_once: Callable[[], None]) -> None:
    """Until SIGTERM. A database or a portal that does not answer is tried again at the next beat."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    while not stopping.is_set():
        try:
            beat_once()
        except (DBAPIError, HTTPError, OSError) as error:
            log.warning("no heartbeat this time", error=str(error))
        stopping.wait(HEARTBEAT_SECONDS)


def main(arguments: list[str]) -> int:
    remote = AgentSettings.from_environment()
    if remote is None:
        cluster = open_cluster(Settings.from_environment())
        run_agent(lambda: record_own_heartbeat(cluster))
    else:
        portal = PortalClient(remote.api_url, remote.authority, remote.token_file)
        run_agent(lambda: post_heartbeat(remote, portal))
    return 0
