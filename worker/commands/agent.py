"""The agent of a node sends a heartbeat every few seconds with the units and facts of its machine, among them the load
of its GPUs.

In the embedded installation it writes to the database itself. Elsewhere it reports to the portal with its node's
token. The row of the node has the newest load alone; a file has it too, by which the shim of a job sums what its GPUs
worked.
"""

import json
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_FACT
from cluster.domain.nodes.gpu_load import LOAD_FACT, describe_gpu_load
from cluster.domain.nodes.gpu_minors import MINORS_FACT
from cluster.domain.nodes.node_networks import PURPOSES_FACT
from cluster.domain.states import UnitKind, UnitState
from cluster.files.atomic import write_atomically
from cluster.gc_freeze import freeze_startup_objects
from cluster.services.context import Cluster
from cluster.services.nodes.heartbeats import ReportedUnit, record_heartbeat
from cluster.settings import AgentSettings, Settings
from worker.adapters import host
from worker.adapters.control_plane_certificates import read_expiry_dates
from worker.adapters.nvml import GpuInventory, read_gpus
from worker.composition import open_cluster

if TYPE_CHECKING:
    from worker.adapters.portal_client import PortalClient

log = structlog.get_logger()

HEARTBEAT_SECONDS = 4.5
"""There is at most one row per node per 5 s, so that a heartbeat that is a little late still counts."""


def units_of_node(gpus: GpuInventory, cpu_slots: int) -> list[ReportedUnit]:
    """GPUs are identified by UUID. Only a machine without GPU hardware has CPU slots; one with a broken driver has no
    units.
    """
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
    """Writes one heartbeat to the database: the current facts and units."""
    settings = cluster.settings
    gpus = read_gpus()
    facts, units = read_node_facts(settings.storage_dir, gpus), units_of_node(gpus, settings.cpu_slots)
    record_heartbeat(cluster, host.read_host_name(), host.read_boot_id(), facts, units, True)
    write_telemetry(settings.state_dir / "telemetry", gpus)


def post_heartbeat(settings: AgentSettings, portal: "PortalClient") -> None:
    """Sends one heartbeat to the portal. Raises HTTPError."""
    gpus = read_gpus()
    facts, units = read_node_facts(settings.state_dir, gpus), units_of_node(gpus, settings.cpu_slots)
    write_telemetry(settings.state_dir / "telemetry", gpus)
    portal.post_heartbeat(host.read_boot_id(), facts, [asdict(unit) for unit in units])


def read_node_facts(storage: Path, gpus: GpuInventory) -> dict[str, Any]:
    facts = host.read_facts(storage) | {
        key: value for key, value in (("driver", gpus.driver), ("fabric", host.read_fabric())) if value
    }
    if purposes := host.read_interface_purposes():
        facts[PURPOSES_FACT] = purposes
    if ends := read_expiry_dates():
        facts[CERTIFICATES_FACT] = ends
    if minors := {gpu.uuid: gpu.minor for gpu in gpus.gpus if gpu.minor is not None}:
        facts[MINORS_FACT] = minors
    if gpus.gpus:
        facts[LOAD_FACT] = {
            gpu.uuid: describe_gpu_load(gpu.utilisation, gpu.memory_used_bytes, gpu.temperature, gpu.power)
            for gpu in gpus.gpus
        }
    if gpus.is_hardware_there and gpus.problem:
        facts["driver_problem"] = gpus.problem
    return facts


def write_telemetry(folder: Path, gpus: GpuInventory) -> None:
    """Replaces the file of the newest measurements. Its readers keep the history."""
    folder.mkdir(parents=True, exist_ok=True)
    measured = host.read_load() | {"gpus": [asdict(gpu) for gpu in gpus.gpus]}
    path = folder / f"{host.read_host_name()}.json"
    write_atomically(path, json.dumps(measured), 0o644, is_synced=False)


def run_agent(
    beat_once: Callable[[], None], silences: tuple[type[Exception], ...] = (DBAPIError, OSError)
) -> None:
    """Sends heartbeats until SIGTERM. If the database or the portal does not answer, it tries again at the next one."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    while not stopping.is_set():
        try:
            beat_once()
        except silences as error:
            log.warning("no heartbeat this time", error=str(error))
        stopping.wait(HEARTBEAT_SECONDS)


def main(arguments: list[str]) -> int:
    if remote := AgentSettings.from_environment():
        run_remote_agent(remote)
    else:
        cluster = open_cluster(Settings.from_environment())
        freeze_startup_objects()
        with suppress(sqlite3.Error):  # A database that does not answer is noticed at its first use.
            cluster.store.hold_open()
        run_agent(lambda: record_own_heartbeat(cluster))
    return 0


def run_remote_agent(settings: AgentSettings) -> None:
    # The module is slow to import, and not used with a database.
    from httpx import HTTPError

    from worker.adapters.portal_client import PortalClient

    portal = PortalClient(settings.api_url, settings.authority, settings.token_file)
    run_agent(lambda: post_heartbeat(settings, portal), (HTTPError, OSError))
