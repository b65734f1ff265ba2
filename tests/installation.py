"""An installation made by `make up`, for tests that want the real services beside any other of this machine."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import xmlrpc.client
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.free_ports import free_port
from worker.bootstrap.paths import InstallationPaths, find_installation_paths
from worker.embedded.processes import end_processes, list_installation_processes
from worker.embedded.supervisor_client import SupervisorClient

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Installation:
    """One set of services with a state directory of its own; `make` types a command for it."""

    places: InstallationPaths
    port: int

    def make(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "GROUNDCREW_STATE_DIR": str(self.places.state_dir),
            "GROUNDCREW_CACHE_DIR": str(self.places.cache_dir),
            "PYTHONPATH": str(ROOT),
            **more,
        }
        return subprocess.run(
            [sys.executable, "-m", "worker", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def up(self) -> str:
        done = self.make("up", f"--port={self.port}", "--no-first-training")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ensure_up(self) -> None:
        """For tests that need it up and do not try how it comes up: `make up` costs seconds where all runs already."""
        if not self.is_up():
            self.up()

    def is_up(self) -> bool:
        try:
            states = {each.state for each in SupervisorClient(self.places).list_services()}
            return states == {"RUNNING"} and self.health() == "ok"
        except (OSError, xmlrpc.client.Error):
            return False

    def health(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=20) as answer:
            status: str = json.load(answer)["status"]
            return status

    def pids(self) -> dict[str, int]:
        return {each.name: each.pid for each in SupervisorClient(self.places).list_services()}


@contextmanager
def an_installation() -> Iterator[Installation]:
    """Its state is its own, in a short path that unix sockets can have; built environments are the machine's."""
    folder = Path(tempfile.mkdtemp(prefix="gc-"))
    folder.chmod(0o755)
    installation = Installation(
        InstallationPaths(ROOT, folder / "state", find_installation_paths().cache_dir), free_port()
    )
    try:
        yield installation
    finally:
        end_processes(list_installation_processes(installation.places), patience=5)
        end_processes(trainings_of(installation.places), patience=1)
        shutil.rmtree(folder)


def trainings_of(places: InstallationPaths) -> list[psutil.Process]:
    """Shims and ranks that a failed test has left behind: they run out of the installation's own folder."""
    processes = psutil.process_iter(["cmdline"])
    mine = f"{places.state_dir}/"
    return [each for each in processes if any(mine in word for word in each.info["cmdline"] or ())]
