"""A testbed per test module, one host that several share, and which worker plays what."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.hosts.appliance.installer.ansible_runs import CACHE, COSTS, ROOT, Played, play
from tests.hosts.appliance.installer.ansible_runs import note as note
from tests.hosts.appliance.installer.installed_host import SHARED_BY, network_of
from tests.hosts.appliance.installer.installed_host import own_host as own_host
from tests.hosts.appliance.installer.installed_host import self_installed as self_installed
from tests.hosts.machines.host_image import ensure_image
from tests.hosts.machines.network_browser import browser as browser
from tests.hosts.machines.testbed import Testbed, found_again, testbed

UNITS_OF_THE_MASTER = (
    "portal",
    "stream",
    "scheduler",
    "ssh",
    "worker@general",
    "worker@images",
    "worker@backups",
    "agent",
    "repair",
)
"""Behind groundcrew-."""

RunSite = Callable[..., Played]
"""Says what a run of ansible-playbook did."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        COSTS.unlink(missing_ok=True)


class ByHost(LoadScopeScheduling):
    """Files that share a host are played by one worker, one after the other; each other file is whole by itself."""

    def _split_scope(self, nodeid: str) -> str:
        stem = Path(nodeid.partition("::")[0]).stem
        return SHARED_BY[0] if stem in SHARED_BY else stem


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return ByHost(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever shares the host has it in their order, not in that of the alphabet."""
    order = {stem: number for number, stem in enumerate(SHARED_BY)}
    items.sort(key=lambda item: order.get(item.path.stem, 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COSTS.exists():
        terminalreporter.write(COSTS.read_text())


@pytest.fixture(scope="session")
def ansible_programs() -> Path:
    """The folder of the programs that `make ansible` makes."""
    done = subprocess.run(
        ["make", "--silent", "ansible", "QUIET=1"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.split()[-1])


@pytest.fixture(scope="session")
def image() -> str:
    if os.geteuid() != 0:
        pytest.fail("these tests start an engine and hosts: they need root")
    return ensure_image(CACHE)


@pytest.fixture(scope="module")
def bed(image: str, request: pytest.FixtureRequest) -> Iterator[Testbed]:
    """Named after the module, so that several may run side by side.

    GROUNDCREW_INSTALLED_BED: the folder of one that was kept and is installed already.
    """
    kept = os.environ.get("GROUNDCREW_INSTALLED_BED")
    if kept:
        yield found_again(Path(kept), image, CACHE)
        return
    name = "gc-hosts-" + request.module.__name__.rpartition("test_")[2].replace("_", "-")
    with testbed(name, image, CACHE) as bed:
        (bed.folder / "group_vars").symlink_to(ROOT / "inventory" / "group_vars")
        yield bed


@pytest.fixture(scope="module")
def network(request: pytest.FixtureRequest) -> str:
    """That of the hosts which the browser looks at."""
    if request.path.stem in SHARED_BY:
        return network_of(request.getfixturevalue("own_host"))
    return str(request.getfixturevalue("bed").network)


@pytest.fixture(scope="module")
def run_site(bed: Testbed, ansible_programs: Path) -> RunSite:
    """`run_site(inventory, "--tags", "base")` plays site.yml and notes what it cost."""

    def run(inventory: Path, *options: str) -> Played:
        return play(bed, ansible_programs, "site.yml", inventory, *options)

    return run


@pytest.fixture(scope="module")
def uninstall(bed: Testbed, ansible_programs: Path) -> RunSite:
    """`uninstall(inventory, "--limit", name)` plays ansible/playbooks/uninstall.yml."""

    def run(inventory: Path, *options: str) -> Played:
        return play(bed, ansible_programs, "ansible/playbooks/uninstall.yml", inventory, *options)

    return run
