"""Installs the rivals on this machine: Slurm from the distribution, HyperQueue from the package index."""

from pathlib import Path

from tests.machine.system_packages import packages_for
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.system_packages import ensure_packages
from worker.bootstrap.virtual_environments import ensure_virtual_environment

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = ROOT / "requirements" / "bench.txt"


def ensure_rivals() -> Path:
    """The environment of requirements/bench.txt: HyperQueue, and what draws the plots."""
    places = find_installation_paths()
    ensure_packages(packages_for("bench"), places.cache_dir / "log" / "install.log")
    return ensure_virtual_environment(
        places.cache_dir, "bench", REQUIREMENTS, places.cache_dir / "log" / "bench.log"
    )
