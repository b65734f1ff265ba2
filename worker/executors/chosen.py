"""Which executor the installation's settings name."""

from pathlib import Path

from cluster.settings import Settings
from worker.executors.contract import Executor
from worker.executors.launchers import Launcher
from worker.executors.process import ProcessExecutor
from worker.executors.simulated import SimulatedExecutor, World


def open_executor(settings: Settings, runtime: Path, launcher: Launcher | None = None) -> Executor:
    """`runtime` is the installed copy of worker/inside."""
    if settings.executor == "simulated":
        return SimulatedExecutor(World(settings.state_dir / "simulated"))
    return ProcessExecutor(runtime, settings.storage_dir, launcher)
