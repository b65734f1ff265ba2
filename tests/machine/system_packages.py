"""The system packages that tests and measures need beside the product's own, by purpose, in the JSON file beside."""

from pathlib import Path

from worker.bootstrap.system_packages import SystemRequirement, read_requirements

FILE = Path(__file__).with_suffix(".json")


def packages_for(purpose: str) -> tuple[SystemRequirement, ...]:
    """`test`, `container_engine`, or `bench`: a scheduler to compare with, whose services stay off."""
    return read_requirements(FILE, purpose)
