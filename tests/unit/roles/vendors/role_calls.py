"""Every call of apt that the roles of the hardware make, with the packages that each makes on a given host."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.unit.roles.rendering import ROOT, render, rendered, variables

ROLES = ("mofed", "nvidia_driver", "fabric_manager", "nvidia_container_toolkit", "container_engine")
MODULES = ("ansible.builtin.apt", "present_packages")
HGX = [
    {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "address": "0000:01:00.0"},
    {"vendor": "0x10de", "device": "0x22a3", "class": "0x068000", "address": "0000:02:00.0"},
    {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700", "address": "0000:03:00.0"},
]
B200 = [{"vendor": "0x10de", "device": "0x2901", "class": "0x030200", "address": "0000:01:00.0"}]


@dataclass(frozen=True)
class Rack:
    """What decides the packages of one host: distribution, kernel, PCI functions, a few words of the inventory."""

    distribution: str
    kernel: str
    pci: tuple[Mapping[str, str], ...] = tuple(HGX)
    chosen: str = "open"
    stack: str = "inbox"
    version: str = ""
    driver: str = ""
    """The build that is installed already, as 580.105.08."""

    def known(self, role: str) -> dict[str, Any]:
        hardware = {"pci": list(self.pci), "kernel": self.kernel, "nvidia_loaded": None, "rdma_modules": []}
        packages: dict[str, Any] = {}
        if self.driver:
            name = variables("nvidia_driver")["groundcrew_sources"]["nvidia_driver"][
                self.distribution.lower()
            ]["driver"]
            packages[name] = [{"version": f"{self.driver}-1"}]
        given: dict[str, Any] = {
            "ansible_facts": {"distribution": self.distribution, "packages": packages},
            "ansible_check_mode": False,
            "nvidia_driver_chosen": self.chosen,
            "nvidia_driver_version": self.version,
            "mofed_stack": self.stack,
            **{f"{each}_seen": {"hardware": hardware} for each in ROLES},
        }
        return variables(role, **given)


def apt_tasks(role: str) -> Iterator[dict[str, Any]]:
    """Tasks that install packages, wherever they stand in the role."""
    for file in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        if file.stem != "uninstall":
            yield from _installing(yaml.safe_load(file.read_text()) or [])


def _installing(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        yield from _installing(task.get("block", []))
        if any(module in task for module in MODULES):
            yield task


def apt_calls(role: str, rack: Rack) -> list[list[str]]:
    """The names of each call, as apt-get would be given them; a least version is apt's matter no more."""
    known = rack.known(role)
    calls = []
    for task in apt_tasks(role):
        options = next(task[module] for module in MODULES if module in task)
        names = rendered(options.get("name", options.get("names")), known)
        calls.append([name.partition(">=")[0] for name in ([names] if isinstance(names, str) else names)])
    return calls


def preferences(role: str, template: str, rack: Rack) -> str:
    return render(role, template, **rack.known(role))
