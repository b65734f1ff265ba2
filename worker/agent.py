"""The agent of a node: a heartbeat every few seconds with what the machine has.

In the embedded set it writes to the database itself; telemetry goes to a file, never into SQL.
"""

import json
import os
import signal
import threading
from dataclasses import asdict
from pathlib import Path

import structlog
from sqlalchemy.exc import DBAPIError

from cluster.domain.states import UnitKind, UnitState
from cluster.services.context import Cluster
from cluster.services.nodes import SeenUnit, record_heartbeat
from cluster.settings import Settings
from worker.adapters import host
from worker.adapters.nvml import Gpus, read_gpus
from worker.wiring import open_cluster

log = structlog.get_logger()

BEAT_SECONDS = 4.5
"""At most one row per node per 5 s, and a beat that comes a little late is still in time."""


def list_units(gpus: Gpus, cpu_slots: int) -> list[SeenUnit]:
    """GPUs by UUID. CPU slots only where no GPU is built in: one whose driver is broken is no CPU slot."""
    if gpus.gpus:
        return [
            SeenUnit(
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
    return [SeenUnit(f"cpu-{number}", UnitKind.CPU_SLOT, number) for number in range(cpu_slots)]


def beat(cluster: Cluster) -> None:
    """One heartbeat: facts and units as they are now."""
    settings = cluster.settings
    gpus = read_gpus()
    facts = host.read_facts(settings.storage_dir) | {
        key: value for key, value in (("driver", gpus.driver), ("fabric", host.read_fabric())) if value
    }
    if gpus.is_hardware_there and gpus.problem:
        facts["driver_problem"] = gpus.problem
    record_heartbeat(
        cluster, host.read_name(), host.read_boot_id(), facts, list_units(gpus, settings.cpu_slots), True
    )
    write_telemetry(settings.state_dir / "telemetry", gpus)


def write_telemetry(folder: Path, gpus: Gpus) -> None:
    """The newest measurements, whole; history is kept by whoever reads it."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{host.read_name()}.json"
    measured = host.read_load() | {"gpus": [asdict(gpu) for gpu in gpus.gpus]}
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(measured))
    temporary.rename(path)


def run(settings: Settings) -> None:
    """Until SIGTERM. A database that does not answer is tried again at the next beat."""
    cluster = open_cluster(settings)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    while not stopping.is_set():
        try:
            beat(cluster)
        except (DBAPIError, OSError) as error:
            log.warning("no heartbeat this time", error=str(error))
        stopping.wait(BEAT_SECONDS)


def main(arguments: list[str]) -> int:
    run(Settings.from_environment())
    return 0
