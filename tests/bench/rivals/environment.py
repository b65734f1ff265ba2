"""What the rivals need on this machine: Slurm from the distribution, HyperQueue from the package index."""

from pathlib import Path

from worker.embedded.environment import ensure_environment
from worker.embedded.packages import TO_MEASURE, ensure_packages
from worker.embedded.places import find_places

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = ROOT / "requirements" / "bench.txt"


def ensure_rivals() -> Path:
    """The environment of requirements/bench.txt: HyperQueue, and what draws the plots."""
    places = find_places()
    ensure_packages(TO_MEASURE, places.cache / "log" / "install.log")
    return ensure_environment(places.cache, "bench", REQUIREMENTS, places.cache / "log" / "bench.log")
